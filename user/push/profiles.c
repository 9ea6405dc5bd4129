/* SPDX-License-Identifier: MIT */
/* See profiles.h. */
#include "profiles.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "../target/target.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "../util/strpool.h"
#include "tags.h"

#define SECOND     1000000000ULL
#define LABEL_SIZE 128u

struct profiles {
	const struct options *options;
	struct push *push;
	struct tags *tags;
};

/* A row of the interval and whose it is. */
struct ref {
	const struct tag_set *set;
	const struct model_row *row;
};

/* What is sent of one interval. */
struct batch {
	struct profiles *profiles;
	struct profile profile; /* without its rows */
	u64 sent; /* profiles: each begins a nanosecond later, so that servers do not take two for one */
	struct text_buf body; /* what goes with the next push */
	struct strpool *texts;
	bool failed;
};

/* --- rows ------------------------------------------------------------------------------------------- */

static int compare(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int compare_labels(const struct model_row *a, const struct model_row *b)
{
	int order = compare(a->nlabels, b->nlabels);

	for (u32 i = 0; i < a->nlabels && !order; i++) {
		const struct model_label *left = &a->labels[i], *right = &b->labels[i];

		order = strcmp(left->key, right->key);
		if (!order)
			order = compare(!left->text, !right->text);
		if (!order && left->text)
			order = strcmp(left->text, right->text);
		else if (!order)
			order = compare((u64)left->number, (u64)right->number);
	}
	return order;
}

/* Rows that become one sample are equal. */
static int compare_refs(const void *left, const void *right)
{
	const struct ref *a = left, *b = right;
	int order = compare(a->set->serial, b->set->serial);

	if (!order)
		order = compare(a->row->path->id, b->row->path->id);
	return order ? order : compare_labels(a->row, b->row);
}

/* Threads have no part in what a server is told. */
static void add_row(struct model_row *sum, const struct model_row *row)
{
	sum->count += row->count;
	sum->work.busy_ns += row->work.busy_ns;
	sum->work.cpu_ns += row->work.cpu_ns;
	sum->work.cpu_system_ns += row->work.cpu_system_ns;
	sum->work.run_delay_ns += row->work.run_delay_ns;
	sum->work.idle_ns += row->work.idle_ns;
	sum->work.alloc_objects += row->work.alloc_objects;
	sum->work.alloc_bytes += row->work.alloc_bytes;
	sum->work.inuse_objects += row->work.inuse_objects;
	sum->work.inuse_bytes += row->work.inuse_bytes;
}

/* --- labels of samples ------------------------------------------------------------------------------ */

static const char *keep(struct batch *batch, const char *text)
{
	const char *kept = strpool_add(batch->texts, text, strlen(text));

	batch->failed |= !kept;
	return kept;
}

/* Servers keep these apart from series, where they have LEN digits; else they are good for nothing. NULL: so it is. */
static const char *make_id(struct batch *batch, const struct model_label *label, int len)
{
	char id[33];
	int n = label->text ? snprintf(id, sizeof(id), "%s", label->text)
			    : snprintf(id, sizeof(id), "%0*" PRIx64, len, (u64)label->number);

	if (n != len)
		return NULL;
	for (int i = 0; i < n; i++) {
		if (!isxdigit((unsigned char)id[i]))
			return NULL;
		id[i] = (char)tolower((unsigned char)id[i]);
	}
	return keep(batch, id);
}

static bool has_label(const struct tag_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->labels[i].name, name) == 0)
			return true;
	return false;
}

/* Makes a label of a span one of a series: a text under a name that is valid, and not one of the process. False: it
 * cannot be one. */
static bool make_label(struct batch *batch, const struct tag_set *set, struct model_label *label)
{
	char name[LABEL_SIZE] = "span_", number[24];
	size_t prefix = strlen(name);

	if (trace_id_number(label->key)) {
		label->text = make_id(batch, label, *label->key == 's' ? 16 : 32);
		return label->text;
	}
	tags_name(label->key, name + prefix, sizeof(name) - prefix);
	label->key = keep(batch, has_label(set, name + prefix) ? name : name + prefix);
	if (!label->text) {
		snprintf(number, sizeof(number), "%" PRId64, label->number);
		label->text = keep(batch, number);
	}
	return label->key && *label->key && label->text && *label->text;
}

static void make_labels(struct batch *batch, const struct tag_set *set, struct model_row *row)
{
	u32 n = 0;

	for (u32 i = 0; i < row->nlabels; i++)
		if (make_label(batch, set, &row->labels[i]))
			row->labels[n++] = row->labels[i];
	row->nlabels = n;
}

/* --- pushes ----------------------------------------------------------------------------------------- */

/* Version 4: of random bits. */
static void make_uuid(char id[37])
{
	u8 b[16];
	size_t at = 0;

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		memset(b, 0, sizeof(b));
	b[6] = (u8)((b[6] & 0x0f) | 0x40);
	b[8] = (u8)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			id[at++] = '-';
		at += (size_t)snprintf(id + at, 3, "%02x", b[i]);
	}
}

static void push_body(struct batch *batch)
{
	batch->failed |= batch->body.failed;
	if (batch->body.len)
		push_enqueue(batch->profiles->push, PYROSCOPE_PATH, PYROSCOPE_TYPE, &batch->body);
}

/* Adds N rows as one profile; or, where that is more than the server takes, as two halves. */
static void push_rows(struct batch *batch, const struct tag_set *set, enum pprof_family family,
		      const struct model_row *rows, size_t n)
{
	AUTO_TEXT body = {0};
	size_t nsamples = 0, bytes = 0;
	struct profile part = batch->profile;
	char id[37];

	part.rows = rows;
	part.nrows = n;
	part.start_realtime_ns += batch->sent;
	make_uuid(id);
	if (n <= PYROSCOPE_SAMPLES_MAX &&
	    pyroscope_encode(&part, family, set->labels, set->n, id, &body, &nsamples, &bytes)) {
		batch->failed = true;
		return;
	}
	if (n > PYROSCOPE_SAMPLES_MAX || (bytes > PYROSCOPE_BYTES_MAX && n > 1)) {
		push_rows(batch, set, family, rows, n / 2);
		push_rows(batch, set, family, rows + n / 2, n - n / 2);
		return;
	}
	if (!nsamples)
		return;
	batch->sent++;
	/* Servers take half a second for a request, and no longer for one of many series: messages behind each other are
	 * one with the series of both. */
	if (batch->body.len + body.len > PYROSCOPE_BYTES_MAX)
		push_body(batch);
	text_add(&batch->body, body.data, body.len);
}

/* Takes the rows of one set from REFS; returns how many those were. ROWS has room for them. */
static size_t push_set(struct batch *batch, const struct ref *refs, size_t n,
		       struct model_row *rows)
{
	const struct tag_set *set = refs->set;
	size_t taken, nrows = 0;

	for (taken = 0; taken < n && refs[taken].set == set; taken++) {
		if (taken && compare_refs(&refs[taken - 1], &refs[taken]) == 0)
			add_row(&rows[nrows - 1], refs[taken].row);
		else
			rows[nrows++] = *refs[taken].row;
	}
	for (size_t i = 0; i < nrows; i++)
		make_labels(batch, set, &rows[i]);
	for (enum pprof_family family = 0; family < PPROF_FAMILIES; family++)
		if (pprof_family_measured(batch->profile.metrics, family))
			push_rows(batch, set, family, rows, nrows);
	return taken;
}

/* Those of GAINED with the labels of their processes, in REFS; returns how many. */
static size_t find_sets(struct profiles *p, const struct trace *trace, const struct profile *gained,
			struct ref *refs)
{
	size_t n = 0;

	for (size_t i = 0; i < gained->nrows; i++) {
		const struct model_row *row = &gained->rows[i];
		const struct model_thread *thread = row->thread;
		u32 image = trace_process_of(trace, thread->serial);

		if (!tags_of(p->tags,
			     image)) /* its record was lost, or it is all that had no room */
			tags_see(p->tags, image, 0, thread->pid,
				 thread->process_comm[0] ? thread->process_comm : thread->comm);
		refs[n].set = tags_of(p->tags, image);
		refs[n].row = row;
		n += refs[n].set != NULL;
	}
	return n;
}

static u64 read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * SECOND + (u64)now.tv_nsec;
}

/* A time of the trace on the wall clock as that goes now: the trace's own stands still while the machine sleeps, and
 * servers take only what is of now. */
static u64 to_realtime(u64 time_ns)
{
	return read_clock(CLOCK_REALTIME) - (read_clock(CLOCK_MONOTONIC) - time_ns);
}

void profiles_interval(struct profiles *p, const struct trace *trace, const struct profile *gained)
{
	AUTO_FREE struct ref *refs = calloc(gained->nrows + 1, sizeof(*refs));
	AUTO_FREE struct model_row *rows = calloc(gained->nrows + 1, sizeof(*rows));
	CLEANUP(strpool_free) struct strpool *texts = NULL;
	struct batch batch = {.profiles = p, .profile = *gained};
	size_t n, at;

	if (!refs || !rows || strpool_new(&texts)) {
		log_error("--pyroscope: out of memory; this interval is lost");
		return;
	}
	batch.texts = texts;
	batch.profile.start_realtime_ns = to_realtime(gained->start_ns);
	/* A command line is nobody's business there. */
	batch.profile.target = NULL;
	batch.profile.nlosses = 0;
	n = find_sets(p, trace, gained, refs);
	qsort(refs, n, sizeof(*refs), compare_refs);
	for (at = 0; at < n;)
		at += push_set(&batch, refs + at, n - at, rows);
	push_body(&batch);
	text_buf_free(&batch.body);
	if (batch.failed)
		log_error("--pyroscope: out of memory; a part of this interval is lost");
	tags_sweep(p->tags);
}

/* --- who is who ------------------------------------------------------------------------------------- */

void profiles_process(struct profiles *p, u32 image, pid_t pid)
{
	char comm[COMM_LEN];

	target_comm(pid, comm);
	if (image)
		tags_see(p->tags, image, 0, (u32)pid, comm);
}

void profiles_record(struct profiles *p, const struct wire_head *head)
{
	const struct wire_thread *thread = (const struct wire_thread *)head;
	const struct wire_life *life = (const struct wire_life *)head;
	char comm[COMM_LEN + 1] = {0};

	if (head->kind == WIRE_THREAD && head->size == sizeof(*thread)) {
		memcpy(comm, thread->process_comm[0] ? thread->process_comm : thread->comm,
		       COMM_LEN);
		tags_see(p->tags, thread->process, 0, thread->pid, comm);
	} else if (head->kind == WIRE_FORK && head->size == sizeof(*life)) {
		memcpy(comm, life->comm, COMM_LEN);
		tags_see(p->tags, life->process, life->old_process, life->pid, comm);
	} else if (head->kind == WIRE_EXEC && head->size == sizeof(*life)) {
		memcpy(comm, life->comm, COMM_LEN);
		tags_see(p->tags, life->process, life->old_process, life->pid, comm);
		tags_end(p->tags, life->old_process);
	} else if (head->kind == WIRE_EXIT && head->size == sizeof(*life)) {
		tags_end(p->tags, life->process);
	}
}

/* --- begin and end ---------------------------------------------------------------------------------- */

int profiles_new(const struct options *options, struct profiles **out)
{
	CLEANUP(profiles_free) struct profiles *p = calloc(1, sizeof(*p));
	const struct push_options push = {
		.name = "pyroscope",
		.url = options->pyroscope,
		.access = &options->push,
		.gzip = true,
	};
	int err = p ? 0 : -ENOMEM;

	if (!err) {
		p->options = options;
		err = tags_new(options->app, options->tags, options->ntags, &p->tags);
	}
	if (!err)
		err = push_new(&push, &p->push);
	if (!err)
		*out = TAKE_PTR(p);
	return err;
}

void profiles_free(struct profiles **out)
{
	struct profiles *p = *out;

	if (!p)
		return;
	*out = NULL;
	push_free(&p->push);
	tags_free(&p->tags);
	free(p);
}

int profiles_start(struct profiles *p)
{
	return push_start(p->push);
}

void profiles_close(struct profiles *p)
{
	push_close(p->push, p->options->push_wait_ns);
}

struct push *profiles_push(struct profiles *p)
{
	return p->push;
}
