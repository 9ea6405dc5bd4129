/* SPDX-License-Identifier: MIT */
/* Files that hold a trace, read into one: which format, the filter, the totals. See replay.h. */
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../include/recording.h"
#include "../util/cleanup.h"
#include "../util/io.h"
#include "../util/log.h"
#include "replay_impl.h"

/* A snapshot looks at every row: so much may all of them, or a file could make us look for ever. One alone costs as much
 * as so many rows. */
#define SNAPSHOT_WORK_MAX (1ull << 29)
#define SNAPSHOT_WORK     256u

static const struct replay_format *const formats[] = {
	&replay_recording,
	&replay_mmprofdata,
};

#define NFORMATS (sizeof(formats) / sizeof(*formats))

static const struct model_loss causes[REPLAY_LOSSES - LOSS_CAUSES] = {
	{"damaged_blocks", "parts of the file were cut, damaged or missing", 0},
	{"unknown_names", "a record's names stood in a part of the file that is damaged", 0},
	{"out_of_order", "events too far out of the order of their ends", 0},
	{RECORDING_LOSS_SQUEEZED,
	 "more spans in the last seconds than a flight recorder's memory holds", 0},
};

/* As much of the file's beginning as there is. */
static int replay_read_first(struct replay *replay)
{
	ssize_t n = io_read(replay->fd, replay->first, REPLAY_FIRST);

	if (n < 0)
		return (int)n;
	replay->nfirst = (size_t)n;
	return 0;
}

static int replay_find_format(struct replay *replay)
{
	size_t i;

	for (i = 0; i < NFORMATS; i++)
		if (formats[i]->is(replay->first, replay->nfirst)) {
			replay->format = formats[i];
			replay->info.format = formats[i]->name;
			return 0;
		}
	log_error(
		"%s is %s; spantrace reads its own recordings (.spans) and measureme's event files (.mm_profdata)",
		replay->info.path, replay->nfirst ? "in no format that it knows" : "empty");
	return -EINVAL;
}

int replay_open(const char *path, struct replay **out)
{
	CLEANUP(replay_free) struct replay *replay = calloc(1, sizeof(*replay));
	int err;

	if (!replay)
		return -ENOMEM;
	replay->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = replay->fd < 0 ? -errno : replay_read_first(replay);
	if (err) {
		log_error("cannot read %s: %s", path, strerror(-err));
		return err;
	}
	losses_init(replay->info.losses);
	memcpy(replay->info.losses + LOSS_CAUSES, causes, sizeof(causes));
	replay->info.path = strdup(path);
	if (!replay->info.path)
		return -ENOMEM;
	err = replay_find_format(replay);
	if (!err)
		err = replay->format->open(replay);
	if (err)
		return err;
	*out = TAKE_PTR(replay);
	return 0;
}

static void replay_free_info(struct replay_info *info)
{
	size_t i;

	free((char *)info->path);
	free(info->version);
	free(info->kernel);
	free(info->clock);
	free(info->target);
	free(info->counter);
	for (i = 0; i < info->nrefused; i++) {
		free((char *)info->refused[i].marker);
		free((char *)info->refused[i].why);
	}
	free(info->refused);
}

void replay_free(struct replay **out)
{
	struct replay *replay = *out;

	if (!replay)
		return;
	*out = NULL;
	if (replay->format && replay->state)
		replay->format->free(replay);
	trace_free(&replay->trace);
	replay_free_info(&replay->info);
	cleanup_close(&replay->fd);
	free(replay->paths);
	free(replay);
}

int replay_set_trace(struct replay *replay)
{
	int err = trace_new(NULL, 0, replay->info.metrics, &replay->trace);

	if (!err)
		trace_begin(replay->trace, replay->info.start_ns, replay->info.start_realtime_ns);
	return err;
}

struct trace *replay_trace(struct replay *replay)
{
	return replay->trace;
}

const struct replay_info *replay_info(const struct replay *replay)
{
	return &replay->info;
}

/* --- the filter ----------------------------------------------------------------------------------- */

static bool has(const pid_t *items, size_t n, u32 item)
{
	size_t i;

	for (i = 0; i < n; i++)
		if ((u32)items[i] == item)
			return true;
	return n == 0;
}

bool replay_wants_thread(const struct replay *replay, const struct model_thread *values)
{
	const struct replay_filter *f = replay->filter;

	return !f || (has(f->pids, f->npids, values->pid) && has(f->tids, f->ntids, values->tid));
}

int replay_set_thread(struct replay *replay, const struct model_thread *values,
		      const struct model_thread **out)
{
	*out = NULL;
	if (!replay_wants_thread(replay, values))
		return 0;
	*out = trace_set_thread(replay->trace, values);
	return *out ? 0 : -ENOMEM;
}

/* Whether the filter takes some spans of a thread and not others. */
static bool replay_chooses(const struct replay_filter *f)
{
	return f && (f->nproviders || f->nspans || f->min_ns || f->from_ns || f->to_ns);
}

int replay_set_inside(struct replay *replay, u32 serial, u64 inside_ns)
{
	if (replay_chooses(replay->filter))
		return 0;
	return trace_set_inside(replay->trace, serial, inside_ns);
}

/* GLOB, which may name the provider too, against a frame called NAME. -ENOMEM, or whether it fits. */
static int replay_glob(const char *glob, const char *provider, const char *name)
{
	AUTO_FREE char *label = NULL;

	if (!strchr(glob, ':'))
		return fnmatch(glob, name, 0) == 0;
	if (asprintf(&label, "%s:%s", provider, name) < 0) {
		label = NULL;
		return -ENOMEM;
	}
	return fnmatch(glob, label, 0) == 0;
}

/* What the filter's globs say of PATH. */
static bool replay_asks_for(struct replay *replay, const struct model_path *path)
{
	const struct replay_filter *f = replay->filter;
	bool wanted = !f->nproviders;
	size_t i;
	int fits;

	for (i = 0; i < f->nproviders && !wanted; i++)
		wanted = fnmatch(f->providers[i], path->def->provider, 0) == 0;
	if (!wanted || !f->nspans)
		return wanted;
	for (i = 0; i < f->nspans; i++) {
		fits = replay_glob(f->spans[i], path->def->provider, path->def->name);
		if (!fits && path->name)
			fits = replay_glob(f->spans[i], path->def->provider, path->name);
		if (fits < 0)
			replay->own[LOSS_NO_MEMORY]++;
		if (fits > 0)
			return true;
	}
	return false;
}

enum { PATH_NOT_ASKED, PATH_WANTED, PATH_LEFT_OUT };

static bool replay_wants_path(struct replay *replay, const struct model_path *path)
{
	u8 *verdict;

	if (!replay->paths)
		return true;
	if (!path->def)
		return false;
	verdict = &replay->paths[path->id];
	if (*verdict == PATH_NOT_ASKED)
		*verdict = replay_asks_for(replay, path) ? PATH_WANTED : PATH_LEFT_OUT;
	return *verdict == PATH_WANTED;
}

static bool replay_wants_time(const struct replay *replay, u64 start_ns, u64 end_ns)
{
	return end_ns >= replay->from_ns && start_ns <= replay->to_ns;
}

void replay_take_span(struct replay *replay, struct model_span *span)
{
	u64 wall = span->end_ns - span->start_ns;

	if (span->end_ns < span->start_ns || span->start_ns < replay->info.start_ns) {
		replay->own[LOSS_DAMAGED]++;
		return;
	}
	if (span->busy_ns > wall && !(span->flags & MODEL_ASYNC))
		span->busy_ns = wall;
	if (span->self_ns > span->busy_ns)
		span->self_ns = span->busy_ns;
	if (replay->filter && (wall < replay->filter->min_ns ||
			       !replay_wants_time(replay, span->start_ns, span->end_ns) ||
			       !replay_wants_path(replay, span->path)))
		return;
	trace_take_span(replay->trace, span);
}

void replay_take_event(struct replay *replay, struct model_event *event)
{
	if (event->time_ns < replay->info.start_ns) {
		replay->own[LOSS_DAMAGED]++;
		return;
	}
	if (replay->filter && (!replay_wants_time(replay, event->time_ns, event->time_ns) ||
			       !replay_wants_path(replay, event->path)))
		return;
	trace_take_event(replay->trace, event);
}

static bool replay_knows_memory(struct replay *replay)
{
	const struct replay_filter *f = replay->filter;

	replay->memory_told = !f || (!f->min_ns && !f->from_ns && !f->to_ns);
	return replay->memory_told;
}

int replay_take_memory(struct replay *replay, const struct model_row *told)
{
	if (!replay_knows_memory(replay) || !replay_wants_path(replay, told->path))
		return 0;
	return trace_set_memory(replay->trace, told);
}

void replay_take_counting(struct replay *replay, const struct model_memory *memory)
{
	replay->info.memory = *memory;
	replay_knows_memory(replay);
}

void replay_take_snapshot(struct replay *replay, u64 time_ns)
{
	struct trace_counts counts;

	if (!replay_knows_memory(replay) || !replay->heap ||
	    replay->snapshot_work > SNAPSHOT_WORK_MAX)
		return;
	trace_counts(replay->trace, &counts);
	replay->snapshot_work += counts.rows + SNAPSHOT_WORK;
	if (replay->snapshot_work > SNAPSHOT_WORK_MAX)
		log_warn(
			"%s: snapshots of the live heap from %.3f s on are left out: there are too many",
			replay->info.path, (double)(time_ns - replay->info.start_ns) / 1e9);
	else
		replay->heap(replay->heap_context, time_ns);
}

void replay_on_heap(struct replay *replay, replay_heap_fn fn, void *context)
{
	replay->heap = fn;
	replay->heap_context = context;
}

/* --- all of it ------------------------------------------------------------------------------------ */

static u64 replay_time(const struct replay *replay, u64 since_start, u64 otherwise)
{
	if (!since_start)
		return otherwise;
	if (since_start > UINT64_MAX - replay->info.start_ns)
		return UINT64_MAX;
	return replay->info.start_ns + since_start;
}

int replay_run(struct replay *replay, const struct replay_filter *filter)
{
	int err, i;

	replay->filter = filter;
	if (filter) {
		replay->from_ns = replay_time(replay, filter->from_ns, 0);
		replay->to_ns = replay_time(replay, filter->to_ns, UINT64_MAX);
	}
	if (filter && (filter->nproviders || filter->nspans)) {
		replay->paths = calloc(PATHS_MAX, sizeof(*replay->paths));
		if (!replay->paths)
			return -ENOMEM;
	}
	err = replay->format->run(replay);
	if (!err)
		err = trace_error(replay->trace);
	replay->filter = NULL;
	if (replay->info.end_ns < replay->info.start_ns)
		replay->info.end_ns = replay->info.start_ns;
	replay->own[LOSS_DAMAGED] += trace_damaged(replay->trace);
	replay->own[LOSS_NO_MEMORY] += trace_no_memory(replay->trace);
	replay->own[LOSS_THREADS] += trace_folded_threads(replay->trace);
	replay->own[LOSS_ROWS] += trace_folded_rows(replay->trace);
	for (i = 0; i < REPLAY_LOSSES; i++)
		replay->info.losses[i].count = replay->told[i] + replay->own[i];
	return err;
}

int replay_profile(struct replay *replay, struct profile *out)
{
	const struct replay_info *info = &replay->info;
	struct profile profile = {
		.version = info->version,
		.kernel = info->kernel,
		.clock = info->clock,
		.target = info->target,
		.suspended_ns = info->suspended_ns,
		.memory = info->memory,
		.sample_ppb = info->sample_ppb,
		.losses = info->losses,
		.nlosses = REPLAY_LOSSES,
		.refused = info->refused,
		.nrefused = info->nrefused,
	};
	int err = trace_profile(replay->trace, info->end_ns, &profile);

	if (err)
		return err;
	if (!replay->memory_told)
		profile.metrics &= ~(METRIC_HEAP | METRIC_MMAP);
	*out = profile;
	return 0;
}
