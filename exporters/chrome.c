/* SPDX-License-Identifier: MIT */
/* The JSON of Chrome's trace viewer, which Perfetto, speedscope and others read too.
 *
 *   X       thread spans and the stretches of async spans, which nest on their threads; tdur is what they were on the CPU
 *   b, e    async spans, each under an id of its own; also what overlaps others on its thread
 *   s, f    arrows from one stretch of an async span to the next
 *   i, C    events, and the values of those that have one; CPU and memory of each process
 *   M       names of processes and threads
 *
 * Times are microseconds of CLOCK_MONOTONIC with three decimals, so that no nanosecond is lost to a reader's doubles as it
 * would be since 1970. The array is written as the trace goes, in whole records, and readers want no end of it: what a
 * kill leaves can be loaded.
 */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "decimal.h"
#include "jsontext.h"
#include "pairmap.h"
#include "viewer.h"

#define FULL     (256u << 10)
#define FLUSH_NS 1000000000ull
/* Greater ones are not the same in every reader, whose numbers are doubles: they are written as text. */
#define EXACT_MAX (1ull << 53)

struct chrome {
	struct viewer viewer;
	FILE *out;
	struct text_buf buf;
	struct text_buf *names; /* "name":"…","cat":"…", by number */
	size_t nnames;
	struct pathmap paths;
	struct pairmap numbers; /* (def, own name) ▸ number */
	u64 last_id;            /* of what stands beside the threads */
	u64 last_arrow;
	u64 flushed_ns;
};

static struct chrome *chrome_of(struct viewer *v)
{
	return (struct chrome *)v;
}

/* --- text ----------------------------------------------------------------------------------------------- */

#define ADD(b, literal) text_add(b, literal, sizeof(literal) - 1)

static char *put(char *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)
/* For all of a slice but what its thread and its name say of it, and its arguments. */
#define SLICE_ROOM (3 * DECIMAL_ROOM + 32)

/* NS as microseconds. */
static void add_us(struct text_buf *b, u64 ns)
{
	char *at = text_room(b, DECIMAL_ROOM);

	if (at)
		text_end(b, decimal_put_us(at, ns));
}

static void add_number(struct text_buf *b, bool negative, u64 value)
{
	bool exact = value <= EXACT_MAX;

	if (!exact)
		ADD(b, "\"");
	if (negative)
		ADD(b, "-");
	text_add_u64(b, value);
	if (!exact)
		ADD(b, "\"");
}

static void add_signed(struct text_buf *b, s64 value)
{
	add_number(b, value < 0, value < 0 ? -(u64)value : (u64)value);
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* Writes what there is: whole records. */
static int chrome_flush(struct chrome *c)
{
	size_t len = c->buf.len;
	bool written;

	if (c->buf.failed)
		return -ENOMEM;
	errno = 0;
	written = fwrite(c->buf.data, 1, len, c->out) == len && !fflush(c->out);
	text_cut(&c->buf, 0);
	return written ? 0 : errno ? -errno : -EIO;
}

/* A record is whole. */
static int chrome_record(struct chrome *c)
{
	return c->buf.len < FULL && !c->buf.failed ? 0 : chrome_flush(c);
}

/* Name and category of PATH, ready to be written, in *NAME. 0 or -ENOMEM. */
static int make_name(struct chrome *c, const struct model_path *path, u32 *number)
{
	AUTO_TEXT name = {0}, b = {0};

	if (GROW(c->names, c->nnames))
		return -ENOMEM;
	viewer_name(&c->viewer, path, &name);
	ADD(&b, ",\"name\":");
	jsontext_string(&b, name.failed ? "" : name.data);
	ADD(&b, ",\"cat\":");
	jsontext_string(&b, path->def->provider);
	if (name.failed || b.failed)
		return -ENOMEM;
	*number = (u32)c->nnames;
	c->names[c->nnames++] = b;
	b = (struct text_buf){0};
	return 0;
}

/* NULL: no memory. */
static const struct text_buf *name_of(struct chrome *c, const struct model_path *path)
{
	u64 def = pairmap_key(path->def), own = pairmap_key(path->name);
	u32 number;

	if (pathmap_get(&c->paths, path, &number))
		return &c->names[number];
	if (!pairmap_get(&c->numbers, def, own, &number) &&
	    (make_name(c, path, &number) || pairmap_put(&c->numbers, def, own, number)))
		return NULL;
	pathmap_put(&c->paths, path, number);
	return &c->names[number];
}

/* A record of sort PH: {"ph":"X","pid":1,"tid":2 */
static void begin_who(struct chrome *c, char ph, u32 pid, u32 tid)
{
	struct text_buf *b = &c->buf;

	ADD(b, ",\n{\"ph\":\"");
	text_add(b, &ph, 1);
	ADD(b, "\",\"pid\":");
	text_add_u64(b, pid);
	ADD(b, ",\"tid\":");
	text_add_u64(b, tid);
}

/* … up to its time: ,"ts":100.000 */
static void begin_record(struct chrome *c, char ph, u32 pid, u32 tid, u64 time)
{
	begin_who(c, ph, pid, tid);
	ADD(&c->buf, ",\"ts\":");
	add_us(&c->buf, time);
}

static void begin_on(struct chrome *c, char ph, const struct viewer_thread *thread, u64 time)
{
	begin_record(c, ph, thread->model->pid, thread->model->tid, time);
}

/* Before each member of "args": the first one opens it. */
static void add_key(struct text_buf *b, bool *open, const char *key)
{
	if (*open)
		ADD(b, ",");
	else
		ADD(b, ",\"args\":{");
	*open = true;
	jsontext_string(b, key);
	ADD(b, ":");
}

static void add_labels(struct chrome *c, bool *open, const struct model_label *labels, u32 n)
{
	for (u32 i = 0; i < n && c->viewer.options.args; i++) {
		add_key(&c->buf, open, labels[i].key);
		if (labels[i].text)
			jsontext_string(&c->buf, labels[i].text);
		else
			add_signed(&c->buf, labels[i].number);
	}
}

static void add_args(struct chrome *c, const struct model_span *span)
{
	struct viewer_fact facts[VIEWER_FACTS];
	unsigned n = viewer_facts(&c->viewer, span, facts), i;
	bool open = false;

	add_labels(c, &open, span->labels, span->nlabels);
	for (i = 0; i < n; i++) {
		add_key(&c->buf, &open, facts[i].name);
		add_number(&c->buf, false, facts[i].value);
	}
	if (open)
		ADD(&c->buf, "}");
}

/* --- what the viewer tells ------------------------------------------------------------------------------ */

static int chrome_name(struct chrome *c, const char *what, u32 pid, u32 tid, const char *name)
{
	begin_who(c, 'M', pid, tid);
	ADD(&c->buf, ",\"name\":");
	jsontext_string(&c->buf, what);
	ADD(&c->buf, ",\"args\":{\"name\":");
	jsontext_string(&c->buf, name);
	ADD(&c->buf, "}}");
	return chrome_record(c);
}

static int chrome_process(struct viewer *v, struct viewer_process *process)
{
	return chrome_name(chrome_of(v), "process_name", process->pid, process->pid, process->name);
}

static int chrome_thread(struct viewer *v, struct viewer_thread *thread)
{
	const struct model_thread *model = thread->model;

	if (!thread->head.data) {
		ADD(&thread->head, ",\n{\"ph\":\"X\",\"pid\":");
		text_add_u64(&thread->head, model->pid);
		ADD(&thread->head, ",\"tid\":");
		text_add_u64(&thread->head, model->tid);
		ADD(&thread->head, ",\"ts\":");
	}
	if (thread->head.failed)
		return -ENOMEM;
	return *thread->name ? chrome_name(chrome_of(v), "thread_name", model->pid, model->tid,
					   thread->name)
			     : 0;
}

static void add_arrow_end(struct chrome *c, const char *more, u64 number,
			  const struct text_buf *name)
{
	text_add_str(&c->buf, more);
	ADD(&c->buf, ",\"id\":");
	text_add_u64(&c->buf, number);
	text_add(&c->buf, name->data, name->len);
	ADD(&c->buf, "}");
}

/* From the stretch that began first, in whatever order they came. */
static int add_arrow(struct chrome *c, const struct model_span *span, const struct flow *flow,
		     const struct text_buf *name)
{
	const struct model_thread *thread = span->thread;
	bool forth = flow->start_ns <= span->start_ns;
	u64 number = ++c->last_arrow;

	begin_record(c, forth ? 's' : 'f', flow->pid, flow->tid, flow->start_ns);
	add_arrow_end(c, forth ? "" : ",\"bp\":\"e\"", number, name);
	begin_record(c, forth ? 'f' : 's', thread->pid, thread->tid, span->start_ns);
	add_arrow_end(c, forth ? ",\"bp\":\"e\"" : "", number, name);
	return chrome_record(c);
}

static int chrome_slice(struct viewer *v, struct viewer_thread *thread,
			const struct model_span *span, const struct flow *flow)
{
	struct chrome *c = chrome_of(v);
	const struct text_buf *name = name_of(c, span->path);
	struct text_buf *b = &c->buf;
	char *at;

	if (!name)
		return -ENOMEM;
	at = text_room(b, thread->head.len + name->len + SLICE_ROOM);
	if (!at)
		return -ENOMEM;
	at = put(at, thread->head.data, thread->head.len);
	at = decimal_put_us(at, span->start_ns);
	at = PUT(at, ",\"dur\":");
	at = decimal_put_us(at, span->end_ns - span->start_ns);
	if (viewer_has_cpu(v)) {
		at = PUT(at, ",\"tdur\":");
		at = decimal_put_us(at, span->total.cpu_ns);
	}
	at = put(at, name->data, name->len);
	text_end(b, at);
	if (viewer_has_facts(span))
		add_args(c, span);
	ADD(b, "}");
	return flow && flow->tid ? add_arrow(c, span, flow, name) : chrome_record(c);
}

/* Beside the threads, under an id that nothing else in the process has. */
static int chrome_aside(struct viewer *v, struct viewer_thread *thread,
			const struct model_span *span)
{
	struct chrome *c = chrome_of(v);
	const struct text_buf *name = name_of(c, span->path);
	u64 id = ++c->last_id;
	unsigned i;

	if (!name)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		begin_on(c, i ? 'e' : 'b', thread, i ? span->end_ns : span->start_ns);
		ADD(&c->buf, ",\"id2\":{\"local\":\"");
		text_add_u64(&c->buf, id);
		ADD(&c->buf, "\"}");
		text_add(&c->buf, name->data, name->len);
		if (!i)
			add_args(c, span);
		ADD(&c->buf, "}");
	}
	return chrome_record(c);
}

static void add_counter(struct chrome *c, u32 pid, u64 time, const struct text_buf *name)
{
	begin_record(c, 'C', pid, pid, time);
	text_add(&c->buf, name->data, name->len);
	ADD(&c->buf, ",\"args\":{\"value\":");
}

static int chrome_event(struct viewer *v, struct viewer_thread *thread,
			const struct model_event *event)
{
	struct chrome *c = chrome_of(v);
	const struct text_buf *name = name_of(c, event->path);
	bool open = false;

	if (!name)
		return -ENOMEM;
	begin_on(c, 'i', thread, event->time_ns);
	ADD(&c->buf, ",\"s\":\"t\"");
	text_add(&c->buf, name->data, name->len);
	add_labels(c, &open, event->labels, event->nlabels);
	if (event->has_value && v->options.args) {
		add_key(&c->buf, &open, "event:value");
		add_signed(&c->buf, event->value);
	}
	if (open)
		ADD(&c->buf, "}");
	ADD(&c->buf, "}");
	if (event->has_value) {
		add_counter(c, thread->model->pid, event->time_ns, name);
		if (event->value < 0)
			ADD(&c->buf, "-");
		text_add_u64(&c->buf, event->value < 0 ? -(u64)event->value : (u64)event->value);
		ADD(&c->buf, "}}");
	}
	return chrome_record(c);
}

static int chrome_counter(struct viewer *v, struct viewer_process *process,
			  enum viewer_counter which, u64 time_ns)
{
	struct chrome *c = chrome_of(v);

	begin_record(c, 'C', process->pid, process->pid, time_ns);
	ADD(&c->buf, ",\"name\":");
	jsontext_string(&c->buf, viewer_counter_names[which]);
	text_add_str(&c->buf, which == VIEWER_CPU ? ",\"args\":{\"ns\":" : ",\"args\":{\"bytes\":");
	text_add_u64(&c->buf, process->values[which]);
	ADD(&c->buf, "}}");
	return chrome_record(c);
}

static const struct viewer_ops chrome_viewer = {
	.process = chrome_process,
	.thread = chrome_thread,
	.slice = chrome_slice,
	.aside = chrome_aside,
	.async = chrome_aside,
	.event = chrome_event,
	.counter = chrome_counter,
};

/* --- all of it ------------------------------------------------------------------------------------------ */

static void chrome_free(struct exporter *e)
{
	struct chrome *c = e->state;
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->nnames; i++)
		text_buf_free(&c->names[i]);
	free(c->names);
	pathmap_free(&c->paths);
	pairmap_free(&c->numbers);
	text_buf_free(&c->buf);
	viewer_free(&c->viewer);
	free(c);
	e->state = NULL;
}

/* The record about the trace itself: its own arguments follow. */
static void begin_about(struct chrome *c, const char *name, u64 time)
{
	begin_record(c, 'i', 0, 0, time);
	ADD(&c->buf, ",\"s\":\"g\",\"cat\":\"spantrace\",\"name\":");
	jsontext_string(&c->buf, name);
}

static void about_trace(struct chrome *c, const struct profile *run)
{
	char rate[FIGURES_SIZE];
	struct viewer_text texts[VIEWER_TEXTS];
	bool open = false;
	size_t i;

	viewer_about(run, texts, rate);
	chrome_name(c, "process_name", 0, 0, "spantrace");
	begin_about(c, "spantrace", run->start_ns);
	for (i = 0; i < VIEWER_TEXTS; i++) {
		if (!texts[i].value)
			continue;
		add_key(&c->buf, &open, texts[i].name);
		jsontext_string(&c->buf, texts[i].value);
	}
	add_key(&c->buf, &open, "start_realtime_ns");
	add_number(&c->buf, false, run->start_realtime_ns);
	ADD(&c->buf, "}}");
}

static void about_losses(struct chrome *c, const struct profile *profile)
{
	bool open = false;
	size_t i;

	for (i = 0; i < profile->nlosses; i++) {
		if (!profile->losses[i].count)
			continue;
		if (!open)
			begin_about(c, "spantrace losses", profile->end_ns);
		add_key(&c->buf, &open, profile->losses[i].name);
		add_number(&c->buf, false, profile->losses[i].count);
	}
	if (open)
		ADD(&c->buf, "}}");
}

static int chrome_begin(struct exporter *e, const struct profile *run)
{
	struct chrome *c;

	chrome_free(e);
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	e->state = c;
	c->flushed_ns = run->start_ns;
	viewer_init(&c->viewer, &chrome_viewer, e, run);
	c->out = e->out;
	about_trace(c, run);
	if (c->buf.failed)
		return -ENOMEM;
	c->buf.data[0] = '['; /* in place of the comma */
	return 0;
}

static int chrome_span(struct exporter *e, const struct model_span *span)
{
	struct chrome *c = e->state;

	return viewer_span(&c->viewer, span);
}

static int chrome_single(struct exporter *e, const struct model_event *event)
{
	struct chrome *c = e->state;

	return viewer_event(&c->viewer, event);
}

static int chrome_tick(struct exporter *e, const struct profile *so_far)
{
	struct chrome *c = e->state;

	if (so_far->end_ns - c->flushed_ns < FLUSH_NS)
		return 0;
	c->flushed_ns = so_far->end_ns;
	return chrome_flush(c);
}

static int chrome_heap(struct exporter *e, const struct profile *snapshot)
{
	struct chrome *c = e->state;

	return viewer_heap(&c->viewer, snapshot);
}

static int chrome_finish(struct exporter *e, const struct profile *profile)
{
	struct chrome *c = e->state;
	int err = viewer_finish(&c->viewer, profile);

	if (err)
		return err;
	about_losses(c, profile);
	ADD(&c->buf, "\n]\n");
	return chrome_flush(c);
}

static const char *const chrome_keys[] = {"args", "module_path", NULL};

const struct exporter_ops exporter_chrome = {
	.name = "chrome",
	.spans_only = true,
	.extension = ".trace.json",
	.keys = chrome_keys,
	.parts = true,
	.begin = chrome_begin,
	.span = chrome_span,
	.event = chrome_single,
	.tick = chrome_tick,
	.heap = chrome_heap,
	.finish = chrome_finish,
	.free = chrome_free,
};
