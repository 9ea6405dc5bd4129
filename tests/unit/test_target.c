/* SPDX-License-Identifier: MIT */
/* What may be traced, tried on processes of every kind that the test makes itself. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/target/target.h"
#include "../../user/util/grow.h"

static void check_good(pid_t pid)
{
	char why[256] = "";

	if (target_check(pid, why, sizeof(why)))
		fail_msg("%d: %s", pid, why);
}

/* WHY has PID in it, and PART. */
static void check_bad(pid_t pid, int err, const char *part)
{
	char why[256] = "", number[16];
	int got = target_check(pid, why, sizeof(why));

	snprintf(number, sizeof(number), "%d", pid);
	if (got != err || !strstr(why, part) || !strstr(why, number))
		fail_msg("%d: got %d (%s), not %d (%s)", pid, got, why, err, part);
}

/* A child that waits to be ended; its parent's end ends it too. */
static pid_t child_new(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_own_and_child(void **state)
{
	pid_t pid = child_new();

	(void)state;
	check_good(getpid());
	check_good(pid);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	check_good(pid); /* a stopped process is a process */
	child_end(pid);
}

static void test_none(void **state)
{
	pid_t pid = child_new();

	(void)state;
	child_end(pid);
	check_bad(pid, -ESRCH, "there is no process");
	check_bad(0, -ESRCH, "there is no process");
	check_bad(-1, -ESRCH, "there is no process");
	check_bad(-pid, -ESRCH, "there is no process");
	check_bad(INT32_MAX, -ESRCH, "there is no process");
}

static void test_zombie(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	check_bad(pid, -ESRCH, "has ended");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	check_bad(pid, -ESRCH, "there is no process");
}

static void test_kernel_thread(void **state)
{
	char comm[16];

	(void)state;
	target_comm(2, comm);
	if (strcmp(comm, "kthreadd") != 0) {
		print_message(
			"left out: a kernel thread is not to be seen in this PID namespace\n");
		skip();
	}
	check_bad(2, -EINVAL, "thread of the kernel");
}

static void test_cut_message(void **state)
{
	char why[8] = "xxxxxxx";

	(void)state;
	assert_int_equal(target_check(-1, why, 5), -ESRCH);
	assert_string_equal(why, "ther");
	assert_int_equal(why[5], 'x');
}

struct thread {
	pthread_barrier_t barrier;
	pid_t tid;
};

static void *thread_wait(void *arg)
{
	struct thread *thread = arg;

	thread->tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&thread->barrier);
	pthread_barrier_wait(&thread->barrier);
	return NULL;
}

static void test_thread(void **state)
{
	struct thread thread;
	char fix[32];
	pthread_t id;

	(void)state;
	snprintf(fix, sizeof(fix), "trace the process: -p %d", getpid());
	assert_int_equal(pthread_barrier_init(&thread.barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&id, NULL, thread_wait, &thread), 0);
	pthread_barrier_wait(&thread.barrier);
	check_bad(thread.tid, -EINVAL, fix);
	pthread_barrier_wait(&thread.barrier);
	assert_int_equal(pthread_join(id, NULL), 0);
	pthread_barrier_destroy(&thread.barrier);
}

static void *thread_forever(void *arg)
{
	char byte = 0;

	if (write(*(int *)arg, &byte, 1) == 1)
		for (;;)
			pause();
	return NULL;
}

/* Waits until PID's state in /proc is STATE. */
static void wait_for_state(pid_t pid, char state)
{
	char path[64], line[256], got = 0;
	FILE *file;
	int tries;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	for (tries = 0; tries < 5000 && got != state; tries++) {
		file = fopen(path, "re");
		assert_non_null(file);
		while (fgets(line, sizeof(line), file))
			sscanf(line, "State: %c", &got);
		fclose(file);
		usleep(1000);
	}
	assert_int_equal(got, state);
}

/* Some programs end their first thread and go on in others: they look like zombies. */
static void test_leader_gone(void **state)
{
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t id;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&id, NULL, thread_forever, &ready[1]))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	wait_for_state(pid, 'Z');
	check_good(pid);
	child_end(pid);
	close(ready[0]);
	close(ready[1]);
}

struct family {
	pid_t child, sibling, grandchild;
};

/* A child with a child, and a child without. */
static void family_new(struct family *family)
{
	int told[2];

	assert_int_equal(pipe(told), 0);
	family->child = fork();
	if (family->child == 0) {
		pid_t pid;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid = child_new();
		if (write(told[1], &pid, sizeof(pid)) == sizeof(pid))
			for (;;)
				pause();
		_exit(1);
	}
	assert_true(family->child > 0);
	assert_int_equal(read(told[0], &family->grandchild, sizeof(pid_t)), sizeof(pid_t));
	close(told[0]);
	close(told[1]);
	family->sibling = child_new();
}

static void family_end(const struct family *family)
{
	kill(family->grandchild, SIGKILL);
	child_end(family->child);
	child_end(family->sibling);
}

static size_t count(const pid_t *pids, size_t n, pid_t pid)
{
	size_t i, times = 0;

	for (i = 0; i < n; i++)
		times += pids[i] == pid;
	return times;
}

static void add(pid_t **pids, size_t *n, pid_t pid)
{
	assert_int_equal(GROW(*pids, *n), 0);
	(*pids)[(*n)++] = pid;
}

static void test_descendants(void **state)
{
	struct family family;
	pid_t *pids = NULL;
	size_t n = 0;

	(void)state;
	family_new(&family);
	/* All the way down from one … */
	add(&pids, &n, getpid());
	assert_int_equal(target_add_descendants(&pids, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(pids[0], getpid());
	assert_int_equal(count(pids, n, family.child), 1);
	assert_int_equal(count(pids, n, family.sibling), 1);
	assert_int_equal(count(pids, n, family.grandchild), 1);
	/* … each once, however often it is asked for … */
	assert_int_equal(target_add_descendants(&pids, &n), 0);
	assert_int_equal(n, 4);
	/* … and neither parents nor siblings. */
	n = 0;
	free(pids);
	pids = NULL;
	add(&pids, &n, family.child);
	assert_int_equal(target_add_descendants(&pids, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(pids[1], family.grandchild);
	/* Nobody's children: none. */
	n = 0;
	free(pids);
	pids = NULL;
	assert_int_equal(target_add_descendants(&pids, &n), 0);
	assert_int_equal(n, 0);
	add(&pids, &n, family.sibling);
	add(&pids, &n, family.grandchild);
	assert_int_equal(target_add_descendants(&pids, &n), 0);
	assert_int_equal(n, 2);
	free(pids);
	family_end(&family);
}

/* More than any first allocation holds. */
static void test_many_children(void **state)
{
	enum { N = 70 };
	pid_t children[N];
	pid_t *pids = NULL;
	size_t i, n = 0;

	(void)state;
	for (i = 0; i < N; i++)
		children[i] = child_new();
	add(&pids, &n, getpid());
	assert_int_equal(target_add_descendants(&pids, &n), 0);
	assert_int_equal(n, N + 1);
	for (i = 0; i < N; i++) {
		assert_int_equal(count(pids, n, children[i]), 1);
		child_end(children[i]);
	}
	free(pids);
}

static void check_comm(const char *name, const char *expected)
{
	char comm[16];

	memset(comm, 'x', sizeof(comm));
	assert_int_equal(prctl(PR_SET_NAME, name), 0);
	target_comm(getpid(), comm);
	assert_string_equal(comm, expected);
}

static void test_all(void **state)
{
	pid_t *pids = NULL;
	bool own = false, first = false;
	size_t i, n = 0;

	(void)state;
	assert_int_equal(target_all(&pids, &n), 0);
	assert_true(n >= 2);
	for (i = 0; i < n; i++) {
		own |= pids[i] == getpid();
		first |= pids[i] == 1;
	}
	assert_true(own);
	assert_true(first);
	free(pids);
}

static void test_comm(void **state)
{
	char before[16], comm[16];
	pid_t pid = child_new();

	(void)state;
	prctl(PR_GET_NAME, before);
	check_comm("short", "short");
	check_comm("with space)", "with space)");
	check_comm("fifteen letters", "fifteen letters");
	check_comm("sixteen letters!", "sixteen letters");
	prctl(PR_SET_NAME, before);
	child_end(pid);
	target_comm(pid, comm);
	assert_string_equal(comm, "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_and_child), cmocka_unit_test(test_none),
		cmocka_unit_test(test_zombie),        cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_cut_message),   cmocka_unit_test(test_thread),
		cmocka_unit_test(test_leader_gone),   cmocka_unit_test(test_descendants),
		cmocka_unit_test(test_many_children), cmocka_unit_test(test_all),
		cmocka_unit_test(test_comm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
