/* SPDX-License-Identifier: MIT */
/* Event files as measureme's tools read them (summarize, crox, mmview, …): single spans and events, in the order of their
 * ends on each thread. The format and what stands for what are in include/mmprofdata.h.
 *
 *   span ▸ its place on its thread's line (mmprofdata_line) ▸ its name (mmprofdata_naming) ▸ pages (mmprofdata_pages)
 *
 * The metadata stands at the front for a file that is cut, and once more at the end, where the later one counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/intmap.h"
#include "../user/util/log.h"
#include "formats.h"
#include "jsonw.h"
#include "mmprofdata_line.h"
#include "mmprofdata_naming.h"
#include "mmprofdata_pages.h"

#define FLUSH_NS 1000000000ull

struct thread {
	u32 id; /* in the file */
	struct mmp_line line;
};

struct mm_profdata {
	struct mmp_pages_out *pages;
	struct mmp_naming *naming;
	enum export_counter counter;
	u64 base_ns;
	u64 flushed_ns;
	u32 pid;               /* of the first thread */
	struct intmap threads; /* serial ▸ struct thread */
	struct intmap ids;     /* those that are taken, with any value */
	u32 next_extra;
	struct mmp_lanes lanes;
	u64 beyond; /* later than 48 bits of ns can say */
	u64 early;  /* began before the trace did */
};

/* What a counter is of a span: one row for each enum export_counter. */
static const struct counter {
	u32 metrics;
	size_t total, self; /* where struct model_span holds them */
} counters[EXPORT_COUNTERS] = {
	[EXPORT_COUNTER_WALL_TIME] = {METRIC_WALL, offsetof(struct model_span, busy_ns),
				      offsetof(struct model_span, self_ns)},
	[EXPORT_COUNTER_CPU_TIME] = {METRIC_CPU, offsetof(struct model_span, total.cpu_ns),
				     offsetof(struct model_span, self_cpu_ns)},
	[EXPORT_COUNTER_RUN_DELAY] = {METRIC_CPU, offsetof(struct model_span, total.run_delay_ns),
				      offsetof(struct model_span, self_run_delay_ns)},
	[EXPORT_COUNTER_ALLOC_SPACE] = {METRIC_ALLOC, offsetof(struct model_span, alloc.bytes),
					offsetof(struct model_span, self_alloc.bytes)},
};

static u64 counted(const struct model_span *span, size_t offset)
{
	u64 value;

	memcpy(&value, (const char *)span + offset, sizeof(value));
	return value;
}

/* --- metadata ---------------------------------------------------------------------------------------- */

struct unit {
	const char *name;
	u64 value;
};

static void write_units(struct jsonw *w, enum export_counter counter)
{
	static const struct unit times[] = {
		{"ns", 1}, {"μs", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	static const struct unit sizes[] = {
		{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
	const struct unit *units = counter == EXPORT_COUNTER_ALLOC_SPACE ? sizes : times;
	size_t i;

	jsonw_array(w, "units", JSONW_INLINE);
	for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
		jsonw_array(w, NULL, JSONW_INLINE);
		jsonw_string(w, NULL, units[i].name);
		jsonw_u64(w, NULL, units[i].value);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void write_optional(struct jsonw *w, const char *key, const char *text)
{
	if (text)
		jsonw_string(w, key, text);
}

static void write_json(FILE *out, const struct mm_profdata *m, const struct profile *p,
		       bool finished)
{
	struct jsonw w = {.out = out};
	size_t i;

	jsonw_object(&w, NULL, JSONW_INLINE);
	jsonw_u64(&w, "start_time", p->start_realtime_ns);
	jsonw_u64(&w, "process_id", m->pid);
	jsonw_string(&w, "cmd", p->target ? p->target : "");
	jsonw_object(&w, "counter", JSONW_INLINE);
	jsonw_string(&w, "name", export_counter_name(m->counter));
	write_units(&w, m->counter);
	jsonw_end(&w);
	jsonw_object(&w, "spantrace", JSONW_INLINE);
	jsonw_string(&w, "version", p->version ? p->version : "");
	write_optional(&w, "kernel", p->kernel);
	write_optional(&w, "clock", p->clock);
	if (p->sample_ppb)
		jsonw_u64(&w, "sample_ppb", p->sample_ppb);
	jsonw_u64(&w, "start_ns", m->base_ns);
	if (finished)
		jsonw_u64(&w, "end_ns", p->end_ns);
	jsonw_u64(&w, "finished", finished);
	jsonw_object(&w, "losses", JSONW_INLINE);
	for (i = 0; finished && i < p->nlosses; i++)
		if (p->losses[i].count)
			jsonw_u64(&w, p->losses[i].name, p->losses[i].count);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_end(&w);
}

static int write_metadata(const struct mm_profdata *m, const struct profile *profile, bool finished)
{
	AUTO_FREE char *json = NULL;
	struct text_buf text = {0};
	FILE *out = open_memstream(&json, &text.len);

	if (!out)
		return -ENOMEM;
	write_json(out, m, profile, finished);
	if (fclose(out))
		return -ENOMEM;
	text.data = json;
	mmp_pages_metadata(m->pages, mmp_pages_string(m->pages, &text));
	return 0;
}

/* --- threads ----------------------------------------------------------------------------------------- */

/* The thread's own id, or one of no thread when the kernel has used it before. */
static int choose_id(struct mm_profdata *m, const struct model_thread *model, u32 *id)
{
	*id = model->tid;
	if (*id >= MMP_EXTRA_FIRST || intmap_find(&m->ids, *id))
		*id = m->next_extra++;
	return intmap_set(&m->ids, *id, m);
}

static int name_thread(const struct mm_profdata *m, const struct thread *thread,
		       const struct model_thread *model, bool at_end, u64 inside_ns, u64 time)
{
	struct mmp_event event = {.thread = thread->id, .value2 = MMP_INSTANT};
	int err = mmp_name_thread(m->naming, model, at_end, inside_ns, &event);

	event.value1 = time > MMP_TIME_MAX ? MMP_TIME_MAX : time;
	if (!err)
		mmp_pages_event(m->pages, &event);
	return err;
}

static struct thread *add_thread(struct mm_profdata *m, const struct model_thread *model)
{
	AUTO_FREE struct thread *thread = calloc(1, sizeof(*thread));

	if (!thread || choose_id(m, model, &thread->id) ||
	    intmap_set(&m->threads, model->serial, thread))
		return NULL;
	if (m->threads.used == 1)
		m->pid = model->pid;
	return TAKE_PTR(thread);
}

/* The thread, named in the file before anything else of it stands there. NULL: no memory. */
static struct thread *thread_of(struct mm_profdata *m, const struct model_thread *model, u64 time)
{
	void **found = intmap_find(&m->threads, model->serial);
	struct thread *thread;

	if (found)
		return *found;
	thread = add_thread(m, model);
	return thread && !name_thread(m, thread, model, false, 0, time) ? thread : NULL;
}

/* --- spans and events --------------------------------------------------------------------------------- */

/* A time of the trace as one of the file; false when the format cannot say it, which is counted. */
static bool file_time(struct mm_profdata *m, u64 time, u64 *out)
{
	*out = time > m->base_ns ? time - m->base_ns : 0;
	m->early += time < m->base_ns;
	m->beyond += *out > MMP_TIME_MAX;
	return *out <= MMP_TIME_MAX;
}

/* An async span lives beside all threads: on a lane. */
static int write_async(struct mm_profdata *m, const struct model_span *span,
		       const struct thread *thread, u64 start, u64 end)
{
	struct mmp_event event = {.value1 = start, .value2 = end};
	struct mmp_say say = {
		.span = span,
		.under = span->path->parent && span->path->parent->def,
		.on_thread = true,
		.thread = thread->id,
		.busy = true,
		.self = true,
	};
	u32 lane;
	int err;

	if (m->counter != EXPORT_COUNTER_WALL_TIME)
		return 0; /* its segments have used all that it did */
	err = mmp_lanes_take(&m->lanes, start, end, &lane);
	if (!err)
		err = mmp_name_it(m->naming, &say, &event);
	event.thread = MMP_LANE_FIRST + lane;
	if (!err)
		mmp_pages_event(m->pages, &event);
	return err;
}

static int write_span(struct mm_profdata *m, const struct model_span *span, struct thread *thread,
		      u64 start, u64 end)
{
	const struct counter *counter = &counters[m->counter];
	bool segment = span->flags & MODEL_SEGMENT;
	bool nested = span->path->parent && span->path->parent->def;
	u64 self = counted(span, counter->self);
	struct mmp_place place = {
		.wall_start = start,
		.wall_end = end,
		.total = counted(span, counter->total),
		.self = self,
		.clock = m->counter == EXPORT_COUNTER_WALL_TIME,
		.outermost = !segment && !nested,
	};
	struct mmp_event event = {.thread = thread->id};
	struct mmp_say say = {.span = span};
	int err = mmp_line_add(&thread->line, &place);
	u32 lane = 0;

	if (!err && place.overlaps)
		err = mmp_lanes_take(&m->lanes, place.start, place.end, &lane);
	if (err)
		return err;
	if (place.overlaps)
		event.thread = MMP_LANE_FIRST + lane;
	if (place.end > MMP_TIME_MAX) {
		m->beyond++;
		return 0;
	}
	/* A span without length seems to lie in whatever begins when it ends. */
	say.under = segment ? nested : place.overlaps || place.start == place.end;
	say.on_thread = place.overlaps;
	say.thread = thread->id;
	say.self = place.overlaps || place.end - place.start - place.nested != self;
	event.value1 = place.start;
	event.value2 = place.end;
	err = mmp_name_it(m->naming, &say, &event);
	if (!err)
		mmp_pages_event(m->pages, &event);
	return err;
}

static int mm_profdata_span(struct exporter *e, const struct model_span *span)
{
	struct mm_profdata *m = e->state;
	struct thread *thread;
	u64 start, end;

	if (!m->pages || !file_time(m, span->end_ns, &end))
		return 0;
	file_time(m, span->start_ns, &start);
	thread = thread_of(m, span->thread, start);
	if (!thread)
		return -ENOMEM;
	if (span->flags & MODEL_ASYNC)
		return write_async(m, span, thread, start, end);
	return write_span(m, span, thread, start, end);
}

/* An instant, which has the time, and behind it an integer event, which has the value. */
static int mm_profdata_event(struct exporter *e, const struct model_event *event)
{
	struct mm_profdata *m = e->state;
	bool integer = event->has_value && event->value >= 0 && event->value <= (s64)MMP_VALUE_MAX;
	struct mmp_say say = {.event = event, .value = event->has_value && !integer};
	struct mmp_event out = {.value2 = MMP_INSTANT};
	const struct thread *thread;
	int err;

	if (!m->pages || !file_time(m, event->time_ns, &out.value1))
		return 0;
	thread = thread_of(m, event->thread, out.value1);
	if (!thread)
		return -ENOMEM;
	out.thread = thread->id;
	if (m->counter != EXPORT_COUNTER_WALL_TIME)
		out.value1 =
			thread->line.counter > MMP_TIME_MAX ? MMP_TIME_MAX : thread->line.counter;
	err = mmp_name_it(m->naming, &say, &out);
	if (err)
		return err;
	mmp_pages_event(m->pages, &out);
	if (!integer)
		return 0;
	out.value1 = (u64)event->value;
	out.value2 = MMP_INTEGER;
	mmp_pages_event(m->pages, &out);
	return 0;
}

/* --- all of it ---------------------------------------------------------------------------------------- */

static int mm_profdata_begin(struct exporter *e, const struct profile *run)
{
	struct mm_profdata *m = calloc(1, sizeof(*m));
	u32 needed = counters[e->options.counter].metrics;
	int err;

	if (!m)
		return -ENOMEM;
	e->state = m;
	m->counter = e->options.counter;
	m->base_ns = run->start_ns;
	m->flushed_ns = run->start_ns;
	m->next_extra = MMP_EXTRA_FIRST;
	if ((run->metrics & needed) != needed)
		return 0; /* finish() says so */
	err = mmp_pages_new(e->out, &m->pages);
	if (!err)
		err = write_metadata(m, run, false);
	if (!err)
		err = mmp_naming_new(m->pages, &m->naming);
	return err;
}

static int mm_profdata_tick(struct exporter *e, const struct profile *so_far)
{
	struct mm_profdata *m = e->state;

	if (!m->pages || so_far->end_ns - m->flushed_ns < FLUSH_NS)
		return 0;
	m->flushed_ns = so_far->end_ns;
	mmp_pages_flush(m->pages);
	return fflush(e->out) ? -errno : 0;
}

/* Its times are of what the file's times are of. */
static int end_thread(struct mm_profdata *m, const struct model_thread_row *row)
{
	void **found = intmap_find(&m->threads, row->thread->serial);
	const struct thread *thread = found ? *found : add_thread(m, row->thread);
	struct model_thread model = *row->thread;
	u64 time = row->end_ns > m->base_ns ? row->end_ns - m->base_ns : 0, inside = row->inside_ns;

	if (!thread)
		return -ENOMEM;
	if (m->counter != EXPORT_COUNTER_WALL_TIME) {
		time = inside = thread->line.counter;
		model.start_ns = m->base_ns;
		model.end_ns = m->base_ns + time;
	}
	return name_thread(m, thread, &model, true, inside, time);
}

static int mm_profdata_finish(struct exporter *e, const struct profile *profile)
{
	struct mm_profdata *m = e->state;
	int err = 0;
	size_t i;

	if (!m->pages)
		return -ENODATA;
	for (i = 0; !err && i < profile->nthreads; i++)
		err = end_thread(m, &profile->threads[i]);
	if (!err)
		err = write_metadata(m, profile, true);
	if (err)
		return err;
	mmp_pages_flush(m->pages);
	if (m->beyond)
		log_warn(
			"mm_profdata: %" PRIu64
			" spans and events are left out: the format ends 3.26 days after its start; use recording",
			m->beyond);
	if (m->early)
		log_warn("mm_profdata: %" PRIu64
			 " times before the start of the trace are told as its start",
			 m->early);
	return 0;
}

static void mm_profdata_free(struct exporter *e)
{
	struct mm_profdata *m = e->state;
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->threads.capacity; i++) {
		struct thread *thread = m->threads.slots[i].value;

		if (thread)
			mmp_line_free(&thread->line);
		free(thread);
	}
	intmap_free(&m->threads);
	intmap_free(&m->ids);
	mmp_lanes_free(&m->lanes);
	mmp_naming_free(&m->naming);
	mmp_pages_free(&m->pages);
	free(m);
	e->state = NULL;
}

static const char *const mm_profdata_keys[] = {"counter", NULL};

const struct exporter_ops exporter_mm_profdata = {
	.name = "mm_profdata",
	.extension = ".mm_profdata",
	.keys = mm_profdata_keys,
	.binary = true,
	.spans_only = true,
	.begin = mm_profdata_begin,
	.span = mm_profdata_span,
	.event = mm_profdata_event,
	.tick = mm_profdata_tick,
	.finish = mm_profdata_finish,
	.free = mm_profdata_free,
};
