/* SPDX-License-Identifier: MIT */
/* Perfetto's own format: a track for each thread with slices on it, tracks for async spans beside them, counters for each
 * process. A slice's time on the CPU is that of its thread in spans so far, a counter that its begin and its end tell.
 *
 *   span ▸ viewer ▸ tracks, lanes of tracks where slices overlap ▸ perfetto_hold: begins in order ▸ perfetto_packet: bytes
 */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "perfetto_hold.h"
#include "perfetto_packet.h"
#include "viewer.h"

#define FLUSH_NS 1000000000ull

/* Where the viewer's own[] of a process has its uuids: counters first. */
#define PROCESS_TRACK VIEWER_COUNTERS

/* The viewer's own of a thread. */
struct thread {
	u64 track, cpu_track;
	u64 cpu_ns; /* what all its spans so far have used */
	struct perfetto_hold hold;
	struct perfetto_piece begins, ends;
};

/* Tracks of one name under another track, for slices that may overlap: each takes one that is free. */
struct lanes {
	struct mmp_lanes lanes;
	u64 *tracks; /* by number */
	size_t n;
};

struct perfetto {
	struct viewer viewer;
	struct perfetto_file file;
	struct text_buf name;
	struct perfetto_piece *pieces; /* of names that were told, by number */
	size_t npieces;
	struct pathmap told;
	struct lanes *lanes;
	size_t nlanes;
	struct pairmap lanes_of; /* track above, name ▸ number */
	struct pairmap counters; /* track of the process, name ▸ number of its track */
	u64 *counter_tracks;
	size_t ncounters;
	struct thread **threads;
	size_t nthreads;
	u64 flushed_ns;
};

static struct perfetto *perfetto_of(struct viewer *v)
{
	return (struct perfetto *)v;
}

static const char *name_of(struct perfetto *p, const struct model_path *path)
{
	viewer_name(&p->viewer, path, &p->name);
	return p->name.failed ? "" : p->name.data;
}

/* The name of PATH as one number; not 0. */
static u64 name_key(const struct model_path *path)
{
	return path->name ? pairmap_key(path->name) : pairmap_key(path->def);
}

static u64 new_uuid(struct perfetto *p)
{
	return ++p->file.last_uuid;
}

static int settled(struct perfetto *p)
{
	return p->name.failed ? -ENOMEM : perfetto_file_settle(&p->file);
}

/* --- tracks --------------------------------------------------------------------------------------------- */

static int perfetto_process(struct viewer *v, struct viewer_process *process)
{
	struct perfetto *p = perfetto_of(v);
	u64 *uuid = &process->own[PROCESS_TRACK];

	if (!*uuid)
		*uuid = new_uuid(p);
	perfetto_describe(&p->file, &(struct perfetto_track){
					    .uuid = *uuid,
					    .name = process->name,
					    .pid = process->pid,
					    .is_process = true,
				    });
	return settled(p);
}

/* Its track, described already. */
static u64 process_track(struct viewer *v, struct viewer_process *process)
{
	if (!process->own[PROCESS_TRACK])
		perfetto_process(v, process);
	return process->own[PROCESS_TRACK];
}

static int make_thread(struct perfetto *p, struct viewer_thread *thread)
{
	struct thread *own = calloc(1, sizeof(*own));

	if (!own || GROW(p->threads, p->nthreads)) {
		free(own);
		return -ENOMEM;
	}
	p->threads[p->nthreads++] = own;
	thread->own = own;
	own->track = new_uuid(p);
	return 0;
}

static int perfetto_thread(struct viewer *v, struct viewer_thread *thread)
{
	struct perfetto *p = perfetto_of(v);
	u64 parent = process_track(v, thread->process);
	int err = thread->own ? 0 : make_thread(p, thread);
	struct thread *own = thread->own;

	if (err)
		return err;
	perfetto_describe(&p->file, &(struct perfetto_track){
					    .uuid = own->track,
					    .parent = parent,
					    .name = thread->name,
					    .pid = thread->model->pid,
					    .tid = thread->model->tid,
					    .is_thread = true,
				    });
	if (viewer_has_cpu(v) && !own->cpu_track) {
		own->cpu_track = new_uuid(p);
		perfetto_describe(&p->file, &(struct perfetto_track){
						    .uuid = own->cpu_track,
						    .parent = own->track,
						    .is_counter = true,
						    .unit = PERFETTO_THREAD_TIME,
					    });
	}
	perfetto_piece_head(&own->begins, PERFETTO_BEGIN, own->track, own->cpu_track);
	perfetto_piece_head(&own->ends, PERFETTO_END, own->track, own->cpu_track);
	return settled(p);
}

/* A track under PARENT on which there is room for SPAN; NAME is what such tracks are called, known by KEY. */
static int take_lane(struct perfetto *p, u64 parent, u64 key, const char *name,
		     const struct model_span *span, u64 *track)
{
	struct lanes *lanes;
	u32 number, lane;

	if (!pairmap_get(&p->lanes_of, parent, key, &number)) {
		number = (u32)p->nlanes;
		if (GROW(p->lanes, p->nlanes) || pairmap_put(&p->lanes_of, parent, key, number))
			return -ENOMEM;
		p->lanes[p->nlanes++] = (struct lanes){0};
	}
	lanes = &p->lanes[number];
	if (mmp_lanes_take(&lanes->lanes, span->start_ns, span->end_ns, &lane))
		return -ENOMEM;
	if (lane == lanes->n) {
		if (GROW(lanes->tracks, lanes->n))
			return -ENOMEM;
		lanes->tracks[lanes->n++] = new_uuid(p);
		perfetto_describe(&p->file, &(struct perfetto_track){
						    .uuid = lanes->tracks[lane],
						    .parent = parent,
						    .name = name,
					    });
	}
	*track = lanes->tracks[lane];
	return 0;
}

/* --- slices --------------------------------------------------------------------------------------------- */

static void add_arguments(struct perfetto *p, const struct model_span *span)
{
	struct viewer_fact facts[VIEWER_FACTS];
	unsigned n = viewer_facts(&p->viewer, span, facts), i;

	for (i = 0; i < span->nlabels && p->viewer.options.args; i++)
		perfetto_event_label(&p->file, &span->labels[i]);
	for (i = 0; i < n; i++)
		perfetto_event_number(&p->file, facts[i].name, facts[i].value);
}

struct slice {
	struct perfetto *p;
	const struct thread *thread;
};

/* Whether SPAN, with nothing to say but its times, is in the file now. */
static bool write_plain(struct perfetto *p, const struct thread *thread,
			const struct perfetto_begin *begin)
{
	const struct model_span *span = begin->span;
	u32 number;

	if (begin->flow || viewer_has_facts(span) || !pathmap_get(&p->told, span->path, &number))
		return false;
	perfetto_event_plain(&p->file, &thread->begins, span->start_ns,
			     thread->cpu_track ? &begin->cpu_start : NULL, &p->pieces[number]);
	return true;
}

/* The name of PATH has been told. Without memory it is looked up each time. */
static void keep_piece(struct perfetto *p, const struct model_path *path)
{
	u32 number = (u32)p->npieces;

	if (pathmap_get(&p->told, path, &number) || GROW(p->pieces, p->npieces))
		return;
	perfetto_piece_name(&p->file, &p->pieces[p->npieces++], path);
	pathmap_put(&p->told, path, number);
}

static void write_slice(void *context, const struct perfetto_begin *begin, bool begins)
{
	const struct slice *slice = context;
	const struct model_span *span = begin->span;
	struct perfetto *p = slice->p;

	if (!begins) {
		perfetto_event_plain(&p->file, &slice->thread->ends, span->end_ns,
				     slice->thread->cpu_track ? &begin->cpu_end : NULL, NULL);
		return;
	}
	if (write_plain(p, slice->thread, begin))
		return;
	perfetto_event_begin(&p->file, PERFETTO_BEGIN, slice->thread->track, span->start_ns);
	if (slice->thread->cpu_track)
		perfetto_event_extra(&p->file, slice->thread->cpu_track, begin->cpu_start);
	perfetto_event_name(&p->file, span->path, name_of(p, span->path));
	if (begin->flow)
		perfetto_event_flow(&p->file, begin->flow);
	add_arguments(p, span);
	perfetto_event_end(&p->file);
	keep_piece(p, span->path);
}

static struct perfetto_begin begin_of(struct thread *thread, const struct model_span *span,
				      const struct flow *flow)
{
	struct perfetto_begin begin = {
		.span = span,
		.flow = flow ? flow->number : 0,
		.depth = span->path->depth,
	};

	thread->cpu_ns += span->self_cpu_ns;
	if (thread->cpu_ns < span->total.cpu_ns) /* what it is the sum of is not all there */
		thread->cpu_ns = span->total.cpu_ns;
	begin.cpu_end = thread->cpu_ns;
	begin.cpu_start = thread->cpu_ns - span->total.cpu_ns;
	return begin;
}

static int perfetto_slice(struct viewer *v, struct viewer_thread *thread,
			  const struct model_span *span, const struct flow *flow)
{
	struct perfetto *p = perfetto_of(v);
	struct thread *own = thread->own;
	struct perfetto_begin begin = begin_of(own, span, flow);
	struct slice slice = {.p = p, .thread = own};
	bool outermost = !flow && span->path->depth <= 1;
	int err = perfetto_hold(&own->hold, &begin, outermost, write_slice, &slice);

	return err ? err : settled(p);
}

static void write_alone(struct perfetto *p, const struct model_span *span, u64 track)
{
	perfetto_event_begin(&p->file, PERFETTO_BEGIN, track, span->start_ns);
	perfetto_event_name(&p->file, span->path, name_of(p, span->path));
	add_arguments(p, span);
	perfetto_event_end(&p->file);
	perfetto_event_begin(&p->file, PERFETTO_END, track, span->end_ns);
	perfetto_event_end(&p->file);
}

static int perfetto_aside(struct viewer *v, struct viewer_thread *thread,
			  const struct model_span *span)
{
	struct perfetto *p = perfetto_of(v);
	const struct thread *own = thread->own;
	u64 track;
	int err = take_lane(p, own->track, 0, "overlapping", span, &track);

	if (err)
		return err;
	write_alone(p, span, track);
	return settled(p);
}

static int perfetto_async(struct viewer *v, struct viewer_thread *thread,
			  const struct model_span *span)
{
	struct perfetto *p = perfetto_of(v);
	u64 parent = process_track(v, thread->process), track;
	int err = take_lane(p, parent, name_key(span->path), name_of(p, span->path), span, &track);

	if (err)
		return err;
	write_alone(p, span, track);
	return settled(p);
}

/* --- events and counters -------------------------------------------------------------------------------- */

static void write_counter(struct perfetto *p, u64 track, u64 time, s64 value)
{
	perfetto_event_begin(&p->file, PERFETTO_COUNTER, track, time);
	perfetto_event_value(&p->file, value);
	perfetto_event_end(&p->file);
}

static int count_event(struct perfetto *p, struct viewer_process *process,
		       const struct model_event *event)
{
	u64 parent = process_track(&p->viewer, process);
	u32 number;

	if (!pairmap_get(&p->counters, parent, name_key(event->path), &number)) {
		number = (u32)p->ncounters;
		if (GROW(p->counter_tracks, p->ncounters) ||
		    pairmap_put(&p->counters, parent, name_key(event->path), number))
			return -ENOMEM;
		p->counter_tracks[p->ncounters++] = new_uuid(p);
		perfetto_describe(&p->file, &(struct perfetto_track){
						    .uuid = p->counter_tracks[number],
						    .parent = parent,
						    .name = name_of(p, event->path),
						    .is_counter = true,
					    });
	}
	write_counter(p, p->counter_tracks[number], event->time_ns, event->value);
	return 0;
}

static int perfetto_event(struct viewer *v, struct viewer_thread *thread,
			  const struct model_event *event)
{
	static const char value_key[] = "event:value";
	const struct model_label value = {.key = value_key, .number = event->value};
	struct perfetto *p = perfetto_of(v);
	const struct thread *own = thread->own;
	int err;

	perfetto_event_begin(&p->file, PERFETTO_INSTANT, own->track, event->time_ns);
	perfetto_event_name(&p->file, event->path, name_of(p, event->path));
	for (u32 i = 0; i < event->nlabels && v->options.args; i++)
		perfetto_event_label(&p->file, &event->labels[i]);
	if (event->has_value && v->options.args)
		perfetto_event_label(&p->file, &value);
	perfetto_event_end(&p->file);
	err = event->has_value ? count_event(p, thread->process, event) : 0;
	return err ? err : settled(p);
}

static int perfetto_counter(struct viewer *v, struct viewer_process *process,
			    enum viewer_counter which, u64 time_ns)
{
	struct perfetto *p = perfetto_of(v);
	u64 parent = process_track(v, process);

	if (!process->own[which]) {
		process->own[which] = new_uuid(p);
		perfetto_describe(&p->file, &(struct perfetto_track){
						    .uuid = process->own[which],
						    .parent = parent,
						    .name = viewer_counter_names[which],
						    .is_counter = true,
						    .unit = which == VIEWER_CPU ? PERFETTO_NS
										: PERFETTO_BYTES,
					    });
	}
	write_counter(p, process->own[which], time_ns, (s64)process->values[which]);
	return settled(p);
}

static const struct viewer_ops perfetto_viewer = {
	.process = perfetto_process,
	.thread = perfetto_thread,
	.slice = perfetto_slice,
	.aside = perfetto_aside,
	.async = perfetto_async,
	.event = perfetto_event,
	.counter = perfetto_counter,
};

/* --- all of it ------------------------------------------------------------------------------------------ */

static void perfetto_free(struct exporter *e)
{
	struct perfetto *p = e->state;
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->nthreads; i++) {
		perfetto_hold_free(&p->threads[i]->hold);
		free(p->threads[i]);
	}
	for (i = 0; i < p->nlanes; i++) {
		mmp_lanes_free(&p->lanes[i].lanes);
		free(p->lanes[i].tracks);
	}
	free(p->threads);
	free(p->pieces);
	pathmap_free(&p->told);
	free(p->lanes);
	free(p->counter_tracks);
	pairmap_free(&p->lanes_of);
	pairmap_free(&p->counters);
	text_buf_free(&p->name);
	perfetto_file_free(&p->file);
	viewer_free(&p->viewer);
	free(p);
	e->state = NULL;
}

/* What is said of the trace itself stands on a track of its own, whose first event this begins. */
static void begin_about(struct perfetto *p, const char *name, u64 time)
{
	u64 uuid = new_uuid(p);

	perfetto_describe(&p->file, &(struct perfetto_track){.uuid = uuid, .name = "spantrace"});
	perfetto_event_begin(&p->file, PERFETTO_INSTANT, uuid, time);
	perfetto_event_text(&p->file, name);
}

static void about_trace(struct perfetto *p, const struct profile *run)
{
	char rate[FIGURES_SIZE];
	struct viewer_text texts[VIEWER_TEXTS];

	viewer_about(run, texts, rate);
	begin_about(p, "spantrace", run->start_ns);
	for (size_t i = 0; i < VIEWER_TEXTS; i++)
		if (texts[i].value)
			perfetto_event_string(&p->file, texts[i].name, texts[i].value);
	perfetto_event_number(&p->file, "start_realtime_ns", run->start_realtime_ns);
	perfetto_event_end(&p->file);
}

static void about_losses(struct perfetto *p, const struct profile *profile)
{
	bool begun = false;

	for (size_t i = 0; i < profile->nlosses; i++) {
		if (!profile->losses[i].count)
			continue;
		if (!begun)
			begin_about(p, "spantrace losses", profile->end_ns);
		begun = true;
		perfetto_event_number(&p->file, profile->losses[i].name, profile->losses[i].count);
	}
	if (begun)
		perfetto_event_end(&p->file);
}

static int perfetto_begin(struct exporter *e, const struct profile *run)
{
	struct perfetto *p;

	perfetto_free(e);
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	e->state = p;
	p->flushed_ns = run->start_ns;
	viewer_init(&p->viewer, &perfetto_viewer, e, run);
	perfetto_file_begin(&p->file, e->out, run);
	about_trace(p, run);
	return settled(p);
}

static int perfetto_span(struct exporter *e, const struct model_span *span)
{
	struct perfetto *p = e->state;

	return viewer_span(&p->viewer, span);
}

static int perfetto_single(struct exporter *e, const struct model_event *event)
{
	struct perfetto *p = e->state;

	return viewer_event(&p->viewer, event);
}

static int perfetto_tick(struct exporter *e, const struct profile *so_far)
{
	struct perfetto *p = e->state;

	if (so_far->end_ns - p->flushed_ns < FLUSH_NS)
		return 0;
	p->flushed_ns = so_far->end_ns;
	return perfetto_file_flush(&p->file);
}

static int perfetto_heap(struct exporter *e, const struct profile *snapshot)
{
	struct perfetto *p = e->state;

	return viewer_heap(&p->viewer, snapshot);
}

static int perfetto_finish(struct exporter *e, const struct profile *profile)
{
	struct perfetto *p = e->state;
	int err;

	for (size_t i = 0; i < p->nthreads; i++) {
		struct thread *own = p->threads[i];
		struct slice slice = {.p = p, .thread = own};

		perfetto_hold_flush(&own->hold, write_slice, &slice);
	}
	err = viewer_finish(&p->viewer, profile);
	if (err)
		return err;
	about_losses(p, profile);
	return perfetto_file_flush(&p->file);
}

static const char *const perfetto_keys[] = {"args", "module_path", NULL};

const struct exporter_ops exporter_perfetto = {
	.name = "perfetto",
	.spans_only = true,
	.extension = ".pftrace",
	.keys = perfetto_keys,
	.binary = true,
	.parts = true,
	.begin = perfetto_begin,
	.span = perfetto_span,
	.event = perfetto_single,
	.tick = perfetto_tick,
	.heap = perfetto_heap,
	.finish = perfetto_finish,
	.free = perfetto_free,
};
