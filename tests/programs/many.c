/* SPDX-License-Identifier: MIT */
/* Many of something, with counts known by construction.
 *
 *   many threads N SPANS     N threads one after another, each SPANS times many:work and in it many:step
 *   many crowd N SPANS       the same on N threads that all live until the last of them is done
 *   many processes N SPANS   the same in N children that all live until the last of them is done
 *   many alive N SPANS       N async spans many:job alive at one time, of which another thread works on each SPANS times;
 *                            of every tenth a second one begins before, every seventh is never closed
 *   many paths DEPTH TIMES   18 + 18² + … + 18^DEPTH paths, each spanned TIMES
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spantrace.h>

static long spans;

static void *worker(void *together)
{
	long i;

	for (i = 0; i < spans; i++) {
		SPAN_ENTER(many, work);
		SPAN_ENTER(many, step);
		SPAN_EXIT(many, step);
		SPAN_EXIT(many, work);
	}
	if (together)
		pthread_barrier_wait(together);
	return NULL;
}

static int truth(long n)
{
	printf("truth many:work %ld\ntruth many:work;many:step %ld\n", n * spans, n * spans);
	return 0;
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
	return truth(n);
}

static int crowd(long n)
{
	pthread_t *all = calloc((size_t)n, sizeof(*all));
	pthread_barrier_t together;
	pthread_attr_t small;
	long i;

	if (!all)
		return 1;
	pthread_barrier_init(&together, NULL, (unsigned)n);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 4 * (size_t)PTHREAD_STACK_MIN);
	for (i = 0; i < n; i++) {
		if (pthread_create(&all[i], &small, worker, &together)) {
			fprintf(stderr, "many: no more than %ld threads here\n", i);
			exit(1);
		}
	}
	for (i = 0; i < n; i++)
		pthread_join(all[i], NULL);
	free(all);
	return truth(n);
}

static int child(const int done[2], const int end[2])
{
	char byte = 0;

	close(end[1]);
	worker(NULL);
	/* Until the parent lets go. */
	return write(done[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 0;
}

static int processes(long n)
{
	int done[2], end[2], status, failed = 0;
	char byte;
	long i;

	if (pipe(done) || pipe(end))
		return 1;
	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child(done, end));
		if (pid < 0) {
			fprintf(stderr, "many: no more than %ld processes here\n", i);
			exit(1); /* and those that wait find the pipe closed */
		}
	}
	for (i = 0; i < n; i++)
		failed |= read(done[0], &byte, 1) != 1;
	close(end[1]);
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : truth(n);
}

#define JOB(i) ((i)*4096)

static void *work_on_jobs(void *n)
{
	long i, k;

	for (k = 0; k < spans; k++) {
		for (i = 0; i < *(long *)n; i++) {
			SPAN_ENTER_ID(many, job, JOB(i));
			SPAN_EXIT_ID(many, job, JOB(i));
		}
	}
	return NULL;
}

static int alive(long n)
{
	long i, again = 0, open = 0;
	pthread_t other;

	for (i = 0; i < n; i++) {
		SPAN_NEW(many, job, JOB(i));
		if (i % 10 == 0) {
			SPAN_NEW(many, job, JOB(i));
			again++;
		}
	}
	if (pthread_create(&other, NULL, work_on_jobs, &n))
		return 1;
	pthread_join(other, NULL);
	for (i = 0; i < n; i++) {
		if (i % 7 == 0)
			open++;
		else
			SPAN_CLOSE(many, job, JOB(i));
	}
	printf("truth count %ld abandoned %ld open %ld\n", n - open + again, again, open);
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

static int paths(long depth)
{
	long made = 0, i;

	for (i = 0; i < spans; i++)
		made = walk(depth);
	printf("paths %ld\n", made);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4) {
		spans = atol(argv[3]);
		if (!strcmp(argv[1], "threads"))
			return threads(atol(argv[2]));
		if (!strcmp(argv[1], "crowd"))
			return crowd(atol(argv[2]));
		if (!strcmp(argv[1], "processes"))
			return processes(atol(argv[2]));
		if (!strcmp(argv[1], "alive"))
			return alive(atol(argv[2]));
		if (!strcmp(argv[1], "paths"))
			return paths(atol(argv[2]));
	}
	fprintf(stderr,
		"usage: many threads|crowd|processes|alive N SPANS | many paths DEPTH TIMES\n");
	return 2;
}
