/* SPDX-License-Identifier: MIT */
/* Whether returns of probed functions pass seccomp: the answer against another way to ask, and that asking leaves nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../user/attach/features.h"

/* How a child ends that makes the call: in strict mode, which knows a few calls only, or as it is. */
static int end_of_call(int mode)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGILL, SIG_DFL); /* cmocka catches it */
		if (mode && prctl(PR_SET_SECCOMP, mode))
			_exit(1);
		syscall(335);
		syscall(SYS_exit, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_the_answer(void **state)
{
	int free_, confined;
	bool passes = features_returns_pass_seccomp();

	(void)state;
#ifdef __x86_64__
	free_ = end_of_call(0);
	confined = end_of_call(SECCOMP_MODE_STRICT);
	if (WIFEXITED(free_))
		assert_true(passes); /* a kernel without the call */
	else
		assert_int_equal(passes, WTERMSIG(confined) == WTERMSIG(free_));
#else
	(void)free_;
	(void)confined;
	assert_true(passes);
#endif
}

static void test_nothing_is_left(void **state)
{
	int mode = prctl(PR_GET_SECCOMP), privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	bool first = features_returns_pass_seccomp();

	(void)state;
	assert_int_equal(features_returns_pass_seccomp(), first);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(prctl(PR_GET_SECCOMP), mode);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), privileges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_answer),
		cmocka_unit_test(test_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
