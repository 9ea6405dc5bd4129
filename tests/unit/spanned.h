/* SPDX-License-Identifier: MIT */
/* A few single spans for formats that take them, beside the sample profile. Comes behind <cmocka.h>.
 *
 *   web-100     outer 1.0 s to 5.0 s (2 s of it on the CPU), inner in it 2.0 s to 3.0 s, inner 4.0 s to 4.5 s
 *   worker-101  outer 2.0 s to 3.0 s
 *   job GET /cart, made by the worker, 2.0 s to 5.0 s
 */
#ifndef SPANTRACE_TEST_SPANNED_H
#define SPANTRACE_TEST_SPANNED_H

#include "sample_profile.h"

#define SPANNED_MS 1000000ull

static inline void spanned_add(struct exporter *e, const struct model_thread *thread,
			       const struct model_path *path, u64 start_ms, u64 end_ms, u64 cpu_ms)
{
	struct model_span span = {.thread = thread, .path = path};

	span.start_ns = start_ms * SPANNED_MS;
	span.end_ns = end_ms * SPANNED_MS;
	span.busy_ns = span.self_ns = span.end_ns - span.start_ns;
	span.total.cpu_ns = cpu_ms * SPANNED_MS;
	span.flags = path->def->kind == MODEL_ASYNC_SPAN ? MODEL_ASYNC : 0;
	assert_int_equal(e->ops->span(e, &span), 0);
}

/* What format NAME makes of S and these spans (none: without them), NUL-terminated, to be freed. */
static inline char *spanned_export(struct sample *s, const char *name,
				   const struct export_options *options, bool spans)
{
	struct exporter e = {.ops = exporter_by_name(name), .options = *options};
	char *text = NULL;
	size_t size;

	assert_non_null(e.ops);
	e.out = open_memstream(&text, &size);
	assert_non_null(e.out);
	assert_int_equal(e.ops->begin(&e, &s->profile), 0);
	if (spans) {
		spanned_add(&e, &s->web, &s->paths[SAMPLE_INNER_PATH], 2000, 3000, 500);
		spanned_add(&e, &s->web, &s->paths[SAMPLE_INNER_PATH], 4000, 4500, 0);
		spanned_add(&e, &s->web, &s->paths[SAMPLE_OUTER_PATH], 1000, 5000, 2000);
		spanned_add(&e, &s->worker, &s->paths[SAMPLE_OUTER_PATH], 2000, 3000, 1000);
		spanned_add(&e, &s->worker, &s->paths[SAMPLE_JOB_PATH], 2000, 5000, 250);
	}
	assert_int_equal(e.ops->finish(&e, &s->profile), 0);
	e.ops->free(&e);
	assert_int_equal(fclose(e.out), 0);
	return text;
}

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in it", part);
}

static inline size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		n++;
	return n;
}

#endif
