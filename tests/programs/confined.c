/* SPDX-License-Identifier: MIT */
/* Allocates in spans under seccomp, and says what that was: see ledger.h.
 *
 *   confined filter N    under a filter from the begin
 *   confined strict N    in the strict mode
 *   confined thread N    on a line from stdin, a thread that confines itself, among others that do not
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ledger.h"

static unsigned long n = 1000;

static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;

/* Nothing but what an allocator and the end of a thread need; anything else is death. */
static void confine(void)
{
	static const int allowed[] = {SYS_write,   SYS_exit_group, SYS_exit,          SYS_brk,
				      SYS_mmap,    SYS_munmap,     SYS_mremap,        SYS_futex,
				      SYS_madvise, SYS_mprotect,   SYS_rt_sigprocmask};
	struct sock_filter code[2 * sizeof(allowed) / sizeof(allowed[0]) + 2];
	struct sock_fprog program = {.filter = code};
	unsigned i;

	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							   offsetof(struct seccomp_data, nr));
	for (i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (unsigned)allowed[i], 0, 1);
		code[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(4);
}

/* A first block, so that the allocator has asked the kernel what it wants to know, and has room. */
static void warm_up(void)
{
	do_free(do_malloc(100000));
	do_free(do_malloc(1));
}

static void mode_filter(void)
{
	warm_up();
	confine();
	do_many(n);
	do_hold(n);
	say(&first);
	_exit(0);
}

/* read, write and the end of the thread are all that is allowed. */
static void mode_strict(void)
{
	warm_up();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(4);
	do_many(n);
	do_hold(n);
	say(&first);
	syscall(SYS_exit, 0);
}

/* A thread that confines itself while others do not. */
static void *thread_confined(void *block)
{
	void *mine;

	warm_up();
	mine = do_malloc(100);
	confine();
	SPAN_ENTER(allocs, second);
	/* What was known of both is over. */
	got(&second, do_realloc(block, 200), 200);
	got(&second, do_realloc(mine, 300), 300);
	for (unsigned long i = 0; i < n; i++)
		if (!got(&second, do_malloc(i % 50), i % 50) ||
		    (i % 10 == 0 && !got(&second, do_calloc(3, 5), 15)))
			_exit(4);
	SPAN_EXIT(allocs, second);
	return NULL;
}

static void mode_thread(void)
{
	pthread_t id;
	char line;
	void *block;

	if (write(1, "ready\n", 6) != 6 || read(0, &line, 1) != 1)
		_exit(4);
	do_hold(n);
	SPAN_ENTER(allocs, first);
	block = got(&first, do_malloc(40), 40);
	SPAN_EXIT(allocs, first);
	if (pthread_create(&id, NULL, thread_confined, block))
		_exit(4);
	pthread_join(id, NULL);
	gone(&first, 40);
	do_hold(n);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc > 2)
		n = strtoul(argv[2], NULL, 10);
	if (strcmp(mode, "filter") == 0)
		mode_filter();
	else if (strcmp(mode, "strict") == 0)
		mode_strict();
	else if (strcmp(mode, "thread") == 0)
		mode_thread();
	else
		return 2;
	say(&first);
	say(&second);
	return 0;
}
