/* SPDX-License-Identifier: MIT */
/* Tells of samples of its allocations by the markers of otel_memory, while somebody listens: N blocks of 48 bytes, each for 100
 * of them, of which every second is freed. As a library the same by emit().
 *
 *   otel N
 * prints how many it has told of.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

#include "spantrace.h"

unsigned short otel_memory_alloc_semaphore __attribute__((section(".probes")));
unsigned short otel_memory_free_semaphore __attribute__((section(".probes")));

int emit(int n);

int emit(int n)
{
	int told = 0;

	SPAN_ENTER(otel, work);
	for (int i = 0; i < n; i++) {
		void *volatile block = malloc(48);

		if (otel_memory_alloc_semaphore) {
			STAP_PROBE3(otel_memory, alloc, block, 48, 4800ul);
			told++;
		}
		if (i % 2)
			continue;
		if (otel_memory_free_semaphore)
			STAP_PROBE1(otel_memory, free, block);
		free(block);
	}
	SPAN_EXIT(otel, work);
	return told;
}

int main(int argc, char **argv)
{
	printf("told %d\n", emit(argc > 1 ? atoi(argv[1]) : 1));
	return 0;
}
