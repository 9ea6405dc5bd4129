/* SPDX-License-Identifier: MIT */
/* Markers straight from <sys/sdt.h>, with names that no convention pairs: what a user names with --span.
 *
 *   odd N
 */
#include <stdlib.h>
#include <sys/sdt.h>

static volatile int sink;

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;

	for (int i = 0; i < n; i++) {
		int value = i - 50;

		DTRACE_PROBE(odd, go);
		sink++;
		DTRACE_PROBE1(odd, note, value);
		DTRACE_PROBE1(odd, plain, &value);
		if (i % 3)
			DTRACE_PROBE(odd, halt);
		else
			DTRACE_PROBE(odd, fail);
	}
	/* Three open at a time, closed in the order they were opened. */
	for (long i = 0; i < n + 2; i++) {
		if (i < n)
			DTRACE_PROBE2(odd, open, "deal", i);
		sink++;
		if (i >= 2)
			DTRACE_PROBE2(odd, shut, "deal", i - 2);
	}
	return 0;
}
