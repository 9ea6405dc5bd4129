/* SPDX-License-Identifier: MIT */
/* The files that a process has mapped to execute, and how to open them as that process sees
 * them.
 *
 * A path in /proc/PID/maps is that of the target's own file system, may be gone, or be of
 * another file by now. So a file is opened through the mapping itself, /proc/PID/map_files, and
 * only where the kernel does not allow that through /proc/PID/root, and then only if it is still
 * the same inode.
 */
#ifndef SPANTRACE_PROCMAPS_H
#define SPANTRACE_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../include/types.h"

struct procmap {
	pid_t task; /* whose /proc entry shows it: not PID where the main thread has ended */
	u64 start, end;
	u64 offset; /* in the file */
	/* As the kernel names it. On overlay file systems stat() gives another one for the same
	 * file. */
	dev_t dev;
	u64 inode;
	const char *path; /* unescaped, without " (deleted)" */
	bool deleted;     /* the path no longer leads there (or the file's name ends so) */
};

/* The executable file-backed mappings of PID in order of address. *OUT is one block for free(),
 * paths included; *N is 0 for a kernel thread and for a process that is ending. -ESRCH: no such
 * process; -EACCES or -EPERM; -EBADMSG: text that no kernel writes; -ENOMEM. */
int procmaps_read(pid_t pid, struct procmap **out, size_t *n);

/* The same from TEXT (LEN bytes) in the form of /proc/TASK/maps. */
int procmaps_parse(const char *text, size_t len, pid_t task, struct procmap **out, size_t *n);

/* Keeps the first mapping of each file and returns how many there are. */
size_t procmaps_unique(struct procmap *maps, size_t n);

/* Opens the mapped file for reading. Returns a descriptor (close-on-exec) or: -ESRCH, the
 * process has ended or the mapping is gone; -ESTALE, the file cannot be reached any more;
 * -EACCES or -EPERM; -EINVAL, it is no regular file (a device's memory, say) and was not
 * touched. */
int procmaps_open(const struct procmap *map);
/* The same by the path as spantrace itself sees it, for a process that has ended: only where the very file, by device
 * and inode, stands there. Returns as above. */
int procmaps_open_here(const struct procmap *map);

/* Cuts " (deleted)" off PATH. Returns whether it stood there. */
bool procmaps_cut_deleted(char *path);

#endif
