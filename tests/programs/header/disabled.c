/* SPDX-License-Identifier: MIT */
/* Compiled out: no marker, no note, no warning, nothing evaluated. Compiled as C and as C++. */
#define SPANTRACE_DISABLE
#include <spantrace.h>

static int evaluated;

static int count(int x)
{
	evaluated++;
	return x;
}

int main(int argc, char **argv)
{
	int only_here = argc, id = argc, parent = argc, value = argc;
	const char *text = "text";

	SPAN_SCOPE(app, block);
	SPAN_SCOPE(app, block);
	SPAN_SCOPE_ARGS(app, labelled, n, only_here, text, text);

	(void)argv;
	SPAN_ENTER(app, run);
	SPAN_ENTER_ARGS(app, run, n, count(1));
	SPAN_NEW(app, job, id);
	SPAN_NEW_UNDER(app, job, id, parent);
	SPAN_NEW_ARGS(app, job, count(1), a, 1, b, 2, c, 3, d, count(4));
	SPAN_ENTER_ID(app, job, count(1));
	SPAN_EXIT_ID(app, job, count(1));
	SPAN_CLOSE(app, job, count(1));
	SPAN_EVENT(app, tick);
	SPAN_EVENT_VALUE(app, tick, value);
	SPAN_EVENT_ARGS(app, tick, a, count(1), b, text, c, 3);
	SPAN_EXIT(app, run);
	return evaluated;
}
