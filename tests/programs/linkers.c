// SPDX-License-Identifier: MIT
/* Markers of <sys/sdt.h> in every place and with every kind of argument that a linker or a
 * compiler may treat in its own way; built in many ways by tests/live/test_linkers.sh. Runs to
 * its end and says nothing.
 *
 *   -DSEMAPHORES    with semaphores
 *   -DALL_USED      without the function that nothing calls
 */
#ifdef SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
#define SEMAPHORE(name) \
	__extension__ unsigned short linkers_##name##_semaphore __attribute__((section(".probes")))
#else
#define SEMAPHORE(name) extern int linkers_##name##_unused
#endif
#include <sys/sdt.h>

SEMAPHORE(start);
SEMAPHORE(loop);
SEMAPHORE(twice);
SEMAPHORE(mixed);
SEMAPHORE(global);
SEMAPHORE(indexed);
SEMAPHORE(constants);
SEMAPHORE(unused);
SEMAPHORE(end);

#define NOINLINE __attribute__((noinline))

int linkers_counter = 5;
long linkers_table[16] = {1, 2, 3};

/* One name, several sites. */
static inline __attribute__((always_inline)) void twice(long value)
{
	DTRACE_PROBE1(linkers, twice, value);
}

NOINLINE int linkers_mixed(unsigned char a, short b, unsigned c, const char *d, long e, int f)
{
	DTRACE_PROBE6(linkers, mixed, a, b, c, d, e, f);
	twice(e);
	return a + b + f + d[0];
}

NOINLINE long linkers_globals(int index)
{
	DTRACE_PROBE1(linkers, global, linkers_counter);
	DTRACE_PROBE1(linkers, indexed, linkers_table[index & 15]);
	return linkers_table[index & 15];
}

#ifndef ALL_USED
/* Nothing calls it: --gc-sections may take the code and leave the note. */
__attribute__((visibility("hidden"))) void linkers_unused(long value)
{
	DTRACE_PROBE1(linkers, unused, value);
}
#endif

int main(int argc, char **argv)
{
	long sum = 0;

	DTRACE_PROBE(linkers, start);
	DTRACE_PROBE3(linkers, constants, (unsigned char)200, -5, 4000000000u);
	for (int i = 0; i < 3; i++) {
		DTRACE_PROBE2(linkers, loop, i, sum);
		sum += linkers_mixed((unsigned char)i, (short)-i, 7, argv[0], sum, argc);
		sum += linkers_globals(i + argc);
	}
	twice(sum);
	DTRACE_PROBE1(linkers, end, sum);
	return 0;
}
