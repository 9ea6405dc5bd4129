/* SPDX-License-Identifier: MIT */
/* Spans inside spans on one thread: siblings, a loop, recursion, labels, events, and spans that are
 * left without an exit.
 *
 *	demo:request                     one for each --spans, labels: number, kind
 *	  demo:parse                     takes --work-us
 *	  demo:query
 *	    demo:row                     --rows times
 *	  demo:walk                      nests in itself --depth times
 *	  demo:reply                     by hand; the first --broken requests forget its exit
 *	  (event) demo:served            value: rows of the request
 */
#include <stdio.h>

#include "example.h"
#include "spantrace.h"

static long spans = 1000, rows = 3, depth = 3, broken, work_us = 10, wait_first;

static const struct example_option options[] = {
	{"--spans", &spans, "requests to make"},
	{"--rows", &rows, "rows of a query"},
	{"--depth", &depth, "levels of recursion"},
	{"--broken", &broken, "requests that leave a span without its exit"},
	{"--work-us", &work_us, "microseconds of work in parse"},
	{"--wait", &wait_first, "1: wait for a line of input first"},
};

static long long request_ns, parse_ns;

static void parse(void)
{
	long long start;

	SPAN_SCOPE(demo, parse);
	start = example_now();
	example_work(work_us);
	parse_ns += example_now() - start;
}

static void query(void)
{
	SPAN_SCOPE(demo, query);

	for (long i = 0; i < rows; i++) {
		SPAN_SCOPE(demo, row);
	}
}

/* Not inlined, so that each level has a frame of its own. */
__attribute__((noinline)) static void walk(long level)
{
	SPAN_SCOPE(demo, walk);

	if (level > 1)
		walk(level - 1);
	/* What follows the call keeps it from becoming a jump, which would end this frame first. */
	__asm__ __volatile__("");
}

/* Where the exit is forgotten, the tracer ends the span with the one around it. */
static void reply(long number)
{
	SPAN_ENTER(demo, reply);
	if (number < broken)
		return;
	SPAN_EXIT(demo, reply);
}

static void request(long number)
{
	static const char *const kinds[] = {"get", "put", "list"};
	long long start;

	SPAN_SCOPE_ARGS(demo, request, number, number, kind, kinds[number % 3]);
	start = example_now();
	parse();
	query();
	if (depth > 0)
		walk(depth);
	SPAN_EVENT_VALUE(demo, served, rows);
	reply(number);
	request_ns += example_now() - start;
}

static void print_truth(void)
{
	if (broken > spans)
		broken = spans;
	printf("truth demo:request %ld\n", spans);
	printf("truth demo:request;demo:parse %ld\n", spans);
	printf("truth demo:request;demo:query %ld\n", spans);
	if (rows)
		printf("truth demo:request;demo:query;demo:row %ld\n", spans * rows);
	for (long level = 1; level <= depth; level++) {
		printf("truth demo:request");
		for (long i = 0; i < level; i++)
			printf(";demo:walk");
		printf(" %ld\n", spans);
	}
	printf("truth demo:request;demo:reply %ld\n", spans);
	if (broken)
		printf("abandoned demo:request;demo:reply %ld\n", broken);
	printf("event demo:request;demo:served %ld %ld\n", spans, spans * rows);
	printf("time demo:request %lld\n", request_ns);
	printf("time demo:request;demo:parse %lld\n", parse_ns);
}

int main(int argc, char **argv)
{
	example_options(argc, argv, options, sizeof(options) / sizeof(*options));
	example_wait(wait_first);
	for (long i = 0; i < spans; i++)
		request(i);
	print_truth();
	return 0;
}
