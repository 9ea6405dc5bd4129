/* SPDX-License-Identifier: MIT */
/* The headers of a 64-bit ELF file, and bounded reads from the rest of it.
 *
 * Everything is copied with pread(2) before it is looked at: a target can cut or rewrite its file
 * at any moment, which would be SIGBUS on a mapping and a changed mind on anything read twice.
 * Nothing that the file says is taken as an address, a count or a length before it was held
 * against the file's size.
 */
#ifndef SPANTRACE_ELFIMAGE_H
#define SPANTRACE_ELFIMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../include/types.h"

struct elfimage {
	int fd; /* borrowed */
	u64 size;
	u64 inode, device;
	u16 type;    /* ET_EXEC, ET_DYN, … */
	u16 machine; /* EM_X86_64, … */
	Elf64_Phdr *segments;
	size_t nsegments;
	Elf64_Shdr *sections;
	size_t nsections;
	char *names; /* of sections; NUL-terminated at names_size */
	size_t names_size;
};

/* As elfnote_read(): -ENOEXEC, -EBADMSG, -EOPNOTSUPP or other -errno, with a static sentence in
 * *WHY. */
int elfimage_new(int fd, struct elfimage **out, const char **why);
void elfimage_free(struct elfimage **image);

/* "" for a name that lies outside the table of names. */
const char *elfimage_section_name(const struct elfimage *image, const Elf64_Shdr *section);
/* The first section called NAME, or NULL. */
const Elf64_Shdr *elfimage_section(const struct elfimage *image, const char *name);
/* Can the section's bytes be read as they stand in the file? */
bool elfimage_section_has_data(const Elf64_Shdr *section);

/* Reads exactly SIZE bytes at OFFSET of the file; -EBADMSG where it does not have them. */
int elfimage_read(const struct elfimage *image, u64 offset, void *data, size_t size);
/* The same into a new buffer with a NUL behind it, which is the caller's to free. -EFBIG for more
 * than MAX. */
int elfimage_load(const struct elfimage *image, u64 offset, u64 size, u64 max, char **out);

/* Where SIZE bytes at the linked address VADDR stand in the file, by the loaded segment that
 * holds them and has all of FLAGS (PF_X, PF_W). Returns 0; -ENOENT when no such segment holds the
 * address; -ENODATA when one does, but the bytes are not in the file (.bss). */
int elfimage_locate(const struct elfimage *image, u64 vaddr, u64 size, u32 flags, u64 *offset);

#endif
