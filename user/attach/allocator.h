/* SPDX-License-Identifier: MIT */
/* The functions of a memory allocator in an ELF file, and where a probe on each is cheap and right: decode.h. */
#ifndef SPANTRACE_ALLOCATOR_H
#define SPANTRACE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/wire.h"

struct allocator_function {
	char name[64];
	enum wire_alloc kind;
	u64 probe;    /* offset in the file */
	u32 shift;    /* from the function's entry to the probe */
	bool stepped; /* the instruction there is single-stepped */
	/* Its entry says what it allocates: it does not call another of these functions, and fails only where there is no
	 * memory. */
	bool entry_tells;
	bool throws; /* C++ exceptions pass through it, which a probe at its return would end in abort() */
	bool inner; /* what it allocates another one of these functions gives it */
};

struct allocator {
	const char *
		kind; /* "glibc", "musl", "jemalloc", "tcmalloc", "mimalloc" or "unknown"; static */
	struct allocator_function *functions; /* each address once */
	size_t nfunctions;
};

/* Looks for the functions in the file open at FD: those that C, C++ and well-known allocators name; with a PREFIX (of
 * --allocator) PREFIXmalloc and so on, also where they are not exported, and nothing else. 0, also when there are none; -ENOEXEC, -EBADMSG and the like as
 * elfnote_read(), with a static sentence in *WHY; -ENOMEM. */
int allocator_find(int fd, const char *prefix, struct allocator **out, const char **why);
void allocator_free(struct allocator **allocator);

/* Whether KIND gives, takes or changes blocks of the heap; else it maps memory (-m mmap). */
static inline bool allocator_is_heap(enum wire_alloc kind)
{
	return kind <= ALLOC_FREE;
}

#endif
