/* SPDX-License-Identifier: MIT */
/* The totals of a trace for other programs: `--json` and `-o json`, described in the README. The
 * schema is versioned and keys are only ever added. What was not measured is absent, never 0. A
 * line for each path, so that line tools work on it too. */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>

#include "../user/util/cleanup.h"
#include "jsonw_model.h"

#define SCHEMA 1

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static void write_optional(struct jsonw *w, const char *key, const char *text)
{
	if (text)
		jsonw_string(w, key, text);
}

static void write_cpu(struct jsonw *w, const struct model_row *row, u32 metrics)
{
	const struct model_counters *total = &row->total;

	jsonw_u64(w, "cpu_ns", total->cpu_ns);
	if (metrics & METRIC_CPU_SPLIT) {
		jsonw_u64(w, "cpu_user_ns", minus(total->cpu_ns, total->cpu_system_ns));
		jsonw_u64(w, "cpu_system_ns", total->cpu_system_ns);
	}
	jsonw_u64(w, "self_cpu_ns", row->self_cpu_ns);
	if (metrics & METRIC_CPU_SPLIT) {
		jsonw_u64(w, "self_cpu_user_ns", minus(row->self_cpu_ns, row->self_cpu_system_ns));
		jsonw_u64(w, "self_cpu_system_ns", row->self_cpu_system_ns);
	}
	jsonw_u64(w, "run_delay_ns", total->run_delay_ns);
	if (metrics & METRIC_WALL) {
		u64 waiting = minus(row->busy_ns, total->cpu_ns);

		jsonw_u64(w, "blocked_ns", minus(waiting, total->run_delay_ns));
	}
	jsonw_u64(w, "vol_switches", total->vol_switches);
	jsonw_u64(w, "invol_switches", total->invol_switches);
	jsonw_u64(w, "minor_faults", total->minor_faults);
	jsonw_u64(w, "major_faults", total->major_faults);
}

static void write_durations(struct jsonw *w, const struct model_row *row)
{
	jsonw_u64(w, "min_ns", row->min_ns);
	jsonw_u64(w, "max_ns", row->max_ns);
	jsonw_u64(w, "mean_ns", row->mean_ns);
	if (!row->durations)
		return;
	jsonw_u64(w, "p50_ns", model_quantile(row, 0.5));
	jsonw_u64(w, "p90_ns", model_quantile(row, 0.9));
	jsonw_u64(w, "p99_ns", model_quantile(row, 0.99));
	jsonw_u64(w, "p999_ns", model_quantile(row, 0.999));
}

static int write_row(struct jsonw *w, struct chain *c, const struct model_row *row, u32 metrics,
		     bool leaks)
{
	int err;

	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_thread(w, row->thread);
	err = jsonw_path(w, c, row->path);
	if (err)
		return err;
	jsonw_labels(w, row->labels, row->nlabels);
	jsonw_u64(w, "count", row->count);
	jsonw_u64(w, "abandoned", row->abandoned);
	jsonw_u64(w, "open", row->open);
	if (metrics & METRIC_WALL) {
		jsonw_u64(w, "wall_ns", row->wall_ns);
		jsonw_u64(w, "busy_ns", row->busy_ns);
		jsonw_u64(w, "idle_ns", minus(row->wall_ns, row->busy_ns));
		jsonw_u64(w, "self_ns", row->self_ns);
	}
	if (metrics & METRIC_CPU)
		write_cpu(w, row, metrics);
	if (metrics & METRIC_ALLOC) {
		jsonw_u64(w, "alloc_objects", row->alloc_objects);
		jsonw_u64(w, "alloc_bytes", row->alloc_bytes);
	}
	if (metrics & METRIC_HEAP) {
		jsonw_u64(w, "inuse_objects", row->inuse_objects);
		jsonw_u64(w, "inuse_bytes", row->inuse_bytes);
	}
	if (leaks) {
		jsonw_u64(w, "leak_objects", row->leak_objects);
		jsonw_u64(w, "leak_bytes", row->leak_bytes);
		jsonw_u64(w, "leak_oldest_ns", row->leak_oldest_ns);
	}
	if (metrics & METRIC_MMAP) {
		jsonw_u64(w, "map_calls", row->map_calls);
		jsonw_u64(w, "map_bytes", row->map_bytes);
		jsonw_u64(w, "unmap_calls", row->unmap_calls);
		jsonw_u64(w, "unmap_bytes", row->unmap_bytes);
	}
	if ((metrics & METRIC_WALL) && row->count)
		write_durations(w, row);
	jsonw_end(w);
	return 0;
}

static void write_event(struct jsonw *w, const struct model_event_row *row)
{
	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_thread_ids(w, row->thread);
	jsonw_string_pair(w, "name", row->def->provider, row->name ? row->name : row->def->name);
	jsonw_u64(w, "count", row->count);
	if (row->has_sum)
		jsonw_s64(w, "sum", row->sum);
	jsonw_end(w);
}

static void write_memory(struct jsonw *w, const struct model_memory *memory)
{
	jsonw_object(w, "memory", JSONW_INLINE);
	jsonw_u64(w, "processes", memory->processes);
	jsonw_u64(w, "functions", memory->functions);
	if (memory->markers)
		jsonw_u64(w, "markers", memory->markers);
	jsonw_u64(w, "late_processes", memory->late);
	jsonw_u64(w, "entry_only_processes", memory->entries);
	if (memory->sample)
		jsonw_u64(w, "sample_bytes", memory->sample);
	if (memory->leaks_ns)
		jsonw_u64(w, "leaks_ns", memory->leaks_ns);
	jsonw_end(w);
}

/* What was in use in all rows at one time. */
struct snapshot {
	u64 time_ns;
	u64 objects;
	u64 bytes;
};

/* More are thinned out: every second one goes, and from then on every second one is taken. */
#define SNAPSHOTS_MAX 4096u

struct snapshots {
	u32 n;
	u32 step; /* one in so many is taken */
	u32 skipped;
	struct snapshot items[SNAPSHOTS_MAX];
};

static void write_snapshots(struct jsonw *w, const struct snapshots *taken)
{
	u32 i;

	jsonw_array(w, "heap_snapshots", JSONW_LINES);
	for (i = 0; taken && i < taken->n; i++) {
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_u64(w, "time_ns", taken->items[i].time_ns);
		jsonw_u64(w, "inuse_objects", taken->items[i].objects);
		jsonw_u64(w, "inuse_bytes", taken->items[i].bytes);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static int json_heap(struct exporter *e, const struct profile *so_far)
{
	struct snapshot now = {.time_ns = minus(so_far->end_ns, so_far->start_ns)};
	struct snapshots *taken = e->state;
	size_t row;
	u32 i;

	if (!taken) {
		taken = calloc(1, sizeof(*taken));
		if (!taken)
			return -ENOMEM;
		taken->step = 1;
		e->state = taken;
	}
	if (++taken->skipped < taken->step)
		return 0;
	taken->skipped = 0;
	for (row = 0; row < so_far->nrows; row++) {
		now.objects += so_far->rows[row].inuse_objects;
		now.bytes += so_far->rows[row].inuse_bytes;
	}
	if (taken->n == SNAPSHOTS_MAX) {
		for (i = 0; i < SNAPSHOTS_MAX / 2; i++)
			taken->items[i] = taken->items[(size_t)2 * i];
		taken->n = SNAPSHOTS_MAX / 2;
		taken->step *= 2;
	}
	taken->items[taken->n++] = now;
	return 0;
}

static void json_free(struct exporter *e)
{
	free(e->state);
	e->state = NULL;
}

static int json_finish(struct exporter *e, const struct profile *profile)
{
	CLEANUP(chain_free) struct chain chain = {0};
	struct jsonw w = {.out = e->out};

	jsonw_object(&w, NULL, JSONW_LINES);
	jsonw_u64(&w, "schema", SCHEMA);
	write_optional(&w, "version", profile->version);
	write_optional(&w, "target", profile->target);
	jsonw_u64(&w, "duration_ns", minus(profile->end_ns, profile->start_ns));
	write_optional(&w, "clock", profile->clock);
	write_optional(&w, "kernel", profile->kernel);
	if (profile->sample_ppb)
		jsonw_f64(&w, "sample_rate", (double)profile->sample_ppb / PPB);

	jsonw_array(&w, "paths", JSONW_LINES);
	for (size_t i = 0; i < profile->nrows; i++) {
		const struct model_row *row = &profile->rows[i];
		int err = 0;

		/* Without a span of its own the row tells of an async span's work alone, and that
		 * stands in the row of the thread where the span was made; but for its
		 * allocations. */
		if (row->count || row->open || row->alloc_objects || row->map_calls ||
		    row->unmap_calls)
			err = write_row(&w, &chain, row, profile->metrics,
					profile->memory.leaks_ns != 0);
		if (err)
			return err;
	}
	jsonw_end(&w);

	if (profile->metrics & (METRIC_ALLOC | METRIC_MMAP))
		write_memory(&w, &profile->memory);
	if (profile->metrics & METRIC_HEAP)
		write_snapshots(&w, e->state);

	jsonw_array(&w, "events", JSONW_LINES);
	for (size_t i = 0; i < profile->nevents; i++)
		write_event(&w, &profile->events[i]);
	jsonw_end(&w);

	jsonw_object(&w, "losses", JSONW_LINES);
	for (size_t i = 0; i < profile->nlosses; i++)
		jsonw_u64(&w, profile->losses[i].name, profile->losses[i].count);
	jsonw_end(&w);

	jsonw_array(&w, "refused", JSONW_LINES);
	for (size_t i = 0; i < profile->nrefused; i++) {
		jsonw_object(&w, NULL, JSONW_INLINE);
		jsonw_string(&w, "marker", profile->refused[i].marker);
		jsonw_string(&w, "why", profile->refused[i].why);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	return 0;
}

static const char *const json_keys[] = {NULL};

const struct exporter_ops exporter_json = {
	.name = "json",
	.extension = ".json",
	.keys = json_keys,
	.heap = json_heap,
	.finish = json_finish,
	.free = json_free,
};
