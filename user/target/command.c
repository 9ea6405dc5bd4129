/* SPDX-License-Identifier: MIT */
/* See command.h. ptrace holds the child only until the probes stand; then it is gone from the picture. */
#include "command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/cleanup.h"

/* In the child: gives itself to the parent's hands and becomes the program. */
static void command_exec(char *const *argv, int error_fd)
{
	sigset_t none;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Meant for us alone. */
	unsetenv("SPANTRACE_PUSH_TOKEN");
	unsetenv("SPANTRACE_PUSH_PASSWORD");
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		execvp(argv[0], argv);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(125);
	_exit(127);
}

int command_start(char *const *argv, struct command_child *child)
{
	AUTO_CLOSE int read_fd = -1;
	AUTO_CLOSE int write_fd = -1;
	int fds[2], err = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	read_fd = fds[0];
	write_fd = fds[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		command_exec(argv, write_fd);
	*child = (struct command_child){.pid = pid};
	cleanup_close(&write_fd);
	write_fd = -1;
	if (read(read_fd, &err, sizeof(err)) == sizeof(err)) {
		waitpid(pid, NULL, 0);
		return -err;
	}
	if (waitpid(pid, &child->status, 0) != pid)
		return -errno;
	if (!WIFSTOPPED(child->status)) {
		child->ended = true;
		return 0;
	}
	child->held = true;
	/* Should spantrace die now, the child must not stay stopped for ever. */
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		return -errno;
	return 0;
}

/* A value of the auxiliary vector, 0 if it is not there. */
static unsigned long command_auxv(pid_t pid, unsigned long type)
{
	AUTO_CLOSE int fd = -1;
	Elf64_auxv_t entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, &entry, sizeof(entry)) == sizeof(entry))
		if (entry.a_type == type)
			return entry.a_un.a_val;
	return 0;
}

#if defined(__x86_64__)

static long command_breakpoint(long word)
{
	return (word & ~0xffL) | 0xcc;
}

/* Stands the child back on the instruction that the breakpoint covered. */
static int command_step_back(struct command_child *child)
{
	if (ptrace(PTRACE_POKEUSER, child->pid, offsetof(struct user_regs_struct, rip),
		   child->entry))
		return -errno;
	return 0;
}

static bool command_at_breakpoint(const struct command_child *child)
{
	long ip;

	errno = 0;
	ip = ptrace(PTRACE_PEEKUSER, child->pid, offsetof(struct user_regs_struct, rip), NULL);
	return !errno && (unsigned long)ip == child->entry + 1;
}

#else

static long command_breakpoint(long word)
{
	return word;
}

static int command_step_back(struct command_child *child)
{
	(void)child;
	return 0;
}

static bool command_at_breakpoint(const struct command_child *child)
{
	(void)child;
	return false;
}

#endif

/* Plants a breakpoint on the program's entry point, where its loader jumps when every library is mapped. */
static int command_set_entry(struct command_child *child)
{
	unsigned long entry = command_auxv(child->pid, AT_ENTRY);
	long word;

	if (!entry || command_breakpoint(0) == 0)
		return -EOPNOTSUPP;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, child->pid, entry, NULL);
	if (errno)
		return -errno;
	if (ptrace(PTRACE_POKETEXT, child->pid, entry, command_breakpoint(word)))
		return -errno;
	child->entry = entry;
	child->entry_word = word;
	return 0;
}

static void command_clear_entry(struct command_child *child)
{
	if (!child->entry)
		return;
	ptrace(PTRACE_POKETEXT, child->pid, child->entry, child->entry_word);
	child->entry = 0;
}

/* Whether the system call that the child has just entered maps code from a file. */
static bool command_maps_code(pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		return false;
	return info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == __NR_mmap &&
	       info.entry.args[2] & PROT_EXEC && (int)info.entry.args[4] >= 0;
}

/* Killed under our hands: there is nothing left to hold, and its end is on its way. */
static int command_lost(struct command_child *child)
{
	if (waitpid(child->pid, &child->status, 0) != child->pid)
		return -errno;
	child->ended = true;
	child->held = false;
	return -ECHILD;
}

/* Whether it is stopped under our hands still. What was read of it before can be relied on then. */
static bool command_is_there(const struct command_child *child)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, child->pid, NULL, &info) == 0 || errno != ESRCH;
}

int command_next(struct command_child *child)
{
	bool mapping = false;
	int signal = 0;
	int err;

	if (child->ended || !child->held)
		return -ECHILD;
	if (!child->entry) {
		/* No loader: everything it has is mapped already. */
		if (!command_auxv(child->pid, AT_BASE))
			return command_is_there(child) ? 0 : command_lost(child);
		err = command_set_entry(child);
		if (err)
			return command_is_there(child) ? err : command_lost(child);
	}
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child->pid, NULL, signal))
			return errno == ESRCH ? command_lost(child) : -errno;
		if (waitpid(child->pid, &child->status, 0) != child->pid)
			return -errno;
		if (!WIFSTOPPED(child->status)) {
			child->ended = true;
			child->held = false;
			return -ECHILD;
		}
		signal = WSTOPSIG(child->status);
		if (signal == (SIGTRAP | 0x80)) {
			signal = 0;
			if (mapping)
				return 1; /* that call is done */
			mapping = command_maps_code(child->pid);
		} else if (signal == SIGTRAP && command_at_breakpoint(child)) {
			err = command_step_back(child);
			command_clear_entry(child);
			return err;
		} else if (signal == SIGTRAP) {
			signal = 0;
		}
	}
}

int command_watch(struct command_child *child)
{
	if (!child->held)
		return 0;
	command_clear_entry(child);
	/* Without PTRACE_O_EXITKILL: should spantrace die from here on, the child runs on. */
	if (ptrace(PTRACE_SETOPTIONS, child->pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC))
		return -errno;
	child->held = false;
	child->watched = true;
	return ptrace(PTRACE_CONT, child->pid, NULL, 0) ? -errno : 0;
}

/* A watched child has stopped: held at an exec, else sent on with the signal that it got. */
static void command_stopped(struct command_child *child)
{
	int signal = WSTOPSIG(child->status);

	if (child->status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
		child->held = true;
		child->watched = false;
		ptrace(PTRACE_SETOPTIONS, child->pid, NULL,
		       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
		return;
	}
	ptrace(PTRACE_CONT, child->pid, NULL, signal == SIGTRAP ? 0 : signal);
}

int command_release(struct command_child *child)
{
	if (!child->held)
		return 0;
	command_clear_entry(child);
	child->held = false;
	return ptrace(PTRACE_DETACH, child->pid, NULL, 0) ? -errno : 0;
}

bool command_reap(struct command_child *child, bool wait)
{
	while (!child->ended && !child->held) {
		pid_t pid = waitpid(child->pid, &child->status, wait ? 0 : WNOHANG);

		if (pid < 0 && errno == ECHILD)
			child->ended = true;
		if (pid != child->pid)
			return child->ended;
		if (!WIFSTOPPED(child->status))
			child->ended = true;
		else if (child->watched)
			command_stopped(child);
	}
	return child->ended;
}

int command_exit_status(const struct command_child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}
