/* SPDX-License-Identifier: MIT */
/* See metrics.h. Every line of one name stands together, after what it means and its type. */
#include "metrics.h"

#include <inttypes.h>

#define SECOND ((u64)1000000000)

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP spantrace_%s %s\n# TYPE spantrace_%s %s\n", name, help, name, type);
}

static void quote(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void seconds(FILE *out, u64 ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / SECOND, ns % SECOND);
}

static void number(FILE *out, const char *name, const char *type, const char *help, u64 value)
{
	head(out, name, type, help);
	fprintf(out, "spantrace_%s %" PRIu64 "\n", name, value);
}

static void time_number(FILE *out, const char *name, const char *type, const char *help, u64 ns)
{
	head(out, name, type, help);
	fprintf(out, "spantrace_%s ", name);
	seconds(out, ns);
	fputc('\n', out);
}

/* The beginning of a line of a span's or event's: up to its labels, which are left open. */
static void named(FILE *out, const char *metric, const struct names_total *total, const char *label)
{
	fprintf(out, "spantrace_%s{provider=", metric);
	quote(out, total->provider);
	fprintf(out, ",%s=", label);
	quote(out, total->name);
}

static void write_histograms(FILE *out, const struct names_list *spans)
{
	head(out, "span_duration_seconds", "histogram", "Wall time of finished spans.");
	for (size_t i = 0; i < spans->n; i++) {
		const struct names_total *total = &spans->items[i];
		u64 count = 0;

		for (u32 bucket = 0; bucket < NAMES_BUCKETS; bucket++) {
			count += total->buckets[bucket];
			named(out, "span_duration_seconds_bucket", total, "span");
			fputs(",le=\"", out);
			if (names_bound(bucket) == UINT64_MAX)
				fputs("+Inf", out);
			else
				seconds(out, names_bound(bucket));
			fprintf(out, "\"} %" PRIu64 "\n", count);
		}
		named(out, "span_duration_seconds_sum", total, "span");
		fputs("} ", out);
		seconds(out, total->wall_ns);
		fputc('\n', out);
		named(out, "span_duration_seconds_count", total, "span");
		fprintf(out, "} %" PRIu64 "\n", count);
	}
}

static void write_spans(FILE *out, const struct names_list *spans, u32 metrics)
{
	write_histograms(out, spans);
	head(out, "span_self_seconds_total", "counter",
	     "Time in spans without what was entered on top of them.");
	for (size_t i = 0; i < spans->n; i++) {
		named(out, "span_self_seconds_total", &spans->items[i], "span");
		fputs("} ", out);
		seconds(out, spans->items[i].self_ns);
		fputc('\n', out);
	}
	if (metrics & METRIC_CPU) {
		head(out, "span_self_cpu_seconds_total", "counter",
		     "CPU time in spans without what was entered on top of them.");
		for (size_t i = 0; i < spans->n; i++) {
			named(out, "span_self_cpu_seconds_total", &spans->items[i], "span");
			fputs("} ", out);
			seconds(out, spans->items[i].self_cpu_ns);
			fputc('\n', out);
		}
	}
	head(out, "spans_abandoned_total", "counter",
	     "Finished spans that had no exit of their own.");
	for (size_t i = 0; i < spans->n; i++) {
		named(out, "spans_abandoned_total", &spans->items[i], "span");
		fprintf(out, "} %" PRIu64 "\n", spans->items[i].abandoned);
	}
	head(out, "spans_open_total", "counter",
	     "Spans that were open when their thread or process ended.");
	for (size_t i = 0; i < spans->n; i++) {
		named(out, "spans_open_total", &spans->items[i], "span");
		fprintf(out, "} %" PRIu64 "\n", spans->items[i].open);
	}
}

static void write_events(FILE *out, const struct names_list *events)
{
	head(out, "events_total", "counter", "Events.");
	for (size_t i = 0; i < events->n; i++) {
		named(out, "events_total", &events->items[i], "event");
		fprintf(out, "} %" PRIu64 "\n", names_count(&events->items[i]));
	}
}

static void write_losses(FILE *out, const struct metrics_trace *trace)
{
	head(out, "lost_total", "counter", "What was seen and became no span, by cause.");
	for (size_t i = 0; i < trace->nlosses; i++) {
		fputs("spantrace_lost_total{cause=", out);
		quote(out, trace->losses[i].name);
		fprintf(out, "} %" PRIu64 "\n", trace->losses[i].count);
	}
}

/* One number of each server. RESULT may be NULL. */
static void push_line(FILE *out, const char *metric, const struct metrics_push *push,
		      const char *result, u64 value)
{
	fprintf(out, "spantrace_%s{server=", metric);
	quote(out, push->name);
	if (result)
		fprintf(out, ",result=\"%s\"", result);
	fprintf(out, "} %" PRIu64 "\n", value);
}

static void write_pushes(FILE *out, const struct metrics_push *pushes, size_t n)
{
	size_t i;

	if (!n)
		return;
	head(out, "pushes_total", "counter", "What was pushed to a server, by what became of it.");
	for (i = 0; i < n; i++) {
		push_line(out, "pushes_total", &pushes[i], "sent", pushes[i].counts.sent);
		push_line(out, "pushes_total", &pushes[i], "refused", pushes[i].counts.refused);
		push_line(out, "pushes_total", &pushes[i], "dropped", pushes[i].counts.dropped);
	}
	head(out, "push_retries_total", "counter", "Requests that failed and were repeated.");
	for (i = 0; i < n; i++)
		push_line(out, "push_retries_total", &pushes[i], NULL, pushes[i].counts.retries);
	head(out, "push_left_out_total", "counter",
	     "Parts of what was sent that the server did not take.");
	for (i = 0; i < n; i++)
		push_line(out, "push_left_out_total", &pushes[i], NULL, pushes[i].counts.left_out);
	head(out, "push_sent_bytes_total", "counter", "What was sent, as it travelled.");
	for (i = 0; i < n; i++)
		push_line(out, "push_sent_bytes_total", &pushes[i], NULL,
			  pushes[i].counts.sent_bytes);
	head(out, "push_queued_bytes", "gauge", "What waits in memory.");
	for (i = 0; i < n; i++)
		push_line(out, "push_queued_bytes", &pushes[i], NULL,
			  pushes[i].counts.queued_bytes);
	head(out, "push_spooled_bytes", "gauge", "What waits in the spool.");
	for (i = 0; i < n; i++)
		push_line(out, "push_spooled_bytes", &pushes[i], NULL,
			  pushes[i].counts.spooled_bytes);
	head(out, "push_failing", "gauge", "1: the server takes nothing at the moment.");
	for (i = 0; i < n; i++)
		push_line(out, "push_failing", &pushes[i], NULL,
			  pushes[i].counts.failing_since_ns != 0);
}

static void write_run(FILE *out, const struct metrics_run *run)
{
	head(out, "build_info", "gauge", "Always 1; which version this is, on which kernel.");
	fputs("spantrace_build_info{version=", out);
	quote(out, run->version);
	fputs(",kernel=", out);
	quote(out, run->kernel);
	fputs("} 1\n", out);
	time_number(out, "start_time_seconds", "gauge", "When it began, since 1970.",
		    run->start_realtime_ns);
	time_number(out, "cpu_seconds_total", "counter", "CPU time of spantrace itself.",
		    run->cpu_ns);
	number(out, "resident_memory_bytes", "gauge", "Memory of spantrace itself.",
	       run->memory_bytes);
	number(out, "open_fds", "gauge", "Open files of spantrace itself.", run->files);
	number(out, "reloads_total", "counter", "Configurations that were taken on SIGHUP.",
	       run->reloads);
	number(out, "reloads_refused_total", "counter", "Configurations that were not.",
	       run->reloads_refused);
	number(out, "last_reload_successful", "gauge",
	       "0: the last one was not taken, the trace went on with the one before.",
	       run->reload_ok);
	number(out, "names_folded_total", "counter",
	       "Names of spans and events that are counted under (other).",
	       run->names->spans.folded + run->names->events.folded);
}

void metrics_write(FILE *out, const struct metrics_run *run, const struct metrics_trace *trace)
{
	write_run(out, run);
	number(out, "threads", "gauge", "Threads that spantrace knows of.", trace->threads);
	number(out, "probes", "gauge", "Probes that stand.", trace->probes);
	number(out, "ring_fill_bytes", "gauge", "What waits in the fullest ring buffer.",
	       trace->ring_fill);
	number(out, "ring_size_bytes", "gauge", "What each CPU's ring buffer holds.",
	       trace->ring_size);
	number(out, "outputs", "gauge", "Outputs that were asked for by -o.", trace->outputs);
	number(out, "outputs_failed", "gauge", "Of these, those that could not be written.",
	       trace->outputs_failed);
	write_pushes(out, trace->pushes, trace->npushes);
	write_losses(out, trace);
	write_spans(out, &run->names->spans, trace->metrics);
	write_events(out, &run->names->events);
}
