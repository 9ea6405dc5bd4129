/* SPDX-License-Identifier: MIT */
/* Where coz, the shim and the program are; see coz_program.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../elf/elfsym.h"
#include "../util/cleanup.h"
#include "coz_program.h"

#define SHIM "libspantrace-coz.so"

/* From the folder of the program `coz`, in its order; and of the packages that come without one. */
static const char *const beside_coz[] = {
	"../lib64/libcoz.so",
	"../lib/libcoz.so",
	"../lib64/coz-profiler/libcoz.so",
	"../lib/coz-profiler/libcoz.so",
	"libcoz/libcoz.so",
};

static const char *const places[] = {
	"/usr/local/lib/libcoz.so",
	"/usr/lib/coz-profiler/libcoz.so",
	"/usr/lib64/coz-profiler/libcoz.so",
	"/usr/lib/libcoz.so",
	"/usr/lib64/libcoz.so",
};

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Puts FOLDER/NAME, without links and dots, into OUT, if there is such a file. */
static bool take_path(const char *folder, const char *name, char *out, size_t size)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *real = NULL;

	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL;
		return false;
	}
	real = realpath(path, NULL);
	return real && is_file(real) && (size_t)snprintf(out, size, "%s", real) < size;
}

int coz_program_find(const char *name, char *path, size_t size)
{
	AUTO_FREE char *folders = NULL;
	const char *all = getenv("PATH");
	char *rest;
	int err = -ENOENT;

	if (strchr(name, '/')) {
		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return -ENOENT;
		return access(path, X_OK) ? -errno : 0;
	}
	folders = strdup(all ? all : "/usr/local/bin:/usr/bin:/bin");
	rest = folders;
	while (rest) {
		const char *folder = strsep(&rest, ":");

		if ((size_t)snprintf(path, size, "%s/%s", *folder ? folder : ".", name) >= size)
			continue;
		if (!is_file(path))
			continue;
		if (access(path, X_OK) == 0)
			return 0;
		err = -errno;
	}
	return err;
}

static bool find_library(char *out, size_t size)
{
	AUTO_FREE char *real = NULL;
	char script[4096];
	size_t i;

	if (coz_program_find("coz", script, sizeof(script)) == 0)
		real = realpath(script, NULL);
	if (real) {
		*strrchr(real, '/') = '\0';
		for (i = 0; i < sizeof(beside_coz) / sizeof(beside_coz[0]); i++)
			if (take_path(real, beside_coz[i], out, size))
				return true;
	}
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (is_file(places[i]) && (size_t)snprintf(out, size, "%s", places[i]) < size)
			return true;
	return false;
}

static bool has_function(struct elfsym *symbols, const char *name)
{
	u64 address;

	return elfsym_find(symbols, name, strlen(name), &address) == 0;
}

int coz_library_find(const char *named, struct coz_library *out, char *why, size_t len)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	CLEANUP(elfsym_free) struct elfsym *symbols = NULL;
	AUTO_CLOSE int fd = -1;
	const char *sentence = NULL;
	int err;

	if (named ? !take_path(*named == '/' ? "" : ".", named, out->path, sizeof(out->path))
		  : !find_library(out->path, sizeof(out->path))) {
		if (named)
			snprintf(why, len, "--libcoz %s: there is no such file", named);
		else
			snprintf(
				why, len,
				"coz is not installed: install the package coz-profiler, or give --libcoz /path/to/libcoz.so");
		return -ENOENT;
	}
	fd = open(out->path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : elfimage_new(fd, &image, &sentence);
	if (!err)
		err = elfsym_new(image, &symbols);
	if (!err && !has_function(symbols, "_coz_get_counter"))
		err = -EINVAL;
	/* Both are separators in LD_PRELOAD. */
	if (!err && strpbrk(out->path, ": ")) {
		snprintf(why, len,
			 "%s: libraries to preload cannot have a blank or a colon in their path",
			 out->path);
		return -EINVAL;
	}
	if (err) {
		snprintf(why, len, "%s: %s", out->path,
			 err == -EINVAL
				 ? "this is not the library of coz: it has no _coz_get_counter"
			 : sentence ? sentence
				    : strerror(-err));
		return err;
	}
	/* Came together with the reader of DWARF 5. */
	out->dwarf5 = has_function(symbols, "_coz_add_delays");
	return 0;
}

int coz_shim_find(char *path, size_t size, char *why, size_t len)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		if ((take_path(self, SHIM, path, size) ||
		     take_path(self, "../lib/" SHIM, path, size)) &&
		    !strpbrk(path, ": "))
			return 0;
	}
	snprintf(
		why, len,
		SHIM
		" is not beside spantrace, nor in the lib beside its bin (`make install` puts it there), or its path has a blank or a colon");
	return -ENOENT;
}
