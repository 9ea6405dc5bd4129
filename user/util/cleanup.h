/* SPDX-License-Identifier: MIT */
/* Ownership by scope: a local declared with one of these releases what it holds at the end of its block,
 * and hands it on only through TAKE_PTR or TAKE_FD. So a reader checks a function for leaks by reading
 * that function alone. */
#ifndef SPANTRACE_CLEANUP_H
#define SPANTRACE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(f) __attribute__((cleanup(f)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define AUTO_FREE   CLEANUP(cleanup_free)
#define AUTO_CLOSE  CLEANUP(cleanup_close)
#define AUTO_FCLOSE CLEANUP(cleanup_fclose)

#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	})

#define TAKE_FD(fd)                \
	({                         \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	})

#endif
