/* SPDX-License-Identifier: MIT */
/* Whether seccomp lets the kernel's own system call for returns of probed functions pass; see features.h. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "features.h"

#define URETPROBE_CALL 335 /* __NR_uretprobe of x86-64 */
#define FILTERED       77  /* an errno that no kernel gives here */

#ifdef __x86_64__
/* In a child: makes the call under a filter, or without. The kernel kills whoever makes it elsewhere than in its own code:
 * that is how a kernel that has it answers. */
static void ask(bool filtered)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, URETPROBE_CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | FILTERED),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	struct rlimit none = {0};

	setrlimit(RLIMIT_CORE, &none);
	signal(SIGILL, SIG_DFL); /* whatever the caller does about it */
	if (filtered && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		_exit(2);
	syscall(URETPROBE_CALL);
	_exit(errno == FILTERED ? 1 : 0);
}

/* 0: nothing happens, there is no such call; 1: the filter stood in the way; 2: not known; 128 + N: signal N. */
static int answer(bool filtered)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return 2;
	if (pid == 0)
		ask(filtered);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 2;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool features_returns_pass_seccomp(void)
{
	/* Kernels without it come back by a breakpoint, which no filter sees. */
	return answer(false) == 0 || answer(true) == 128 + SIGILL;
}
#else
bool features_returns_pass_seccomp(void)
{
	return true;
}
#endif
