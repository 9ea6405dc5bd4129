/* SPDX-License-Identifier: MIT */
/* See viewer.h. */
#include "viewer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"

/* How often a process's CPU time is told. */
#define COUNT_NS 10000000ull

const char *const viewer_counter_names[VIEWER_COUNTERS] = {
	[VIEWER_CPU] = "CPU of spans",
	[VIEWER_ALLOC] = "allocated in spans",
	[VIEWER_HEAP] = "heap of spans",
};

void viewer_init(struct viewer *v, const struct viewer_ops *ops, const struct exporter *e,
		 const struct profile *run)
{
	*v = (struct viewer){.ops = ops, .options = e->options, .metrics = run->metrics};
}

void viewer_free(struct viewer *v)
{
	size_t i;

	for (i = 0; i < v->threads.capacity; i++) {
		struct viewer_thread *thread = v->threads.slots[i].value;

		if (!thread)
			continue;
		mmp_line_free(&thread->line);
		text_buf_free(&thread->head);
		free(thread);
	}
	for (i = 0; i < v->processes.capacity; i++)
		free(v->processes.slots[i].value);
	intmap_free(&v->threads);
	intmap_free(&v->processes);
	flows_free(&v->flows);
}

/* --- processes and threads ------------------------------------------------------------------------------ */

static int process_of(struct viewer *v, u32 pid, struct viewer_process **out)
{
	void **found = intmap_find(&v->processes, pid);
	AUTO_FREE struct viewer_process *process = NULL;

	if (found) {
		*out = *found;
		return 0;
	}
	process = calloc(1, sizeof(*process));
	if (!process || intmap_set(&v->processes, pid, process))
		return -ENOMEM;
	process->pid = pid;
	*out = TAKE_PTR(process);
	return 0;
}

/* The name that the thread has by now, and what follows from it for its process. IS_NEW: it is to be told in any case. */
static int name_thread(struct viewer *v, struct viewer_thread *thread, bool is_new)
{
	struct viewer_process *process = thread->process;
	const struct model_thread *model = thread->model;
	bool is_main = model->pid == model->tid, renamed;
	char name[MODEL_COMM_LEN + 1] = {0};
	int err = 0;

	memcpy(name, model->comm, MODEL_COMM_LEN);
	renamed = *name && strcmp(name, thread->name) != 0;
	if (!renamed && !is_new)
		return 0;
	memcpy(thread->name, name, sizeof(name));
	if (renamed && (is_main || !*process->name)) {
		memcpy(process->name, name, sizeof(name));
		err = v->ops->process(v, process);
	}
	return err ? err : v->ops->thread(v, thread);
}

static int add_thread(struct viewer *v, const struct model_thread *model,
		      struct viewer_thread **out)
{
	AUTO_FREE struct viewer_thread *made = calloc(1, sizeof(*made));
	struct viewer_thread *thread;
	int err;

	if (!made)
		return -ENOMEM;
	made->model = model;
	err = process_of(v, model->pid, &made->process);
	if (err || intmap_set(&v->threads, model->serial, made))
		return -ENOMEM;
	thread = TAKE_PTR(made);
	*out = thread;
	return name_thread(v, thread, true);
}

static int thread_of(struct viewer *v, const struct model_thread *model, struct viewer_thread **out)
{
	void **found;
	int err = 0;

	if (v->last && v->last->model == model) {
		*out = v->last;
		return 0;
	}
	found = intmap_find(&v->threads, model->serial);
	if (found)
		*out = *found;
	else
		err = add_thread(v, model, out);
	if (!err)
		v->last = *out;
	return err;
}

/* --- spans and events ----------------------------------------------------------------------------------- */

static int count_cpu(struct viewer *v, struct viewer_process *process,
		     const struct model_span *span)
{
	process->values[VIEWER_CPU] += span->self_cpu_ns;
	if (!viewer_has_cpu(v) || span->end_ns < process->counted_ns + COUNT_NS)
		return 0;
	process->counted_ns = span->end_ns;
	return v->ops->counter(v, process, VIEWER_CPU, span->end_ns);
}

/* A thread span, or a stretch of an async one. */
static int span_on_thread(struct viewer *v, struct viewer_thread *thread,
			  const struct model_span *span)
{
	bool segment = span->flags & MODEL_SEGMENT;
	struct mmp_place place = {
		.wall_start = span->start_ns,
		.wall_end = span->end_ns,
		.clock = true,
		.outermost = !segment && span->path->depth <= 1,
	};
	struct flow *flow = NULL;
	int err = mmp_line_add(&thread->line, &place);

	if (err)
		return err;
	if (segment && !place.overlaps) {
		flow = flows_take(&v->flows, span);
		if (!flow)
			return -ENOMEM;
	}
	err = place.overlaps ? v->ops->aside(v, thread, span)
			     : v->ops->slice(v, thread, span, flow);
	if (flow) {
		flow->tid = thread->model->tid;
		flow->start_ns = span->start_ns;
	}
	return err ? err : count_cpu(v, thread->process, span);
}

int viewer_span(struct viewer *v, const struct model_span *span)
{
	struct viewer_thread *thread;
	int err = thread_of(v, span->thread, &thread);

	if (err)
		return err;
	if (!(span->flags & MODEL_ASYNC))
		return span_on_thread(v, thread, span);
	err = v->ops->async(v, thread, span);
	flows_drop(&v->flows, span);
	return err;
}

int viewer_event(struct viewer *v, const struct model_event *event)
{
	struct viewer_thread *thread;
	int err = thread_of(v, event->thread, &thread);

	return err ? err : v->ops->event(v, thread, event);
}

/* --- the end -------------------------------------------------------------------------------------------- */

static int name_threads(struct viewer *v, const struct profile *profile)
{
	size_t i;
	int err = 0;

	for (i = 0; i < profile->nthreads && !err; i++) {
		struct viewer_thread *thread;

		err = thread_of(v, profile->threads[i].thread, &thread);
		if (err)
			break;
		thread->model = profile->threads[i].thread;
		err = name_thread(v, thread, false);
	}
	return err;
}

/* Memory is in the totals alone, by process. */
static int count_memory(struct viewer *v, const struct profile *profile, enum viewer_counter which)
{
	struct viewer_process *process = NULL;
	size_t i;
	int err = 0;

	for (i = 0; i < v->processes.capacity; i++)
		if (v->processes.slots[i].value)
			((struct viewer_process *)v->processes.slots[i].value)->values[which] = 0;

	for (i = 0; i < profile->nrows && !err; i++) {
		const struct model_row *row = &profile->rows[i];

		if (!row->path->def)
			continue;
		if (!process || process->pid != row->thread->pid)
			err = process_of(v, row->thread->pid, &process);
		if (!err)
			process->values[which] += which == VIEWER_HEAP ? row->work.inuse_bytes
								       : row->work.alloc_bytes;
	}
	return err;
}

/* What it is now; of memory also, at the end, that there was none at the start. */
static int tell_counter(struct viewer *v, const struct profile *profile, enum viewer_counter which,
			bool start)
{
	size_t i;
	int err = 0;

	for (i = 0; i < v->processes.capacity && !err; i++) {
		struct viewer_process *process = v->processes.slots[i].value;
		u64 value;

		if (!process)
			continue;
		value = process->values[which];
		if (start) {
			process->values[which] = 0;
			err = v->ops->counter(v, process, which, profile->start_ns);
			process->values[which] = value;
		}
		if (!err)
			err = v->ops->counter(v, process, which, profile->end_ns);
	}
	return err;
}

int viewer_heap(struct viewer *v, const struct profile *snapshot)
{
	int err = count_memory(v, snapshot, VIEWER_HEAP);

	return err ? err : tell_counter(v, snapshot, VIEWER_HEAP, false);
}

int viewer_finish(struct viewer *v, const struct profile *profile)
{
	static const u32 needed[VIEWER_COUNTERS] = {
		[VIEWER_CPU] = METRIC_CPU,
		[VIEWER_ALLOC] = METRIC_ALLOC,
		[VIEWER_HEAP] = METRIC_HEAP,
	};
	int err = name_threads(v, profile);
	unsigned i;

	for (i = 0; i < VIEWER_COUNTERS && !err; i++) {
		if ((v->metrics & needed[i]) != needed[i])
			continue;
		if (i != VIEWER_CPU)
			err = count_memory(v, profile, i);
		if (!err)
			err = tell_counter(v, profile, i, i != VIEWER_CPU);
	}
	return err;
}

/* --- what a slice says ---------------------------------------------------------------------------------- */

unsigned viewer_facts(const struct viewer *v, const struct model_span *span,
		      struct viewer_fact facts[VIEWER_FACTS])
{
	bool async = span->flags & MODEL_ASYNC;
	const struct model_counters *total = &span->total;
	const struct viewer_fact all[] = {
		{"span:busy_ns", async ? span->busy_ns : 0},
		{"span:cpu_ns", async ? total->cpu_ns : 0}, /* slices have a place for it */
		{"span:run_delay_ns", total->run_delay_ns},
		{"span:vol_switches", total->vol_switches},
		{"span:invol_switches", total->invol_switches},
		{"span:minor_faults", total->minor_faults},
		{"span:major_faults", total->major_faults},
		{"span:alloc_objects", span->alloc.objects},
		{"span:alloc_bytes", span->alloc.bytes},
		{"span:self_alloc_bytes", span->self_alloc.bytes},
		{"span:abandoned", !!(span->flags & MODEL_ABANDONED)},
		{"span:open", !!(span->flags & MODEL_OPEN)},
	};
	unsigned i, n = 0;

	if (!v->options.args)
		return 0;
	if (async || span->flags & MODEL_SEGMENT)
		facts[n++] = (struct viewer_fact){"span:id", span->id};
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].value)
			facts[n++] = all[i];
	return n;
}

void viewer_about(const struct profile *run, struct viewer_text texts[VIEWER_TEXTS],
		  char rate[FIGURES_SIZE])
{
	const struct viewer_text all[VIEWER_TEXTS] = {
		{"version", run->version},
		{"kernel", run->kernel},
		{"clock", run->clock},
		{"target", run->target},
		{"sampled root spans",
		 run->sample_ppb ? figures_sample(rate, run->sample_ppb) : NULL},
	};

	memcpy(texts, all, sizeof(all));
}

void viewer_name(const struct viewer *v, const struct model_path *path, struct text_buf *b)
{
	text_cut(b, 0);
	if (v->options.module_path) {
		text_add_str(b, path->def->provider);
		text_add(b, ":", 1);
	}
	text_add_str(b, path->name ? path->name : path->def->name);
}
