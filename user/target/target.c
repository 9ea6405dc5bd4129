/* SPDX-License-Identifier: MIT */
/* See target.h. */
#include "target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"

struct target_status {
	pid_t tgid;
	pid_t ppid;
	char state;
	bool kernel_thread; /* it has no memory of its own */
};

/* Reads /proc/PID/status. 0 or -ESRCH. */
static int target_read_status(pid_t pid, struct target_status *out)
{
	AUTO_FCLOSE FILE *file = NULL;
	char path[64], line[256];

	*out = (struct target_status){.kernel_thread = true};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Tgid: %d", &out->tgid);
		sscanf(line, "PPid: %d", &out->ppid);
		sscanf(line, "State: %c", &out->state);
		if (strncmp(line, "VmSize:", 7) == 0)
			out->kernel_thread = false;
	}
	return out->tgid ? 0 : -ESRCH;
}

/* Whether a thread other than the leader still runs: the leader may be gone and the process not. */
static bool target_has_threads(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = isdigit(entry->d_name[0]) && atoi(entry->d_name) != pid;
	closedir(dir);
	return found;
}

int target_check(pid_t pid, char *why, size_t len)
{
	struct target_status status;

	if (target_read_status(pid, &status)) {
		snprintf(why, len, "there is no process %d; `ps -e` shows those that run", pid);
		return -ESRCH;
	}
	if (status.tgid != pid) {
		snprintf(why, len, "%d is a thread of process %d; trace the process: -p %d", pid,
			 status.tgid, status.tgid);
		return -EINVAL;
	}
	if ((status.state == 'Z' || status.state == 'X') && !target_has_threads(pid)) {
		snprintf(why, len, "process %d has ended (its parent has not collected it yet)",
			 pid);
		return -ESRCH;
	}
	if (status.kernel_thread && status.state != 'Z') {
		snprintf(why, len, "%d is a thread of the kernel; it has no markers", pid);
		return -EINVAL;
	}
	return 0;
}

static bool target_is_in(const pid_t *pids, size_t n, pid_t pid)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* One pass over /proc: adds the children of those in the list. Returns how many, or -errno. */
static int target_add_children(pid_t **pids, size_t *n)
{
	struct target_status status;
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	int added = 0;

	if (!dir)
		return -errno;
	while (added >= 0 && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || target_is_in(*pids, *n, pid) || target_read_status(pid, &status) ||
		    !target_is_in(*pids, *n, status.ppid))
			continue;
		if (GROW(*pids, *n)) {
			added = -ENOMEM;
			break;
		}
		(*pids)[(*n)++] = pid;
		added++;
	}
	closedir(dir);
	return added;
}

int target_add_descendants(pid_t **pids, size_t *n)
{
	int added;

	do
		added = target_add_children(pids, n);
	while (added > 0);
	return added;
}

int target_all(pid_t **out, size_t *n)
{
	AUTO_FREE pid_t *pids = NULL;
	struct dirent *entry;
	size_t count = 0;
	int err = 0;
	DIR *dir = opendir("/proc");

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0)
			continue;
		err = GROW(pids, count);
		if (!err)
			pids[count++] = pid;
	}
	closedir(dir);
	if (err)
		return err;
	*out = TAKE_PTR(pids);
	*n = count;
	return 0;
}

void target_comm(pid_t pid, char comm[16])
{
	AUTO_FCLOSE FILE *file = NULL;
	char path[64];

	snprintf(comm, 16, "?");
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(comm, 16, file))
		comm[strcspn(comm, "\n")] = '\0';
}
