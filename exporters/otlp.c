/* SPDX-License-Identifier: MIT */
/* OpenTelemetry's traces: each span as a span of a trace, with its thread, labels and counters as attributes, the events
 * in it as its events; each process is a resource. In JSON a line is one request, a whole document; protobuf requests
 * behind each other are one message.
 *
 *   span ▸ otlp_tree: its id, its parent's, its trace ▸ otlp_encode ▸ (otlp_scope, while its trace is not known)
 *        ▸ the bytes of its process ▸ a request, every second or megabyte ▸ e->send, or the file
 */
#include "formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/cleanup.h"
#include "../user/util/grow.h"
#include "figures.h"
#include "hash.h"
#include "otlp_tree.h"

#define REQUEST_BYTES (1u << 20)
#define REQUEST_SPANS 8192u
#define FLUSH_NS      1000000000ull
/* Events that wait for the end of their span: of one, as OpenTelemetry's own libraries have it, and bytes of all. */
#define EVENTS_MAX      128u
#define EVENT_BYTES_MAX (32u << 20)
#define SERVICE_SIZE    EXPORT_TITLE_SIZE

struct otlp_process {
	u32 pid;
	struct otlp_attributes resource;
	struct text_buf spans;
	bool named;
};

struct otlp {
	struct exporter *exporter;
	struct otlp_encoding encoding;
	struct otlp_tree tree;
	struct intmap threads;         /* serial ▸ struct otlp_thread */
	struct intmap processes;       /* pid ▸ struct otlp_process */
	struct otlp_process **waiting; /* those that have spans */
	size_t nwaiting;
	size_t bytes; /* of these spans */
	u32 spans;
	char *version;
	u64 epoch_ns; /* a time of the trace and this is one since 1970 */
	u32 metrics, sample_ppb;
	size_t event_bytes;
	struct text_buf *names; /* encoded, by number */
	size_t nnames;
	struct pairmap numbers;   /* (def, own name) ▸ number */
	struct otlp_thread *last; /* whose span was the last */
	struct otlp_attributes attributes;
	struct text_buf scratch; /* a span that has to wait */
	struct text_buf spare;   /* of a process whose spans were written */
	struct text_buf request;
	u64 flushed_ns;
	int error;
};

/* --- processes and threads ------------------------------------------------------------------------------ */

static struct otlp_process *process_of(struct otlp *o, u32 pid)
{
	void **found = intmap_find(&o->processes, pid);
	AUTO_FREE struct otlp_process *process = NULL;

	if (found)
		return *found;
	process = calloc(1, sizeof(*process));
	if (!process || intmap_set(&o->processes, pid, process))
		return NULL;
	process->pid = pid;
	return TAKE_PTR(process);
}

static void describe(struct otlp *o, struct otlp_process *process, const char *service)
{
	struct otlp_attributes *to = &process->resource;
	char rate[FIGURES_SIZE];

	otlp_attributes_begin(to, OTLP_OF_RESOURCE);
	otlp_add_text(&o->encoding, to, "service.name", service);
	if (process->pid)
		otlp_add_number(&o->encoding, to, "process.pid", process->pid);
	otlp_add_text(&o->encoding, to, "telemetry.sdk.name", "spantrace");
	otlp_add_text(&o->encoding, to, "telemetry.sdk.version", o->version);
	if (o->sample_ppb)
		otlp_add_text(&o->encoding, to, "spantrace.sampled_root_spans",
			      figures_sample(rate, o->sample_ppb));
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The names that the thread and its process have by now. DEF: of a span on it. */
static void name_thread(struct otlp *o, struct otlp_thread *thread, const struct model_def *def)
{
	const struct model_thread *model = thread->model;
	struct otlp_attributes *to = &thread->attributes;
	const char *name = *model->process_comm ? model->process_comm : model->comm;
	char service[SERVICE_SIZE];

	memcpy(thread->name, model->comm, MODEL_COMM_LEN);
	otlp_attributes_begin(to, OTLP_OF_SPAN);
	otlp_add_number(&o->encoding, to, "thread.id", model->tid);
	otlp_add_text(&o->encoding, to, "thread.name", thread->name);
	if (thread->process->named && model->pid != model->tid)
		return;
	snprintf(service, sizeof(service), "%.*s", MODEL_COMM_LEN, name);
	/* A recording does not know what the process is called, and threads have names of their own. */
	if (!*model->process_comm && model->pid != model->tid && def->binary)
		snprintf(service, sizeof(service), "%s", file_name(def->binary));
	if (*o->exporter->options.title)
		snprintf(service, sizeof(service), "%s", o->exporter->options.title);
	describe(o, thread->process, *service ? service : "unknown");
	thread->process->named = true;
}

static struct otlp_thread *make_thread(struct otlp *o, const struct model_thread *model,
				       const struct model_def *def)
{
	AUTO_FREE struct otlp_thread *made = calloc(1, sizeof(*made));
	struct otlp_thread *thread;

	if (!made)
		return NULL;
	made->process = process_of(o, model->pid);
	if (!made->process || intmap_set(&o->threads, model->serial, made))
		return NULL;
	thread = TAKE_PTR(made);
	thread->model = model;
	thread->key = hash_mix(o->tree.seed + model->tid);
	thread->key = hash_mix(thread->key + ((u64)model->pid << 32) + model->start_ns);
	name_thread(o, thread, def);
	return thread;
}

static struct otlp_thread *thread_of(struct otlp *o, const struct model_thread *model,
				     const struct model_def *def)
{
	void **found;

	if (!o->last || o->last->model != model) {
		found = intmap_find(&o->threads, model->serial);
		o->last = found ? *found : make_thread(o, model, def);
	}
	if (o->last && strncmp(o->last->name, model->comm, MODEL_COMM_LEN) != 0)
		name_thread(o, o->last, def);
	return o->last;
}

/* --- requests ------------------------------------------------------------------------------------------- */

static int send_request(struct otlp *o)
{
	struct exporter *e = o->exporter;
	struct text_buf *request = &o->request;

	if (request->failed)
		return -ENOMEM;
	if (e->send)
		return e->send(e->send_to, request);
	errno = 0;
	if (fwrite(request->data, 1, request->len, e->out) == request->len && !fflush(e->out))
		return 0;
	return errno ? -errno : -EIO;
}

/* Writes all spans that wait for nothing. */
static int flush(struct otlp *o)
{
	size_t n = o->nwaiting;
	bool failed = false;

	if (!n)
		return o->error;
	text_cut(&o->request, 0);
	for (size_t i = 0; i < n; i++) {
		struct otlp_process *process = o->waiting[i];

		failed |= process->spans.failed || process->resource.bytes.failed;
		if (!failed)
			otlp_add_resource(&o->encoding, &o->request, i == 0, &process->resource,
					  o->version, &process->spans);
		/* One is kept for the next to come, as most traces are of one process. */
		if (process->spans.size > o->spare.size) {
			text_buf_free(&o->spare);
			o->spare = process->spans;
			process->spans = (struct text_buf){0};
		}
		text_buf_free(&process->spans);
	}
	text_cut(&o->spare, 0);
	o->spare.failed = false;
	otlp_end_request(&o->encoding, &o->request);
	free(o->waiting);
	o->waiting = NULL;
	o->nwaiting = 0;
	o->bytes = 0;
	o->spans = 0;
	if (!o->error)
		o->error = failed ? -ENOMEM : send_request(o);
	return o->error;
}

/* Where the next span of PROCESS goes. NULL: no memory. */
static struct text_buf *room_of(struct otlp *o, struct otlp_process *process)
{
	if (process->spans.len)
		return &process->spans;
	if (GROW(o->waiting, o->nwaiting))
		return NULL;
	o->waiting[o->nwaiting++] = process;
	if (!process->spans.data) {
		process->spans = o->spare;
		o->spare = (struct text_buf){0};
	}
	return &process->spans;
}

/* So many bytes more are there, a span. */
static int counted(struct otlp *o, size_t len)
{
	o->bytes += len;
	return ++o->spans >= REQUEST_SPANS || o->bytes >= REQUEST_BYTES ? flush(o) : o->error;
}

/* The trace of a span that has waited is known. */
static void pass(void *context, struct otlp_process *process, const char *bytes, size_t len)
{
	struct otlp *o = context;
	struct text_buf *to = room_of(o, process);

	if (!to) {
		o->error = -ENOMEM;
		return;
	}
	text_add(to, bytes, len);
	counted(o, len);
}

/* --- spans and events ----------------------------------------------------------------------------------- */

static int make_name(struct otlp *o, const struct model_path *path, u32 *number)
{
	AUTO_TEXT name = {0}, encoded = {0};

	if (GROW(o->names, o->nnames))
		return -ENOMEM;
	if (o->exporter->options.module_path) {
		text_add_str(&name, path->def->provider);
		text_add(&name, ":", 1);
	}
	text_add_str(&name, path->name ? path->name : path->def->name);
	if (!name.failed)
		otlp_add_name(&o->encoding, &encoded, name.data);
	if (name.failed || encoded.failed ||
	    pairmap_put(&o->numbers, pairmap_key(path->def), pairmap_key(path->name),
			(u32)o->nnames))
		return -ENOMEM;
	*number = (u32)o->nnames;
	o->names[o->nnames++] = encoded;
	encoded = (struct text_buf){0};
	return 0;
}

/* NULL: no memory. */
static const struct text_buf *name_of(struct otlp *o, const struct model_path *path)
{
	u32 number;

	if (!pairmap_get(&o->numbers, pairmap_key(path->def), pairmap_key(path->name), &number) &&
	    make_name(o, path, &number))
		return NULL;
	return &o->names[number];
}

static const struct text_buf *name_of_node(struct otlp *o, struct otlp_node *node)
{
	const struct text_buf *name;

	if (node->name)
		return &o->names[node->name - 1];
	name = name_of(o, node->path);
	if (name)
		node->name = (u32)(name - o->names) + 1;
	return name;
}

/* What spantrace knows of a span beside its labels; what is 0 is left out. */
static void add_facts(struct otlp *o, const struct model_span *span)
{
	bool cpu = o->metrics & METRIC_CPU;
	const struct model_counters *total = &span->total;
	const struct {
		const char *key;
		u64 value;
	} facts[] = {
		{"span.id", span->flags & (MODEL_ASYNC | MODEL_SEGMENT) ? span->id : 0},
		{"span.busy_ns", span->flags & MODEL_ASYNC ? span->busy_ns : 0},
		{"span.cpu_ns", cpu ? total->cpu_ns : 0},
		{"span.cpu_system_ns", cpu ? total->cpu_system_ns : 0},
		{"span.run_delay_ns", cpu ? total->run_delay_ns : 0},
		{"span.vol_switches", total->vol_switches},
		{"span.invol_switches", total->invol_switches},
		{"span.minor_faults", total->minor_faults},
		{"span.major_faults", total->major_faults},
		{"span.alloc_objects", span->alloc.objects},
		{"span.alloc_bytes", span->alloc.bytes},
		{"span.abandoned", !!(span->flags & MODEL_ABANDONED)},
		{"span.open", !!(span->flags & MODEL_OPEN)},
		{"code.line.number", span->path->def->source_line},
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		if (facts[i].value)
			otlp_add_number(&o->encoding, &o->attributes, facts[i].key,
					(s64)facts[i].value);
	if (span->path->def->source_file)
		otlp_add_text(&o->encoding, &o->attributes, "code.file.path",
			      span->path->def->source_file);
}

/* Encodes a span of NODE that belongs WHERE. */
static int put(struct otlp *o, struct otlp_node *node, const struct otlp_where *where, u64 start_ns,
	       u64 end_ns)
{
	struct otlp_process *process = node->thread->process;
	const struct otlp_span span = {
		.place = where->place,
		.name = name_of_node(o, node),
		.start_ns = start_ns + o->epoch_ns,
		.end_ns = end_ns + o->epoch_ns,
		.shared = o->exporter->options.args ? &node->thread->attributes : NULL,
		.own = &o->attributes,
		.events = node->events.len ? &node->events : NULL,
		.dropped_events = node->dropped_events,
	};
	struct text_buf *to = where->scope ? &o->scratch : room_of(o, process);
	struct otlp_record record;

	if (!span.name || !to || o->attributes.bytes.failed)
		return -ENOMEM;
	if (where->scope)
		text_cut(to, 0);
	otlp_encode(&o->encoding, &span, to, &record);
	if (to->failed)
		return -ENOMEM;
	if (where->scope)
		return otlp_scope_hold(&o->tree.scopes, where->scope, to->data, &record);
	for (u32 i = 0; i < record.ntraces; i++)
		otlp_set_trace(&o->encoding, to->data + to->len - record.len + record.traces[i],
			       where->root);
	return counted(o, record.len);
}

/* Of those in a span that has ended. */
static void forget_events(struct otlp *o, struct otlp_node *node)
{
	o->event_bytes -= node->events.len;
	text_buf_free(&node->events);
	node->nevents = 0;
	node->dropped_events = 0;
}

static int otlp_span(struct exporter *e, const struct model_span *span)
{
	struct otlp *o = e->state;
	struct otlp_thread *thread = thread_of(o, span->thread, span->path->def);
	struct otlp_node *node = thread ? otlp_tree_node(&o->tree, thread, span->path) : NULL;
	bool async = span->flags & MODEL_ASYNC;
	struct otlp_where where;
	int err;

	if (!node)
		return -ENOMEM;
	/* What its place is made of comes from memory while its attributes are encoded. */
	otlp_tree_prefetch(node);
	otlp_attributes_begin(&o->attributes, OTLP_OF_SPAN);
	if (e->options.args) {
		otlp_add_labels(&o->encoding, &o->attributes, span->labels, span->nlabels);
		add_facts(o, span);
	}
	err = otlp_tree_span(&o->tree, node, span, &where);
	if (err)
		return err;
	if (async) { /* what happened in its stretches is theirs */
		struct otlp_node bare = {.path = node->path, .thread = thread};

		err = put(o, &bare, &where, span->start_ns, span->end_ns);
	} else {
		err = put(o, node, &where, span->start_ns, span->end_ns);
		if (node->nevents || node->dropped_events)
			forget_events(o, node);
	}
	return err ? err : o->error;
}

/* In a span: it waits for that span's end. */
static int keep_event(struct otlp *o, struct otlp_node *node, const struct model_event *event)
{
	size_t before = node->events.len;
	const struct text_buf *name;

	if (node->nevents == EVENTS_MAX || o->event_bytes >= EVENT_BYTES_MAX) {
		node->dropped_events++;
		return o->error;
	}
	name = name_of(o, event->path);
	if (!name || o->attributes.bytes.failed)
		return -ENOMEM;
	otlp_add_event(&o->encoding, &node->events, name, event->time_ns + o->epoch_ns,
		       &o->attributes);
	node->nevents++;
	o->event_bytes += node->events.len - before;
	return node->events.failed ? -ENOMEM : o->error;
}

static int otlp_event(struct exporter *e, const struct model_event *event)
{
	struct otlp *o = e->state;
	struct otlp_thread *thread = thread_of(o, event->thread, event->path->def);
	const struct model_path *within = event->path->parent->def ? event->path->parent : NULL;
	struct otlp_node *node =
		thread ? otlp_tree_node(&o->tree, thread, within ? within : event->path) : NULL;
	struct otlp_where where;
	int err;

	if (!node)
		return -ENOMEM;
	otlp_attributes_begin(&o->attributes, within ? OTLP_OF_EVENT : OTLP_OF_SPAN);
	if (e->options.args) {
		otlp_add_labels(&o->encoding, &o->attributes, event->labels, event->nlabels);
		if (event->has_value)
			otlp_add_number(&o->encoding, &o->attributes, "event.value", event->value);
	}
	if (within)
		return keep_event(o, node, event);
	otlp_tree_event(node, &where);
	err = put(o, node, &where, event->time_ns, event->time_ns);
	return err ? err : o->error;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static void otlp_free(struct exporter *e)
{
	struct otlp *o = e->state;
	size_t i;

	if (!o)
		return;
	e->state = NULL;
	o->error = -ECANCELED; /* what waits is not written any more */
	otlp_tree_free(&o->tree);
	for (i = 0; i < o->threads.capacity; i++) {
		struct otlp_thread *thread = o->threads.slots[i].value;

		if (thread)
			text_buf_free(&thread->attributes.bytes);
		free(thread);
	}
	for (i = 0; i < o->processes.capacity; i++) {
		struct otlp_process *process = o->processes.slots[i].value;

		if (!process)
			continue;
		text_buf_free(&process->resource.bytes);
		text_buf_free(&process->spans);
		free(process);
	}
	intmap_free(&o->threads);
	intmap_free(&o->processes);
	free(o->waiting);
	free(o->version);
	for (i = 0; i < o->nnames; i++)
		text_buf_free(&o->names[i]);
	free(o->names);
	pairmap_free(&o->numbers);
	text_buf_free(&o->attributes.bytes);
	text_buf_free(&o->scratch);
	text_buf_free(&o->spare);
	text_buf_free(&o->request);
	free(o);
}

static int otlp_begin(struct exporter *e, const struct profile *run)
{
	struct otlp *o;

	otlp_free(e);
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	e->state = o;
	o->exporter = e;
	o->encoding.json = e->options.encoding != EXPORT_ENCODING_PROTOBUF;
	o->version = strdup(run->version ? run->version : "");
	o->epoch_ns = run->start_realtime_ns - run->start_ns;
	o->metrics = run->metrics;
	o->sample_ppb = run->sample_ppb;
	o->flushed_ns = run->start_ns;
	o->tree.seed = hash_mix(hash_mix(run->start_realtime_ns) + run->start_ns);
	o->tree.scopes = (struct otlp_scopes){
		.encoding = &o->encoding,
		.pass = pass,
		.context = o,
		.limit = OTLP_HELD_MAX,
	};
	return o->version ? 0 : -ENOMEM;
}

static int otlp_tick(struct exporter *e, const struct profile *so_far)
{
	struct otlp *o = e->state;

	if (so_far->end_ns - o->flushed_ns < FLUSH_NS)
		return 0;
	o->flushed_ns = so_far->end_ns;
	return flush(o);
}

/* A span without length, of a service of its own: losses belong to no process. */
static int put_losses(struct otlp *o, const struct profile *profile)
{
	struct otlp_process *own = process_of(o, 0);
	AUTO_TEXT name = {0};
	const struct otlp_span span = {
		.place = {.id = hash_mix(o->tree.seed) | 1},
		.name = &name,
		.start_ns = profile->end_ns + o->epoch_ns,
		.end_ns = profile->end_ns + o->epoch_ns,
		.own = &o->attributes,
	};
	struct otlp_record record;

	otlp_attributes_begin(&o->attributes, OTLP_OF_SPAN);
	for (size_t i = 0; i < profile->nlosses; i++)
		if (profile->losses[i].count)
			otlp_add_number(&o->encoding, &o->attributes, profile->losses[i].name,
					(s64)profile->losses[i].count);
	if (!o->attributes.bytes.len)
		return 0;
	if (!own)
		return -ENOMEM;
	if (!own->named)
		describe(o, own, "spantrace");
	otlp_add_name(&o->encoding, &name, "spantrace losses");
	text_cut(&o->scratch, 0);
	if (!name.failed)
		otlp_encode(&o->encoding, &span, &o->scratch, &record);
	if (name.failed || o->scratch.failed)
		return -ENOMEM;
	otlp_set_trace(&o->encoding, o->scratch.data + record.traces[0], span.place.id);
	pass(o, own, o->scratch.data, o->scratch.len);
	return o->error;
}

static int otlp_finish(struct exporter *e, const struct profile *profile)
{
	struct otlp *o = e->state;
	int err;

	otlp_scope_resolve_all(&o->tree.scopes);
	err = put_losses(o, profile);
	return err ? err : flush(o);
}

static const char *const otlp_keys[] = {"args", "module_path", "encoding", "service", NULL};

const struct exporter_ops exporter_otlp = {
	.name = "otlp",
	.spans_only = true,
	.extension = ".otlp.json",
	.keys = otlp_keys,
	.begin = otlp_begin,
	.span = otlp_span,
	.event = otlp_event,
	.tick = otlp_tick,
	.finish = otlp_finish,
	.free = otlp_free,
};
