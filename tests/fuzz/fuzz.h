/* SPDX-License-Identifier: MIT */
/* What every fuzzer here does: takes `-n COUNT -s SEED FILE…`, reads files to begin with, and when a CHECK fails leaves the
 * input that it was in FUZZER.crash. */
#ifndef SPANTRACE_FUZZ_H
#define SPANTRACE_FUZZ_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz_mutate.h"

/* Not by stderr, which some of them close: what is said of bad input is no news. */
#define CHECK(condition)                                                                       \
	do {                                                                                   \
		if (!(condition)) {                                                            \
			dprintf(STDERR_FILENO, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                               \
		}                                                                              \
	} while (0)

static const uint8_t *const *fuzz_kept;
static const size_t *fuzz_kept_size;

static inline void fuzz_on_abort(int number)
{
	char path[64];
	int fd;

	(void)number;
	snprintf(path, sizeof(path), "%s.crash", program_invocation_short_name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, *fuzz_kept, *fuzz_kept_size) >= 0)
		close(fd);
}

/* From now on the SIZE bytes of DATA, as they are then, are left when a CHECK fails. */
static inline void fuzz_keep(const uint8_t *const *data, const size_t *size)
{
	fuzz_kept = data;
	fuzz_kept_size = size;
	signal(SIGABRT, fuzz_on_abort);
}

/* How many inputs to make, and RANDOM to make them; ends the program where the options are wrong. Words that are left begin
 * at optind. */
static inline unsigned long fuzz_options(int argc, char **argv, struct fuzz_random *random)
{
	unsigned long count = 100000;
	int option;

	random->state = 1;
	while ((option = getopt(argc, argv, "n:s:")) != -1) {
		if (option == 'n')
			count = strtoul(optarg, NULL, 0);
		else if (option == 's')
			random->state = strtoull(optarg, NULL, 0);
		else
			exit(2);
	}
	return count;
}

/* Adds the content of a file to OUT. */
static inline void fuzz_read(const char *path, struct elfbuf *out)
{
	FILE *file = fopen(path, "re");
	uint8_t block[65536];
	size_t n;

	if (!file) {
		fprintf(stderr, "%s: cannot read %s\n", program_invocation_short_name, path);
		exit(2);
	}
	while ((n = fread(block, 1, sizeof(block), file)))
		elfbuf_add(out, block, n);
	fclose(file);
}

#endif
