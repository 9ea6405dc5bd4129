/* SPDX-License-Identifier: MIT */
/* For the tests of what is pushed to servers: COUNT spans, each with a number of its own, and requests that carry the ids of
 * a trace.
 *
 *	pushed COUNT    then a line of input is waited for, where one is to come: "wait" as a second word
 *
 *	pushed:request  labels trace_id (32 hex digits), span_id (16), shard (a number)
 *	  pushed:part   label: number
 *
 *	pushed COUNT tree    trees of spans below those with ids, and one part outside of them
 *
 *	pushed:call         labels trace_id, span_id: texts
 *	  pushed:part
 *	  pushed:query      label span_id: a number of its own
 *	    pushed:part
 *	  pushed:job        async; a thread works on it, which has no other span
 *	    pushed:part
 *	  pushed:task       async, made outside, under the job by name; entered here
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spantrace.h>

static void part(long number)
{
	SPAN_SCOPE_ARGS(pushed, part, number, number);
}

static void request(long number)
{
	char trace[33], span[17];

	/* A program that has odd ids: the last one is none. */
	snprintf(trace, sizeof(trace), "%032lX", number + 0xabc);
	snprintf(span, sizeof(span), number % 4 == 3 ? "no id" : "%016lx", number);
	{
		SPAN_SCOPE_ARGS(pushed, request, trace_id, trace, span_id, span, shard, number % 2);
		part(number);
	}
}

static void *work(void *number)
{
	long id = (long)number;

	SPAN_ENTER_ID(pushed, job, id);
	part(id);
	SPAN_EXIT_ID(pushed, job, id);
	/* Of the job, wherever it is made. */
	SPAN_NEW_UNDER(pushed, task, id, id);
	return NULL;
}

static void tree(long number)
{
	long query = number + 0x1000, job = number + 1;
	char trace[33], span[17];
	pthread_t thread;

	snprintf(trace, sizeof(trace), "%032lx", number + 0xabc);
	snprintf(span, sizeof(span), "%016lx", number + 0x100);
	SPAN_SCOPE_ARGS(pushed, call, trace_id, trace, span_id, span);
	part(number);
	{
		SPAN_SCOPE_ARGS(pushed, query, span_id, query);
		part(number);
	}
	SPAN_NEW(pushed, job, job);
	if (pthread_create(&thread, NULL, work, (void *)job))
		abort();
	pthread_join(thread, NULL);
	SPAN_ENTER_ID(pushed, task, job);
	SPAN_EXIT_ID(pushed, task, job);
	SPAN_CLOSE(pushed, task, job);
	SPAN_CLOSE(pushed, job, job);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 8;
	char line[16];

	if (argc > 2 && strcmp(argv[2], "tree") == 0) {
		for (long i = 0; i < count; i++)
			tree(i);
		part(count);
		return 0;
	}
	for (long i = 0; i < count; i++)
		request(i);
	if (argc > 2 && strcmp(argv[2], "wait") == 0) {
		puts("done");
		fflush(stdout);
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		for (long i = 0; i < count; i++)
			request(i);
	}
	return 0;
}
