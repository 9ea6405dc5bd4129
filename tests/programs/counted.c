/* SPDX-License-Identifier: MIT */
/* Numbered spans on demand, so that a test can tell whether any is missing between those it finds. A line of input says
 * what to do; "done NUMBER", the number of the next span, answers it.
 *
 *	run N       N spans count:step, each with an event count:tick in it whose value is its number
 *	forever US  the same until the next line, with a pause of US microseconds after every hundred
 *	long MS     a span count:long that takes MS milliseconds
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spantrace.h"

static long next;

static void step(void)
{
	SPAN_SCOPE(count, step);
	SPAN_EVENT_VALUE(count, tick, next);
	next++;
}

static void take_long(long ms)
{
	SPAN_SCOPE(count, long);
	usleep((useconds_t)ms * 1000);
}

static void forever(long us)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	while (poll(&input, 1, 0) == 0) {
		for (int i = 0; i < 100; i++)
			step();
		if (us)
			usleep((useconds_t)us);
	}
}

int main(void)
{
	char line[64];

	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		char *value = strchr(line, ' ');
		long n = value ? atol(value + 1) : 0;

		if (!strncmp(line, "run", 3))
			for (long i = 0; i < n; i++)
				step();
		else if (!strncmp(line, "forever", 7))
			forever(n);
		else if (!strncmp(line, "long", 4))
			take_long(n);
		printf("done %ld\n", next);
		fflush(stdout);
	}
	return 0;
}
