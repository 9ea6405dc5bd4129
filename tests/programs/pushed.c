/* SPDX-License-Identifier: MIT */
/* For the tests of what is pushed to servers: COUNT spans, each with a number of its own, and requests that carry the ids of
 * a trace.
 *
 *	pushed COUNT    then a line of input is waited for, where one is to come: "wait" as a second word
 *
 *	pushed:request  labels trace_id (32 hex digits), span_id (16), shard (a number)
 *	  pushed:part   label: number
 */
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

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 8;
	char line[16];

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
