/* SPDX-License-Identifier: MIT */
/* Formats for tests of who calls them: they write what they are called with, count, and fail on
 * demand. */
#ifndef SPANTRACE_TEST_SPIED_H
#define SPANTRACE_TEST_SPIED_H

#include <errno.h>
#include <stdlib.h>

#include "../../exporters/exporter.h"

static struct {
	int begins, finishes, frees;
	int begin_err, span_err, finish_err;
} spy;

static int spy_begin(struct exporter *e, const struct profile *run)
{
	(void)run;
	spy.begins++;
	if (spy.begin_err)
		return spy.begin_err;
	e->state = malloc(1);
	if (!e->state)
		return -ENOMEM;
	fputs("begin\n", e->out);
	return 0;
}

static int spy_span(struct exporter *e, const struct model_span *span)
{
	fprintf(e->out, "span %u\n", span->path->id);
	return spy.span_err;
}

static int spy_event(struct exporter *e, const struct model_event *event)
{
	fprintf(e->out, "event %u\n", event->path->id);
	return 0;
}

static int spy_finish(struct exporter *e, const struct profile *profile)
{
	spy.finishes++;
	fprintf(e->out, "%zu rows\n", profile->nrows);
	return spy.finish_err;
}

static void spy_free(struct exporter *e)
{
	spy.frees++;
	free(e->state);
}

static const struct exporter_ops singles = {
	.name = "singles",
	.begin = spy_begin,
	.span = spy_span,
	.event = spy_event,
	.finish = spy_finish,
	.free = spy_free,
};

static const struct exporter_ops totals = {
	.name = "totals",
	.finish = spy_finish,
};

static const struct exporter_ops binary = {
	.name = "blob",
	.binary = true,
	.finish = spy_finish,
};

#endif
