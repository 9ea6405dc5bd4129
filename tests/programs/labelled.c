// SPDX-License-Identifier: MIT
/* Markers of spantrace.h for tests/live/test_linkers.sh. A comment behind each says what its note
 * must tell: the marker's name and the key of each argument, "-" for one that is no label. Runs
 * to its end and says nothing. */
#include <spantrace.h>

#define NOINLINE __attribute__((noinline))

NOINLINE void labelled_job(long id, const char *path, int size)
{
	SPAN_NEW(labelled, plain, id);                            /* note: plain__new - - */
	SPAN_NEW_UNDER(labelled, child, id, id);                  /* note: child__new - - */
	SPAN_NEW_ARGS(labelled, job, id, user, size, path, path); /* note: job__new - - user path */
	SPAN_ENTER_ID(labelled, job, id);                         /* note: job__enter - */
	SPAN_EXIT_ID(labelled, job, id);                          /* note: job__exit - */
	SPAN_CLOSE(labelled, job, id);                            /* note: job__close - */
}

NOINLINE void labelled_thread(const char *path, int size)
{
	SPAN_ENTER(labelled, bare);                             /* note: bare__enter */
	SPAN_EVENT(labelled, tick);                             /* note: tick */
	SPAN_EVENT_VALUE(labelled, size, size);                 /* note: size value */
	SPAN_EVENT_ARGS(labelled, hit, key, path, count, size); /* note: hit key count */
	SPAN_ENTER_ARGS(labelled, step, kind, size);            /* note: step__enter kind */
	SPAN_EXIT(labelled, step);                              /* note: step__exit */
	SPAN_EXIT(labelled, bare);                              /* note: bare__exit */
}

int main(int argc, char **argv)
{
	labelled_job(argc, argv[0], argc);
	labelled_thread(argv[0], argc);
	return 0;
}
