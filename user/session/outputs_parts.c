/* SPDX-License-Identifier: MIT */
/* Outputs of `record`, whose format can end one file and begin the next.
 *
 *   rotation         finish ▸ close ▸ PATH becomes part 1 ▸ PATH anew ▸ begin …  by size, by time, by SIGUSR1
 *   flight recorder  the format holds the last spans; a trigger, SIGUSR1 or the end: part N ▸ finish ▸ close
 *
 * Each part tells its own time, and its own losses: those since the part before. A flight recorder's files can overlap,
 * so each tells those of the whole trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../exporters/figures.h"
#include "../../include/recording.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "outputs_impl.h"

#define SECOND 1000000000ULL
/* What a part can grow by until it is looked at again, and at its end. */
#define SIZE_MARGIN (2ull * RECORDING_BLOCK_FULL)
#define SIZE_EVERY  64u

static bool rotates(const struct output *output)
{
	return output->parts.options->max_bytes || output->parts.options->max_ns;
}

static int open_flight(struct output *output)
{
	AUTO_FREE u32 *numbers = NULL;
	const char *slash = strrchr(output->path, '/');
	AUTO_FREE char *folder =
		slash ? strndup(output->path, (size_t)(slash - output->path) + 1) : strdup(".");
	size_t n;
	int err;

	output->real = strdup(output->path);
	if (!folder || !output->real)
		return -ENOMEM;
	output->exporter.options.last_ns = output->parts.options->last_ns;
	err = access(folder, W_OK | X_OK) ? -errno : parts_find(output->real, &numbers, &n);
	if (err)
		log_error("cannot write parts of %s: %s", output->path, strerror(-err));
	return err;
}

int output_parts_open(struct output *output, const struct options_parts *options)
{
	bool is_stdout = output->exporter.out == stdout;
	struct stat status;

	output->parts.options = options;
	if (options->last_ns)
		return open_flight(output);
	if (fstat(fileno(output->exporter.out), &status))
		return -errno;
	if (S_ISREG(status.st_mode) && !is_stdout) {
		output->real = realpath(output->path, NULL);
		return output->real ? 0 : -errno;
	}
	if (rotates(output)) {
		log_error("%s is no regular file; --max-size and --max-time need one",
			  output->path);
		return -EINVAL;
	}
	output->parts.options = NULL;
	return 0;
}

static int begin_file(struct output *output)
{
	int err = parts_rotate(output->real, output->parts.options->keep);

	/* PATH is free now: what stands there is not ours, and no link is to lead us elsewhere. */
	return err ? err : output_open_file(output, output->real, O_EXCL | O_NOFOLLOW);
}

int output_parts_begin(struct output *output)
{
	struct stat status;
	int err;

	if (output_in_flight(output) || !rotates(output) || output->parts.files)
		return 0;
	if (fstat(fileno(output->exporter.out), &status))
		return -errno;
	if (!status.st_size)
		return 0;
	err = output_close(output);
	return err ? err : begin_file(output);
}

void output_parts_profile(struct output *output, const struct profile *now, struct profile *out)
{
	struct output_parts *parts = &output->parts;
	size_t i;

	*out = *now;
	/* What a flight recorder's file begins with, the format knows. */
	if (output_in_flight(output) || !parts->files)
		return;
	out->is_part = true;
	out->start_ns = parts->begin_ns;
	out->start_realtime_ns += out->start_ns - now->start_ns;
	if (now->nlosses > LOSS_CAUSES)
		return;
	for (i = 0; i < now->nlosses; i++) {
		parts->losses[i] = now->losses[i];
		parts->losses[i].count -= parts->told[i];
	}
	out->losses = parts->losses;
}

void output_parts_told(struct output *output, const struct profile *now)
{
	struct output_parts *parts = &output->parts;
	size_t i;

	parts->files++;
	parts->begin_ns = now->end_ns;
	for (i = 0; i < now->nlosses && i < LOSS_CAUSES; i++)
		parts->told[i] = now->losses[i].count;
}

/* Writes what belongs at the end of the file, and closes it. */
static int end_file(struct output *output, const struct profile *now, u64 *bytes)
{
	struct output_parts *parts = &output->parts;
	struct profile part;
	struct stat status;
	int err = output_begin(output);

	if (err)
		return err;
	output_parts_profile(output, now, &part);
	errno = 0;
	err = output->exporter.ops->finish(&output->exporter, &part);
	if (!err && fflush(output->exporter.out))
		err = -errno;
	if (!err && fstat(fileno(output->exporter.out), &status))
		err = -errno;
	if (err)
		return err;
	*bytes = (u64)status.st_size;
	parts->bytes += *bytes;
	parts->all_spans += parts->spans;
	parts->all_events += parts->events;
	parts->spans = parts->events = 0;
	output_parts_told(output, now);
	output->begun = false;
	return output_close(output);
}

static int rotate(struct output *output, const struct profile *so_far)
{
	char size[FIGURES_SIZE], count[FIGURES_SIZE];
	u64 bytes, spans = output->parts.spans;
	struct profile now = *so_far;
	bool memory = now.metrics & (METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP);
	struct trace *trace = output->all->trace;
	int err = memory ? trace_profile(trace, now.end_ns, &now)
			 : trace_thread_rows(trace, now.end_ns, &now);

	now.is_part = true;
	if (!err)
		err = end_file(output, &now, &bytes);
	if (!err)
		err = begin_file(output);
	if (!err)
		log_info("%s begins anew; the part before it has %s spans, %s", output->path,
			 figures_count(count, spans), figures_bytes(size, bytes));
	return err;
}

/* Whether what came last, at NOW_NS, belongs into another file. */
static int is_full(struct output *output, u64 now_ns, bool *full)
{
	const struct options_parts *options = output->parts.options;
	u64 begin = output->parts.begin_ns ? output->parts.begin_ns : output->all->run.start_ns;
	off_t size;

	*full = options->untimed && options->max_ns && now_ns > begin &&
		now_ns - begin >= options->max_ns;
	if (*full || !options->max_bytes || ++output->parts.unsized < SIZE_EVERY)
		return 0;
	output->parts.unsized = 0;
	size = ftello(output->exporter.out);
	if (size < 0)
		return -errno;
	*full = (u64)size + SIZE_MARGIN >= options->max_bytes;
	return 0;
}

/* In the middle of a tick: with the losses of the last one. */
static int rotate_if_full(struct output *output, u64 now_ns)
{
	struct profile now = output->all->so_far;
	bool full;
	int err = is_full(output, now_ns, &full);

	if (err || !full)
		return err;
	if (now.end_ns < now_ns)
		now.end_ns = now_ns;
	return rotate(output, &now);
}

/* The file is written a second after the trigger, so that it shows what followed too; not so late that the span itself
 * has left a short window. */
static void fire(struct output_parts *parts, const struct trigger *trigger,
		 const struct model_span *span)
{
	const struct model_path *path = span->path;
	u64 wait = parts->options->last_ns / 2 < SECOND ? parts->options->last_ns / 2 : SECOND;

	if (parts->due_ns) {
		parts->joined++;
		return;
	}
	parts->trigger = trigger;
	parts->due_ns = span->end_ns + wait;
	parts->trigger_wall_ns = span->end_ns - span->start_ns;
	snprintf(parts->trigger_span, sizeof(parts->trigger_span), "%s:%s", path->def->provider,
		 path->name ? path->name : path->def->name);
}

int output_parts_span(struct output *output, const struct model_span *span)
{
	struct output_parts *parts = &output->parts;
	const struct trigger *trigger;

	parts->spans += !(span->flags & MODEL_SEGMENT);
	if (!output_in_flight(output))
		return rotate_if_full(output, span->end_ns);
	trigger = trigger_of(parts->options->triggers, parts->options->ntriggers, span);
	if (trigger)
		fire(parts, trigger, span);
	return 0;
}

int output_parts_event(struct output *output, const struct model_event *event)
{
	output->parts.events++;
	return output_in_flight(output) ? 0 : rotate_if_full(output, event->time_ns);
}

static void say_dumped(const struct output_parts *parts, const char *name, u64 bytes, u64 ns)
{
	char size[FIGURES_SIZE], time[FIGURES_SIZE], took[FIGURES_SIZE], more[80] = "";

	if (!parts->due_ns) {
		log_note("wrote %s: the last %s, %s", name, figures_time(time, ns),
			 figures_bytes(size, bytes));
		return;
	}
	if (parts->joined)
		snprintf(more, sizeof(more), ", and %llu more of the same second",
			 (unsigned long long)parts->joined);
	log_note("wrote %s: the last %s, %s; trigger %s: %s took %s%s", name,
		 figures_time(time, ns), figures_bytes(size, bytes), parts->trigger->text,
		 parts->trigger_span, figures_time(took, parts->trigger_wall_ns), more);
}

/* Writes what the flight recorder holds to the next file of its row. Says what came of it: the next one may have more
 * luck. */
static void dump(struct output *output, const struct profile *so_far)
{
	struct output_parts *parts = &output->parts;
	u64 bytes, ns = so_far->end_ns - so_far->start_ns;
	struct profile now = *so_far;
	AUTO_FREE u32 *numbers = NULL;
	AUTO_FREE char *name = NULL;
	size_t n = 0;
	int err = trace_thread_rows(output->all->trace, now.end_ns, &now);

	if (!err)
		err = parts_find(output->real, &numbers, &n);
	name = parts_name(output->real, n ? numbers[n - 1] + 1 : 1);
	if (!err && !name)
		err = -ENOMEM;
	if (!err)
		err = output_open_file(output, name, O_EXCL | O_NOFOLLOW);
	if (!err)
		err = end_file(output, &now, &bytes);
	if (err)
		log_error("cannot write %s to %s: %s", output->exporter.ops->name,
			  name ? name : output->path, strerror(-err));
	else
		say_dumped(parts, name, bytes,
			   ns < parts->options->last_ns ? ns : parts->options->last_ns);
	output->begun = false;
	output_close(output);
	if (!err)
		err = parts_drop_lowest(output->real, parts->options->keep);
	parts->due_ns = 0;
	parts->joined = 0;
	if (err && !parts->error)
		parts->error = err;
}

int output_parts_tick(struct output *output, const struct profile *so_far)
{
	struct output_parts *parts = &output->parts;
	u64 begin = parts->begin_ns ? parts->begin_ns : so_far->start_ns;
	bool wanted = parts->wanted;

	parts->wanted = false;
	if (output_in_flight(output)) {
		wanted |= parts->due_ns && so_far->end_ns >= parts->due_ns;
		if (wanted)
			dump(output, so_far);
		return 0;
	}
	/* An idle hour does not push out what is kept of the busy ones. */
	if (parts->options->max_ns && so_far->end_ns - begin >= parts->options->max_ns)
		wanted |= parts->spans || parts->events;
	return wanted ? rotate(output, so_far) : 0;
}

/* What all files of a rotation hold together. */
static void say_written(const struct output *output, const struct profile *profile)
{
	const struct output_parts *parts = &output->parts;
	u64 ns = profile->end_ns - profile->start_ns;
	char spans[FIGURES_SIZE], rate[FIGURES_SIZE], size[FIGURES_SIZE], more[64] = "";

	if (parts->files > 1)
		snprintf(more, sizeof(more), " and %u parts before it", parts->files - 1);
	log_note("wrote %s%s: %s spans, %s, %s spans/s", output->path, more,
		 figures_count(spans, parts->all_spans), figures_bytes(size, parts->bytes),
		 figures_count(rate, ns ? (u64)((double)parts->all_spans * 1e9 / (double)ns) : 0));
}

int output_parts_finish(struct output *output, const struct profile *profile)
{
	const struct output_parts *parts = &output->parts;
	u64 bytes;
	int err;

	if (output_in_flight(output)) {
		dump(output, profile);
		return parts->error;
	}
	err = end_file(output, profile, &bytes);
	if (!err)
		say_written(output, profile);
	return err;
}
