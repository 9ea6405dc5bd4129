/* SPDX-License-Identifier: MIT */
/* Markers as other projects write them, without spantrace.h: texts and numbers of every size in their arguments, and
 * rules for them in tests/live/named.rules.
 *
 *   named N             N times each
 *   named cold N        texts on pages that are not there
 *   named many N        N different names
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sys/sdt.h>

#define NOINLINE __attribute__((noipa)) /* arguments come as the ABI says, not as constants */
#define PAGE     4096

NOINLINE static void call(const char *class, const char *method, int line)
{
	DTRACE_PROBE3(named, call__start, class, method, line);
	__asm__ volatile("" ::: "memory");
	DTRACE_PROBE(named, call__done);
}

NOINLINE static void nest(const char *class, int depth)
{
	DTRACE_PROBE3(named, call__start, class, "nest", depth);
	if (depth > 1)
		nest(class, depth - 1);
	DTRACE_PROBE(named, call__done);
}

NOINLINE static void slice(const char *text, size_t length)
{
	DTRACE_PROBE2(named, slice__start, text, length);
	DTRACE_PROBE(named, slice__done);
}

NOINLINE static void numbers(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
			     int64_t g, uint64_t h)
{
	DTRACE_PROBE4(named, small__start, a, b, c, d);
	DTRACE_PROBE(named, small__done);
	DTRACE_PROBE4(named, large__start, e, f, g, h);
	DTRACE_PROBE(named, large__done);
	/* Immediates, which gcc prints as if all were signed. */
	DTRACE_PROBE4(named, fixed__start, (uint8_t)200, (int8_t)-3, (uint32_t)4000000000u,
		      (int64_t)-5);
	DTRACE_PROBE(named, fixed__done);
}

struct item {
	int32_t id;
	int16_t kind;
	const char *name;
};

NOINLINE static void indexed(const struct item *items, long i)
{
	/* As a memory operand: base, index, scale and displacement. */
	__asm__ volatile("" : "+r"(items), "+r"(i));
	DTRACE_PROBE2(named, item__start, items[i].id, items[i].kind);
	DTRACE_PROBE(named, item__done);
}

int counter = 7; /* exported, for 4@counter(%rip) */

NOINLINE static void real(double x, int n)
{
	DTRACE_PROBE2(named, real__start, x, n);
	DTRACE_PROBE(named, real__done);
}

NOINLINE static void task(long id, const char *name)
{
	DTRACE_PROBE2(named, task__open, id, name);
	DTRACE_PROBE1(named, hit, name);
	DTRACE_PROBE2(named, task__shut, name, id);
}

static void all(int n)
{
	static const struct item items[] = {{-7, 70, "x"}, {8, -80, "y"}};
	char text[32], huge[1000];

	memset(huge, 'h', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "class%d", i % 3);
		call(text, i % 2 ? "odd" : "even", i % 5);
		call("", "function", 1);
		call(NULL, "null", 1);
		call("class", NULL, 1);
		call(NULL, "", 1);
		call(huge, "tail", 1);
		call((const char *)16, "bad", 1);
		nest("deep", 3);
		slice("abcdef", (size_t)(i % 3));
		slice(huge, 999);
		numbers(-1, 200, -2, 60000, -3, 4000000000u, -4, 1ull << 40);
		indexed(items, i % 2);
		real(1.5, i % 2);
		task(i + 1, i % 2 ? "red" : "blue");
	}
}

static const char *page_with(int fd, const char *text, size_t at)
{
	char bytes[2 * PAGE] = "";
	void *map;

	strcpy(bytes + at, text);
	if (pwrite(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		exit(1);
	map = mmap(NULL, sizeof(bytes), PROT_READ, MAP_SHARED, fd, 0);
	return map == MAP_FAILED ? NULL : (const char *)map + at;
}

/* Each text in a mapping of its own, which nobody has touched. */
static void cold(int n)
{
	for (int i = 0; i < n; i++) {
		FILE *one = tmpfile(), *two = tmpfile();

		if (!one || !two)
			exit(1);
		call(page_with(fileno(one), "cold", 64), "page", 1);
		/* Begins in one page and ends in the next. */
		call(page_with(fileno(two), "crossing", PAGE - 4), "pages", 1);
		fclose(one);
		fclose(two);
	}
}

static void many(int n)
{
	char text[32];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "name%d", i);
		call(text, NULL, 1);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[argc - 1]) : 60;

	if (argc > 2 && !strcmp(argv[1], "cold"))
		cold(n);
	else if (argc > 2 && !strcmp(argv[1], "many"))
		many(n);
	else
		all(n);
	return counter == 7 ? 0 : 1;
}
