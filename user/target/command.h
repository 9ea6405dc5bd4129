/* SPDX-License-Identifier: MIT */
/* `-- CMD`: starts a program and holds it before its first instruction until the probes stand.
 *
 *   fork ▸ exec ▸ stopped: the program and its loader are mapped
 *        ▸ command_next stops again after each library that is mapped, up to the program's entry
 *        ▸ command_release: it runs on by itself, untraced by ptrace; or, while it has no markers (env, nice, a
 *          shell that execs), command_watch: held again at its next exec
 */
#ifndef SPANTRACE_COMMAND_H
#define SPANTRACE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

struct command_child {
	pid_t pid;
	bool held;           /* stopped under our hands */
	bool watched;        /* runs, and will be held at its next exec */
	bool ended;          /* and reaped: status is final */
	int status;          /* as of waitpid(2) */
	unsigned long entry; /* breakpoint; 0: none set */
	long entry_word;     /* what stood there */
};

/* Starts ARGV. On success CHILD is held at its exec. 0 or -errno; -ENOENT and -EACCES are those of exec. */
int command_start(char *const *argv, struct command_child *child);
/* Lets a held child run until it has mapped more code. 1: it has, and is held; 0: it stands at its entry point, or there is
 * nothing to wait for: release it; -ECHILD: it has ended. Other -errno: release it. */
int command_next(struct command_child *child);
/* Lets it go. 0 or -errno. */
int command_release(struct command_child *child);
/* Lets it go until it becomes another program by exec: then command_reap() leaves it held. 0 or -errno. */
int command_watch(struct command_child *child);
/* Reaps it if it has ended, without waiting unless WAIT. Returns whether it has. */
bool command_reap(struct command_child *child, bool wait);
/* Exit status as a shell gives it: its own, or 128 + the signal that ended it. */
int command_exit_status(const struct command_child *child);

#endif
