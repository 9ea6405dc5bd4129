/* SPDX-License-Identifier: MIT */
/* Allocates what it knows, in spans, and says at its end what that was: see ledger.h.
 *
 *   allocs MODE [N [M]]
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

static unsigned long n = 1000, m = 8;

static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;

/* --- every way to a block ---------------------------------------------------------------------------- */

static void each_kind(struct ledger *l)
{
	void *block;
	unsigned long i;

	for (i = 0; i < n; i++) {
		drop(l, got(l, do_malloc(100 + i % 7), 100 + i % 7), 100 + i % 7);
		drop(l, got(l, do_calloc(3, 50), 150), 150);
		drop(l, got(l, do_realloc(NULL, 33), 33), 33);
		drop(l, got(l, do_reallocarray(NULL, 5, 8), 40), 40);
		drop(l, got(l, aligned_alloc(64, 128), 128), 128);
		drop(l, got(l, memalign(256, 300), 300), 300);
		drop(l, got(l, valloc(77), 77), 77);
		/* With a small and with a large alignment: glibc goes two ways. */
		block = NULL;
		if (posix_memalign(&block, 16, 60) == 0)
			drop(l, got(l, block, 60), 60);
		if (posix_memalign(&block, 4096, 61) == 0)
			drop(l, got(l, block, 61), 61);
		drop(l, got(l, strdup("eleven char"), 12), 12);
		drop(l, got(l, do_malloc(0), 0), 0);
		do_free(NULL);
	}
	/* One of each is kept. */
	got(l, do_malloc(1000), 1000);
	got(l, do_calloc(10, 200), 2000);
	got(l, aligned_alloc(64, 3008), 3008);
	if (posix_memalign(&block, 64, 4000) == 0)
		got(l, block, 4000);
}

static void mode_kinds(void)
{
	SPAN_ENTER(allocs, first);
	each_kind(&first);
	SPAN_EXIT(allocs, first);
}

/* --- realloc ----------------------------------------------------------------------------------------- */

static void *resize(struct ledger *l, void *block, unsigned long was, unsigned long bytes)
{
	void *moved = do_realloc(block, bytes);

	/* With 0 bytes some free and give nothing, others give a block of nothing. */
	if (!moved && bytes)
		return block;
	if (block)
		gone(l, was);
	return got(l, moved, bytes);
}

static void mode_realloc(void)
{
	unsigned long i;
	void *block;

	for (i = 0; i < n; i++) {
		SPAN_ENTER(allocs, first);
		block = resize(&first, NULL, 0, 10);
		block = resize(&first, block, 10, 1000);
		block = resize(&first, block, 1000, 100000);
		block = resize(&first, block, 100000, 20);
		/* Nobody has that much. */
		if (resize(&first, block, 20, PTRDIFF_MAX - 4096) != block)
			_exit(4);
		if (do_realloc(NULL, PTRDIFF_MAX - 4096) ||
		    do_reallocarray(block, SIZE_MAX / 2, 16))
			_exit(4);
		SPAN_EXIT(allocs, first);
		/* Another span's: it is its memory from now on. */
		SPAN_ENTER(allocs, second);
		gone(&first, 20);
		block = do_reallocarray(block, 30, 10);
		got(&second, block, 300);
		block = resize(&second, block, 300, 0);
		if (block)
			drop(&second, block, 0);
		SPAN_EXIT(allocs, second);
	}
}

/* --- what fails -------------------------------------------------------------------------------------- */

static void mode_fail(void)
{
	struct rlimit limit = {256u << 20, 256u << 20};
	unsigned long i;
	void *block = NULL;

	setrlimit(RLIMIT_AS, &limit);
	SPAN_ENTER(allocs, first);
	for (i = 0; i < n; i++) {
		/* Refused by the kernel … */
		if (do_malloc(512u << 20) || do_calloc(512, 1u << 20) ||
		    aligned_alloc(4096, 512u << 20))
			_exit(4);
		/* … and by the allocator. */
		if (do_malloc(SIZE_MAX - 100) || do_calloc(SIZE_MAX / 2, 3) ||
		    posix_memalign(&block, 3, 100) == 0)
			_exit(4);
		drop(&first, got(&first, do_malloc(2u << 20), 2u << 20), 2u << 20);
	}
	SPAN_EXIT(allocs, first);
}

/* --- threads: each frees what the one before it has allocated ------------------------------------------ */

#define THREADS_MAX 256
#define EACH_MAX    4096

static void *blocks[THREADS_MAX][EACH_MAX];
static pthread_barrier_t barrier;

static void *thread_main(void *arg)
{
	unsigned long me = (unsigned long)arg, other = (me + 1) % m, i;

	SPAN_ENTER(allocs, first);
	for (i = 0; i < n; i++)
		blocks[me][i] = do_malloc(me + 1);
	SPAN_EXIT(allocs, first);
	pthread_barrier_wait(&barrier);
	SPAN_ENTER(allocs, second);
	for (i = 0; i < n; i += 2)
		do_free(blocks[other][i]);
	SPAN_EXIT(allocs, second);
	pthread_barrier_wait(&barrier);
	/* A second time in the same row, after others have freed from it. */
	SPAN_ENTER(allocs, first);
	for (i = 0; i < n; i++)
		do_free(do_malloc(7));
	SPAN_EXIT(allocs, first);
	return NULL;
}

static void mode_threads(void)
{
	pthread_t ids[THREADS_MAX];
	unsigned long t, i;

	if (m > THREADS_MAX || n > EACH_MAX || n % 2)
		_exit(2);
	pthread_barrier_init(&barrier, NULL, (unsigned)m);
	for (t = 0; t < m; t++)
		if (pthread_create(&ids[t], NULL, thread_main, (void *)t))
			_exit(4);
	for (t = 0; t < m; t++)
		pthread_join(ids[t], NULL);
	for (t = 0; t < m; t++)
		for (i = 0; i < n; i++) {
			got(&first, &first, t + 1);
			got(&first, &first, 7);
			gone(&first, 7);
			if (i % 2 == 0)
				gone(&first, t + 1);
		}
}

/* A span's memory long after it, and the last of it freed outside every span, by another thread than allocated it. */
static void *thread_holds(void *arg)
{
	unsigned long i;

	SPAN_ENTER(allocs, first);
	for (i = 0; i < EACH_MAX; i++)
		blocks[0][i] = got(&first, do_malloc(100), 100);
	SPAN_EXIT(allocs, first);
	return arg;
}

static void mode_later(void)
{
	unsigned long round, i;
	pthread_t id;

	for (round = 0; round < n; round++) {
		if (pthread_create(&id, NULL, thread_holds, NULL))
			_exit(4);
		pthread_join(id, NULL);
		for (i = 0; i < EACH_MAX; i++)
			drop(&first, blocks[0][i], 100);
	}
}

/* --- an allocator of its own, which leaves by longjmp at every third call ------------------------------- */

static jmp_buf out;
static char pool[1 << 16] __attribute__((aligned(16)));
static size_t pool_used;
static unsigned long pool_calls;

void *pool_malloc(size_t bytes);
void pool_free(void *block);

__attribute__((noinline)) void *pool_malloc(size_t bytes)
{
	void *block = pool + pool_used;

	if (++pool_calls % 3 == 0)
		longjmp(out, 1);
	pool_used = (pool_used + bytes + 15) / 16 * 16 % (sizeof(pool) / 2);
	return block;
}

__attribute__((noinline)) void pool_free(void *block)
{
	__asm__ volatile("" ::"r"(block) : "memory");
}

/* The same call at different depths of the stack. */
__attribute__((noinline)) static void *deeper(int depth, size_t bytes)
{
	volatile char room[64];
	void *block;

	room[0] = (char)depth;
	block = depth ? deeper(depth - 1, bytes) : pool_malloc(bytes);
	room[1] = room[0];
	return block;
}

static void mode_longjmp(void)
{
	volatile unsigned long i;

	SPAN_ENTER(allocs, first);
	for (i = 0; i < n; i++) {
		if (setjmp(out))
			continue;
		got(&first, deeper((int)(i % 5), 48), 48);
	}
	SPAN_EXIT(allocs, first);
}

/* All that every allocator is put through, in one trace: with limited memory at last. */
static void mode_all(void)
{
	unsigned long rounds = n;

	mode_kinds();
	mode_realloc();
	n = 10 * rounds;
	mode_threads();
	n = rounds;
	mode_fail();
}

/* --- mappings --------------------------------------------------------------------------------------------- */

static void mode_maps(void)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		char *area;

		SPAN_ENTER(allocs, first);
		area = mmap(NULL, 10000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mmap(NULL, 1ul << 62, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED)
			_exit(4);
		area = mremap(area, 10000, 50000, MREMAP_MAYMOVE);
		SPAN_EXIT(allocs, first);
		SPAN_ENTER(allocs, second);
		munmap(area, 50000);
		if (munmap((void *)1, 4096) == 0)
			_exit(4);
		SPAN_EXIT(allocs, second);
	}
}

/* --- processes ---------------------------------------------------------------------------------------------- */

/* The child allocates when it reads a line, which the test writes when its probes stand. */
static void mode_fork(void)
{
	char line;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (read(0, &line, 1) != 1)
			_exit(4);
		do_hold(n);
		say(&first);
		_exit(0);
	}
	dprintf(1, "child %d\n", pid);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(4);
}

static void mode_exec(char **argv, const char *mode)
{
	char times[16];

	do_hold(n);
	say(&first);
	snprintf(times, sizeof(times), "%lu", n);
	execl("/proc/self/exe", argv[0], mode, times, NULL);
	_exit(4);
}

/* The same by a thread that is not the leader, which it becomes. The kernel forgets the leader's probes: the new image waits
 * for a line. */
static void *thread_execs(void *argv)
{
	mode_exec(argv, "attach");
	return NULL;
}

static void mode_thread_exec(char **argv)
{
	pthread_t id;

	if (pthread_create(&id, NULL, thread_execs, argv))
		_exit(4);
	pthread_join(id, NULL);
}

/* The leader ends, its threads go on, and allocate. */
static void *thread_left(void *leader)
{
	char line;

	pthread_join(*(pthread_t *)leader, NULL);
	/* Attached to by now, or not before a second line. */
	if (m && (write(1, "alone\n", 6) != 6 || read(0, &line, 1) != 1))
		_exit(4);
	do_hold(n);
	say(&first);
	exit(0);
}

static void mode_leaderless(void)
{
	static pthread_t leader;
	pthread_t id;
	char line;

	if (write(1, "ready\n", 6) != 6 || read(0, &line, 1) != 1)
		_exit(4);
	leader = pthread_self();
	if (pthread_create(&id, NULL, thread_left, &leader))
		_exit(4);
	pthread_exit(NULL);
}

/* Attached to: what it has by then is nobody's, and freeing it is nothing. */
static void mode_attach(void)
{
	unsigned long i;
	char line;

	for (i = 0; i < n; i++)
		blocks[0][i % EACH_MAX] = do_malloc(64);
	if (write(1, "ready\n", 6) != 6 || read(0, &line, 1) != 1)
		_exit(4);
	SPAN_ENTER(allocs, second);
	for (i = 0; i < n && i < EACH_MAX; i++)
		do_free(blocks[0][i]);
	SPAN_EXIT(allocs, second);
	do_hold(n);
}

static void mode_many(void)
{
	do_many(n);
}

static void mode_hold(void)
{
	do_hold(n);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"all", mode_all},
		{"kinds", mode_kinds},
		{"realloc", mode_realloc},
		{"fail", mode_fail},
		{"many", mode_many},
		{"hold", mode_hold},
		{"threads", mode_threads},
		{"later", mode_later},
		{"longjmp", mode_longjmp},
		{"maps", mode_maps},
		{"fork", mode_fork},
		{"attach", mode_attach},
		{"leaderless", mode_leaderless},
	};
	size_t i;

	if (argc > 2)
		n = strtoul(argv[2], NULL, 10);
	if (argc > 3)
		m = strtoul(argv[3], NULL, 10);
	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		mode_exec(argv, "hold");
	if (argc > 1 && strcmp(argv[1], "thread-exec") == 0)
		mode_thread_exec(argv);
	for (i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		modes[i].run();
		if (first.objects)
			say(&first);
		if (second.objects)
			say(&second);
		pool_free(NULL);
		return 0;
	}
	fprintf(stderr, "usage: allocs MODE [N [M]]\n");
	return 2;
}
