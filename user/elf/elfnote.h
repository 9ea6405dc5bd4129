/* SPDX-License-Identifier: MIT */
/* The markers of one ELF file: every site in its .note.stapsdt, with what .note.spantrace adds.
 *
 *   file ──elfimage──▶ notes ──▶ site { marker, offset, semaphore, operands } ──▶ checked
 *
 * The file is hostile until shown otherwise: each site carries the reason why it must not be
 * touched, or none. A bad site never takes a good one with it.
 */
#ifndef SPANTRACE_ELFNOTE_H
#define SPANTRACE_ELFNOTE_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/operand.h"

#define ELFNOTE_MAX_ARGS  12
#define ELFNOTE_MAX_SITES 100000

enum elfnote_nop {
	ELFNOTE_NOP_UNKNOWN, /* not a nop: refused */
	ELFNOTE_NOP1,        /* 0x90: cheap and safe everywhere */
	ELFNOTE_NOP5,        /* single-stepped up to 6.12, unsafe to optimise from 6.18 on */
	ELFNOTE_NOP1_NOP5,   /* nop, then a 5-byte nop: probed at the first */
	ELFNOTE_NOP1_NOP10,  /* nop, then a 10-byte nop */
	ELFNOTE_NOP_ARM64,
	ELFNOTE_NOP_NONE, /* of the batched lane: nothing is attached to it */
};

struct elfnote_arg {
	struct operand operand; /* form OPERAND_NONE: it could not be decoded, see `why` */
	const char *text;       /* as in the note: "-4@8(%rbp)" */
	const char *key;        /* label key from .note.spantrace, or NULL */
	const char *why;        /* why the operand cannot be read, or NULL */
};

struct elfnote_site {
	const char *provider;
	const char *name; /* "job__enter" */
	u64 vaddr;        /* as linked */
	u64 offset;       /* in the file */
	u64 sema_vaddr;   /* 0: no semaphore */
	u64 sema_offset;
	u64 place;  /* batched: in the table of markers, as linked … */
	u32 number; /* … and from its begin */
	bool batched;
	enum elfnote_nop nop;
	u32 nargs; /* those beyond ELFNOTE_MAX_ARGS stand in args_text only */
	struct elfnote_arg args[ELFNOTE_MAX_ARGS];
	const char *args_text;   /* the note's whole argument text, printable */
	const char *source_file; /* NULL: the program does not say */
	u32 source_line;
	bool has_meta;       /* a .note.spantrace note belongs to it: made by spantrace.h */
	const char *refused; /* why this site must not be probed, or NULL */
};

/* Where a program has the buffers of its batched markers fetched: a probe stands there for all of them. */
struct elfnote_fetch {
	u64 begin, end;           /* of the table of markers, as linked */
	u32 clock;                /* BATCH_CLOCK_* */
	struct elfnote_site site; /* refused: so are the batched markers */
};

struct elfnote_file {
	struct elfnote_site *sites; /* in order of vaddr */
	size_t nsites;
	struct elfnote_fetch *fetches;
	size_t nfetches;
	u16 machine;           /* EM_X86_64, EM_AARCH64, … */
	char build_id[64 + 1]; /* lower-case hex, "" if none; longer ones are cut */
	u64 inode, device;     /* of the file that was read */
	const char *damaged;   /* why some of its notes could not be read, or NULL */
	void *strings;         /* owns every string above */
};

/* Reads the markers of the ELF file open at FD (not closed, position not used). On success *OUT
 * is a new object, also when there are no markers. Returns 0; -ENOEXEC when it is no ELF file;
 * -EBADMSG when it is cut or damaged so that its notes cannot be found; -EOPNOTSUPP for a 32-bit
 * or big-endian file; -E2BIG for more than ELFNOTE_MAX_SITES; other -errno from reading. On
 * failure *OUT is left alone and *WHY (if not NULL) is a static sentence. */
int elfnote_read(int fd, struct elfnote_file **out, const char **why);
void elfnote_free(struct elfnote_file **file);

/* Whether A and B are one file, for the kernel's probes too, whatever paths and devices lead there. */
bool elfnote_same_file(const struct elfnote_file *a, const struct elfnote_file *b);

/* "nop", "nop5", … */
const char *elfnote_nop_name(enum elfnote_nop nop);

#endif
