/* SPDX-License-Identifier: MIT */
/* What a replay of an event file gives, as text: a line for each span, event, thread and loss. Comes behind
 * <cmocka.h>. */
#ifndef SPANTRACE_TEST_EVENTREAD_H
#define SPANTRACE_TEST_EVENTREAD_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../exporters/text.h"
#include "../../include/mmprofdata.h"
#include "../../user/recording/replay.h"
#include "captured.h"

struct eventfile_read {
	int err;
	struct text_buf text;
	struct captured said;
	u64 start_ns, total_ns; /* TOTAL: of threads, from start to end, as measureme has it */
	bool finished;
	char target[256], counter[64];
	u64 pid_of_first;
};

__attribute__((format(printf, 2, 3))) static inline void eventfile_say(struct eventfile_read *r,
								       const char *format, ...)
{
	char line[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_add_str(&r->text, line);
}

static inline void eventfile_path(struct eventfile_read *r, const struct model_path *path)
{
	if (path->parent && path->parent->def) {
		eventfile_path(r, path->parent);
		eventfile_say(r, ";");
	}
	eventfile_say(r, "%s%s:%s", path->def->kind == MODEL_ASYNC_SPAN ? "@" : "",
		      path->def->provider, path->def->name);
}

static inline void eventfile_labels(struct eventfile_read *r, const struct model_label *labels,
				    u32 n)
{
	for (u32 i = 0; i < n; i++) {
		if (labels[i].text)
			eventfile_say(r, " %s='%s'", labels[i].key, labels[i].text);
		else
			eventfile_say(r, " %s=%" PRId64, labels[i].key, labels[i].number);
	}
	eventfile_say(r, "\n");
}

static inline int eventfile_take_span(void *context, const struct model_span *span)
{
	struct eventfile_read *r = context;

	eventfile_say(r, "%u ", span->thread->tid);
	eventfile_path(r, span->path);
	eventfile_say(r, " %" PRIu64 "-%" PRIu64 " self %" PRIu64, span->start_ns - r->start_ns,
		      span->end_ns - r->start_ns, span->self_ns);
	if (span->flags & (MODEL_ASYNC | MODEL_SEGMENT))
		eventfile_say(r, " %s %" PRIu64 " busy %" PRIu64,
			      span->flags & MODEL_ASYNC ? "async" : "segment", span->id,
			      span->busy_ns);
	if (span->flags & MODEL_ABANDONED)
		eventfile_say(r, " abandoned");
	if (span->flags & MODEL_OPEN)
		eventfile_say(r, " open");
	eventfile_labels(r, span->labels, span->nlabels);
	return 0;
}

static inline int eventfile_take_event(void *context, const struct model_event *event)
{
	struct eventfile_read *r = context;

	eventfile_say(r, "%u ", event->thread->tid);
	eventfile_path(r, event->path);
	eventfile_say(r, " %" PRIu64, event->time_ns - r->start_ns);
	if (event->has_value)
		eventfile_say(r, " value %" PRId64, event->value);
	eventfile_labels(r, event->labels, event->nlabels);
	return 0;
}

static inline void eventfile_totals(struct eventfile_read *r, const struct profile *p)
{
	for (size_t i = 0; i < p->nthreads; i++) {
		const struct model_thread *t = p->threads[i].thread;

		r->total_ns += p->threads[i].end_ns - t->start_ns;
		eventfile_say(r, "thread %u/%u '%s' %" PRIu64 "-%" PRIu64 " inside %" PRIu64 "\n",
			      t->pid, t->tid, t->comm, t->start_ns - r->start_ns,
			      p->threads[i].end_ns - r->start_ns, p->threads[i].inside_ns);
	}
	for (size_t i = 0; i < p->nlosses; i++)
		if (p->losses[i].count)
			eventfile_say(r, "loss %s %" PRIu64 "\n", p->losses[i].name,
				      p->losses[i].count);
}

static inline void eventfile_replay(struct eventfile_read *r, const char *path)
{
	const struct trace_sink sink = {
		.context = r, .span = eventfile_take_span, .event = eventfile_take_event};
	struct replay *replay = NULL;
	struct profile profile = {0};

	r->err = replay_open(path, &replay);
	if (r->err)
		return;
	r->start_ns = replay_info(replay)->start_ns;
	r->err = trace_add_sink(replay_trace(replay), &sink);
	if (!r->err)
		r->err = replay_run(replay, NULL);
	if (!r->err)
		r->err = replay_profile(replay, &profile);
	if (!r->err)
		eventfile_totals(r, &profile);
	r->finished = replay_info(replay)->finished;
	if (replay_info(replay)->target)
		snprintf(r->target, sizeof(r->target), "%s", replay_info(replay)->target);
	if (replay_info(replay)->counter)
		snprintf(r->counter, sizeof(r->counter), "%s", replay_info(replay)->counter);
	replay_free(&replay);
}

static inline void eventfile_read_path(struct eventfile_read *r, const char *path)
{
	*r = (struct eventfile_read){0};
	text_add_str(&r->text, "");
	captured_begin(&r->said, STDERR_FILENO);
	eventfile_replay(r, path);
	captured_end(&r->said);
}

static inline void eventfile_read_bytes(struct eventfile_read *r, const void *bytes, size_t size)
{
	int fd = memfd_create("eventfile", MFD_CLOEXEC);
	char path[32];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	eventfile_read_path(r, path);
	close(fd);
}

static inline void eventfile_read_end(struct eventfile_read *r)
{
	text_buf_free(&r->text);
}

#endif
