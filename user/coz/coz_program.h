/* SPDX-License-Identifier: MIT */
/* What has to be right before coz can profile a program: the library of coz, and debug information that this coz can read.
 * Found out beforehand, because coz itself gives up without a word, or in the middle of the program. */
#ifndef SPANTRACE_COZ_PROGRAM_H
#define SPANTRACE_COZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/types.h"

struct coz_library {
	char path[4096];
	bool dwarf5; /* it reads DWARF 5, and what gcc adds to DWARF 4: versions after 0.2.2 */
};

/* Looks for libcoz.so: NAMED, where that is not NULL, else where the program `coz` of PATH would look, else where packages
 * put it. 0; -ENOENT, with WHY (of LEN bytes) a sentence; -EINVAL, where it is no libcoz. */
int coz_library_find(const char *named, struct coz_library *out, char *why, size_t len);
/* libspantrace-coz.so, beside this program or in the lib beside its bin. As above. */
int coz_shim_find(char *path, size_t size, char *why, size_t len);

/* The file that execvp(3) takes for NAME. 0 or -ENOENT, -EACCES. */
int coz_program_find(const char *name, char *path, size_t size);

enum coz_verdict {
	COZ_PROGRAM_GOOD,
	COZ_PROGRAM_NO_ELF,     /* a script: coz would profile its interpreter */
	COZ_PROGRAM_STATIC,     /* nothing can be preloaded */
	COZ_PROGRAM_NO_DEBUG,   /* no .debug_info, and no file with it where coz looks */
	COZ_PROGRAM_NO_LINES,   /* no .debug_line */
	COZ_PROGRAM_COMPRESSED, /* -gz */
	COZ_PROGRAM_DWARF,      /* a version that this coz cannot read */
	COZ_PROGRAM_VIEWS,      /* DWARF 4 with gcc's location views, likewise */
	COZ_PROGRAM_SHIFTED,    /* coz takes the wrong addresses: lld's layout */
};

struct coz_debug {
	enum coz_verdict verdict;
	unsigned version; /* the greatest of its units */
	char file[4096];  /* where the debug information stands, if it is not the program */
};

/* PATH is a file that is there. 0, or -errno with WHY a sentence, where it cannot be read. */
int coz_program_check(const char *path, const struct coz_library *library, struct coz_debug *out,
		      char *why, size_t len);
/* The sentence for a VERDICT that is not good: what is wrong with PATH and what to do. */
void coz_program_explain(const char *path, const struct coz_library *library,
			 const struct coz_debug *debug, char *why, size_t len);

#endif
