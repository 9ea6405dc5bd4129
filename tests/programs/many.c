/* SPDX-License-Identifier: MIT */
/* Many of something, with counts known by construction.
 *
 *   many threads N SPANS   N threads one after another, each SPANS times many:work and in it many:step
 *   many paths DEPTH       18 + 18² + … + 18^DEPTH paths, each spanned once
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spantrace.h>

static long spans;

static void *worker(void *unused)
{
	long i;

	for (i = 0; i < spans; i++) {
		SPAN_ENTER(many, work);
		SPAN_ENTER(many, step);
		SPAN_EXIT(many, step);
		SPAN_EXIT(many, work);
	}
	return unused;
}

static int threads(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, worker, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("truth many:work %ld\ntruth many:work;many:step %ld\n", n * spans, n * spans);
	return 0;
}

static long walk(long depth);

#define NODE(name)                               \
	static long name(long depth)             \
	{                                        \
		long made = 1;                   \
                                                 \
		SPAN_ENTER(many, name);          \
		if (depth > 1)                   \
			made += walk(depth - 1); \
		SPAN_EXIT(many, name);           \
		return made;                     \
	}

/* clang-format off */
NODE(a) NODE(b) NODE(c) NODE(d) NODE(e) NODE(f) NODE(g) NODE(h) NODE(i)
NODE(j) NODE(k) NODE(l) NODE(m) NODE(n) NODE(o) NODE(p) NODE(q) NODE(r)
	/* clang-format on */

	static long walk(long depth)
{
	static long (*const nodes[])(long) = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};
	size_t at;
	long made = 0;

	for (at = 0; at < sizeof(nodes) / sizeof(nodes[0]); at++)
		made += nodes[at](depth);
	return made;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "threads")) {
		spans = atol(argv[3]);
		return threads(atol(argv[2]));
	}
	if (argc == 3 && !strcmp(argv[1], "paths")) {
		printf("paths %ld\n", walk(atol(argv[2])));
		return 0;
	}
	fprintf(stderr, "usage: many threads N SPANS | many paths DEPTH\n");
	return 2;
}
