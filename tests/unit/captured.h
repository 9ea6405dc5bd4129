/* SPDX-License-Identifier: MIT */
/* What the code under test writes to a descriptor of its own process. Comes behind <cmocka.h>. */
#ifndef SPANTRACE_TEST_CAPTURED_H
#define SPANTRACE_TEST_CAPTURED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct captured {
	int fd, saved, file;
	char text[8192];
};

/* Between these two nothing may be asserted: a failure's message would be captured too. */
static inline void captured_begin(struct captured *c, int fd)
{
	fflush(NULL);
	c->fd = fd;
	c->saved = dup(fd);
	c->file = memfd_create("captured", MFD_CLOEXEC);
	if (c->saved < 0 || c->file < 0 || dup2(c->file, fd) != fd)
		abort();
}

/* The text written since, as far as it has room in C. */
static inline const char *captured_end(struct captured *c)
{
	ssize_t n;

	fflush(NULL);
	dup2(c->saved, c->fd);
	close(c->saved);
	n = pread(c->file, c->text, sizeof(c->text) - 1, 0);
	close(c->file);
	c->text[n > 0 ? n : 0] = '\0';
	return c->text;
}

#endif
