/* SPDX-License-Identifier: MIT */
/* See cgroup.h. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../util/cleanup.h"

struct cgroup {
	u64 id;     /* the inode of its directory */
	char *name; /* as in /proc/PID/cgroup */
};

/* The whole of a file of /proc, as a string. NULL: it cannot be read. */
static char *read_text(const char *path)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (file && getdelim(&text, &size, '\0', file) > 0)
		return text;
	free(text);
	return NULL;
}

/* Whether PATH is DIR or below it; the rest of it is at *REST. */
static bool is_below(const char *path, size_t len, const char *dir, size_t dir_len,
		     const char **rest)
{
	if (dir_len == 1 && *dir == '/')
		dir_len = 0;
	if (len < dir_len || memcmp(path, dir, dir_len) != 0 ||
	    (len > dir_len && path[dir_len] != '/'))
		return false;
	*rest = path + dir_len;
	return true;
}

/* A word of mountinfo, which writes blanks and backslashes in octal: \040. Returns its length. */
static size_t unescape(char *word)
{
	char *from = word, *to = word;

	while (*from) {
		unsigned c;

		if (*from == '\\' && sscanf(from + 1, "%3o", &c) == 1 && strlen(from) >= 4) {
			*to++ = (char)c;
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - word);
}

char *cgroup_name(const char *mountinfo, const char *dir)
{
	size_t best = 0;
	char *name = NULL;
	const char *line;

	for (line = mountinfo; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		AUTO_FREE char *root = NULL;
		AUTO_FREE char *mount = NULL;
		AUTO_FREE char *copy = strndup(line, strcspn(line, "\n"));
		const char *rest;
		size_t len;

		if (!copy || !strstr(copy, " - cgroup2 ") ||
		    sscanf(copy, "%*s %*s %*s %ms %ms", &root, &mount) != 2)
			continue;
		unescape(root);
		len = unescape(mount);
		/* The innermost mount is the one that is seen; of two on one place the later. */
		if (len < best || !is_below(dir, strlen(dir), mount, len, &rest))
			continue;
		best = len;
		free(name);
		name = NULL;
		if (asprintf(&name, "%s%s", strcmp(root, "/") == 0 ? "" : root, rest) < 0)
			return NULL;
	}
	if (name && !*name) {
		free(name);
		return strdup("/");
	}
	return name;
}

bool cgroup_is_in(const char *text, const char *name)
{
	const char *line, *rest;

	for (line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, "0::", 3) == 0)
			return is_below(line + 3, strcspn(line + 3, "\n"), name, strlen(name),
					&rest);
	return false;
}

bool cgroup_has(const struct cgroup *cgroup, pid_t pid)
{
	AUTO_FREE char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	text = read_text(path);
	return text && cgroup_is_in(text, cgroup->name);
}

u64 cgroup_id(const struct cgroup *cgroup)
{
	return cgroup->id;
}

void cgroup_free(struct cgroup **cgroup)
{
	if (!*cgroup)
		return;
	free((*cgroup)->name);
	free(*cgroup);
	*cgroup = NULL;
}

int cgroup_new(const char *path, struct cgroup **out, char *why, size_t len)
{
	CLEANUP(cgroup_free) struct cgroup *cgroup = calloc(1, sizeof(*cgroup));
	AUTO_FREE char *mounts = read_text("/proc/self/mountinfo");
	AUTO_FREE char *dir = realpath(path, NULL);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (!cgroup)
		return -ENOMEM;
	if (fd < 0 || !dir || fstatfs(fd, &fs) || fstat(fd, &st)) {
		int err = errno ? -errno : -ENOENT;

		snprintf(why, len, "%s", strerror(-err));
		return err;
	}
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		snprintf(
			why, len,
			"not a directory of cgroup v2; `findmnt -t cgroup2` shows where those are");
		return -EINVAL;
	}
	cgroup->id = st.st_ino;
	cgroup->name = mounts ? cgroup_name(mounts, dir) : NULL;
	if (!cgroup->name) {
		snprintf(why, len, "/proc/self/mountinfo does not show where it is mounted");
		return -ENOENT;
	}
	*out = TAKE_PTR(cgroup);
	return 0;
}
