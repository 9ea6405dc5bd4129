/* SPDX-License-Identifier: MIT */
/* Damages ELF files in the ways that find mistakes: single bits and bytes anywhere, whole fields
 * of the headers, of the tables and of the notes set to values at which lengths wrap, ends cut
 * off, and pieces of one file put into another. Nothing here depends on anything but the seed. */
#ifndef SPANTRACE_FUZZ_MUTATE_H
#define SPANTRACE_FUZZ_MUTATE_H

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "../unit/elfbuild.h"

/* No stack for each allocation, and not much memory held back: that took half of the time of a million inputs. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=0:quarantine_size_mb=4";
}

struct fuzz_random {
	uint64_t state;
};

/* splitmix64 */
static inline uint64_t fuzz_next(struct fuzz_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline size_t fuzz_below(struct fuzz_random *r, size_t limit)
{
	return limit ? (size_t)(fuzz_next(r) % limit) : 0;
}

/* A number that somebody may add to, multiply, or trust. */
static inline uint64_t fuzz_number(struct fuzz_random *r, uint64_t size, uint64_t old)
{
	static const uint64_t special[] = {
		0,
		1,
		2,
		7,
		8,
		11,
		12,
		13,
		0x7f,
		0x80,
		0xff,
		0x100,
		0xfff,
		4096,
		0xfffe,
		0xffff,
		0x10000,
		0x7fffffff,
		0x80000000u,
		0xfffffffc,
		0xfffffff0u,
		0xffffffff,
		0x100000000,
		INT64_MAX,
		(uint64_t)INT64_MIN,
		UINT64_MAX - 7,
		UINT64_MAX - 1,
		UINT64_MAX,
	};

	switch (fuzz_below(r, 6)) {
	case 0:
		return size + fuzz_below(r, 17) - 8;
	case 1:
		return old + fuzz_below(r, 17) - 8;
	case 2:
		return fuzz_below(r, size);
	case 3:
		return old ^ (1ull << fuzz_below(r, 64));
	default:
		return special[fuzz_below(r, sizeof(special) / sizeof(special[0]))];
	}
}

/* Sets WIDTH bytes at AT. */
static inline void fuzz_field(struct fuzz_random *r, struct elfbuf *b, size_t at, size_t width)
{
	uint64_t value = 0;

	if (at > b->size || width > b->size - at)
		return;
	memcpy(&value, b->data + at, width);
	value = fuzz_number(r, b->size, value);
	memcpy(b->data + at, &value, width);
}

struct fuzz_layout {
	size_t at, width;
};

#define FUZZ_FIELD(type, field)                                   \
	{                                                         \
		offsetof(type, field), sizeof(((type *)0)->field) \
	}

static inline void fuzz_one_of(struct fuzz_random *r, struct elfbuf *b, size_t base,
			       const struct fuzz_layout *fields, size_t count)
{
	const struct fuzz_layout *field = &fields[fuzz_below(r, count)];

	fuzz_field(r, b, base + field->at, field->width);
}

static inline void fuzz_headers(struct fuzz_random *r, struct elfbuf *b)
{
	static const struct fuzz_layout file[] = {
		FUZZ_FIELD(Elf64_Ehdr, e_type),      FUZZ_FIELD(Elf64_Ehdr, e_machine),
		FUZZ_FIELD(Elf64_Ehdr, e_phoff),     FUZZ_FIELD(Elf64_Ehdr, e_shoff),
		FUZZ_FIELD(Elf64_Ehdr, e_phentsize), FUZZ_FIELD(Elf64_Ehdr, e_phnum),
		FUZZ_FIELD(Elf64_Ehdr, e_shentsize), FUZZ_FIELD(Elf64_Ehdr, e_shnum),
		FUZZ_FIELD(Elf64_Ehdr, e_shstrndx),
	};
	static const struct fuzz_layout segment[] = {
		FUZZ_FIELD(Elf64_Phdr, p_type),   FUZZ_FIELD(Elf64_Phdr, p_flags),
		FUZZ_FIELD(Elf64_Phdr, p_offset), FUZZ_FIELD(Elf64_Phdr, p_vaddr),
		FUZZ_FIELD(Elf64_Phdr, p_filesz), FUZZ_FIELD(Elf64_Phdr, p_memsz),
		FUZZ_FIELD(Elf64_Phdr, p_align),
	};
	static const struct fuzz_layout section[] = {
		FUZZ_FIELD(Elf64_Shdr, sh_name),    FUZZ_FIELD(Elf64_Shdr, sh_type),
		FUZZ_FIELD(Elf64_Shdr, sh_flags),   FUZZ_FIELD(Elf64_Shdr, sh_addr),
		FUZZ_FIELD(Elf64_Shdr, sh_offset),  FUZZ_FIELD(Elf64_Shdr, sh_size),
		FUZZ_FIELD(Elf64_Shdr, sh_link),    FUZZ_FIELD(Elf64_Shdr, sh_addralign),
		FUZZ_FIELD(Elf64_Shdr, sh_entsize),
	};
	Elf64_Ehdr header;

	if (b->size < sizeof(header))
		return;
	memcpy(&header, b->data, sizeof(header));
	switch (fuzz_below(r, 3)) {
	case 0:
		fuzz_one_of(r, b, 0, file, sizeof(file) / sizeof(file[0]));
		break;
	case 1:
		fuzz_one_of(r, b,
			    header.e_phoff + fuzz_below(r, header.e_phnum) * sizeof(Elf64_Phdr),
			    segment, sizeof(segment) / sizeof(segment[0]));
		break;
	case 2:
		fuzz_one_of(r, b,
			    header.e_shoff + fuzz_below(r, header.e_shnum) * sizeof(Elf64_Shdr),
			    section, sizeof(section) / sizeof(section[0]));
		break;
	}
}

/* Finds a note by its owner, which stands behind three 32-bit fields and before the description. */
static inline void fuzz_note(struct fuzz_random *r, struct elfbuf *b)
{
	static const char letters[] = "%$@()[],+-:#x0189fr \t\033\xc3.";
	const char *owner = fuzz_below(r, 3) ? "stapsdt" : "spantrace";
	size_t from = fuzz_below(r, b->size), len = strlen(owner);
	const uint8_t *found = memmem(b->data + from, b->size - from, owner, len);
	size_t at;

	if (!found || found - b->data < 12)
		return;
	at = (size_t)(found - b->data);
	switch (fuzz_below(r, 5)) {
	case 0:
		fuzz_field(r, b, at - 12 + 4 * fuzz_below(r, 3), 4);
		break;
	case 1:
		fuzz_field(r, b, at + ((len + 4) & ~(size_t)3) + 8 * fuzz_below(r, 3), 8);
		break;
	case 2: /* an end of string where there was none */
		at += fuzz_below(r, 120);
		if (at < b->size)
			b->data[at] = 0;
		break;
	default: /* names and arguments */
		for (size_t n = 1 + fuzz_below(r, 6); n; n--) {
			size_t to = at + 32 + fuzz_below(r, 80);

			if (to < b->size && (b->data[to] || !fuzz_below(r, 4)))
				b->data[to] = (uint8_t)letters[fuzz_below(r, sizeof(letters) - 1)];
		}
		break;
	}
}

static inline void fuzz_splice(struct fuzz_random *r, struct elfbuf *b, const struct elfbuf *other)
{
	size_t from = fuzz_below(r, other->size), to = fuzz_below(r, b->size);
	size_t len = fuzz_below(r, 256);

	if (len > other->size - from)
		len = other->size - from;
	if (len > b->size - to)
		len = b->size - to;
	memcpy(b->data + to, other->data + from, len);
}

/* Puts a damaged SEED, with pieces of OTHER perhaps, into OUT. */
static inline void fuzz_mutate(struct fuzz_random *r, const struct elfbuf *seed,
			       const struct elfbuf *other, struct elfbuf *out)
{
	out->size = 0;
	elfbuf_add(out, seed->data, seed->size);
	for (size_t n = 1 + fuzz_below(r, 4); n && out->size; n--) {
		switch (fuzz_below(r, 10)) {
		case 0:
			out->data[fuzz_below(r, out->size)] ^= (uint8_t)(1u << fuzz_below(r, 8));
			break;
		case 1:
			out->data[fuzz_below(r, out->size)] = (uint8_t)fuzz_next(r);
			break;
		case 2:
			if (!fuzz_below(r, 4))
				out->size = fuzz_below(r, out->size + 1);
			break;
		case 3:
			fuzz_splice(r, out, other);
			break;
		case 4:
		case 5:
		case 6:
			fuzz_headers(r, out);
			break;
		default:
			fuzz_note(r, out);
			break;
		}
	}
}

#endif
