/* SPDX-License-Identifier: MIT */
/* See allocator.h. */
#include "allocator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../elf/decode.h"
#include "../elf/elfsym.h"
#include "../elf/reach.h"
#include "../util/cleanup.h"
#include "../util/grow.h"

#define CODE_MAX \
	(64u << 10)     /* of one function; longer ones are damaged, and probed at their entry */
#define VERSIONS_MAX 8u /* of one name */

enum form {
	FORM_C,
	FORM_NEW,     /* throws when there is no memory */
	FORM_NOTHROW, /* the same, and does not */
	FORM_DELETE,
};

struct known {
	const char *name;
	enum wire_alloc kind;
	enum form form;
};

/* The first of two that are one function is the one that counts. */
static const struct known c_names[] = {
	{"malloc", ALLOC_MALLOC, FORM_C},
	{"calloc", ALLOC_CALLOC, FORM_C},
	{"realloc", ALLOC_REALLOC, FORM_C},
	{"reallocarray", ALLOC_REALLOCARRAY, FORM_C},
	{"aligned_alloc", ALLOC_ALIGNED, FORM_C},
	{"memalign", ALLOC_ALIGNED, FORM_C},
	{"posix_memalign", ALLOC_POSIX, FORM_C},
	{"valloc", ALLOC_MALLOC, FORM_C},
	{"pvalloc", ALLOC_MALLOC, FORM_C},
	{"free", ALLOC_FREE, FORM_C},
	{"cfree", ALLOC_FREE, FORM_C},
	{"free_sized", ALLOC_FREE, FORM_C},
	{"free_aligned_sized", ALLOC_FREE, FORM_C},
	/* jemalloc */
	{"mallocx", ALLOC_MALLOC, FORM_C},
	{"rallocx", ALLOC_REALLOC, FORM_C},
	{"dallocx", ALLOC_FREE, FORM_C},
	{"sdallocx", ALLOC_FREE, FORM_C},
};

/* Names under a prefix of their own. */
static const struct known other_names[] = {
	{"mi_zalloc", ALLOC_MALLOC, FORM_C},          {"mi_malloc_small", ALLOC_MALLOC, FORM_C},
	{"mi_zalloc_small", ALLOC_MALLOC, FORM_C},    {"mi_mallocn", ALLOC_CALLOC, FORM_C},
	{"mi_reallocn", ALLOC_REALLOCARRAY, FORM_C},  {"mi_reallocf", ALLOC_REALLOC, FORM_C},
	{"mi_malloc_aligned", ALLOC_MALLOC, FORM_C},  {"mi_zalloc_aligned", ALLOC_MALLOC, FORM_C},
	{"mi_calloc_aligned", ALLOC_CALLOC, FORM_C},  {"mi_realloc_aligned", ALLOC_REALLOC, FORM_C},
	{"mi_free_size", ALLOC_FREE, FORM_C},         {"mi_free_aligned", ALLOC_FREE, FORM_C},
	{"mi_free_size_aligned", ALLOC_FREE, FORM_C}, {"tc_free_sized", ALLOC_FREE, FORM_C},
};

static const struct known cxx_names[] = {
	{"_Znwm", ALLOC_MALLOC, FORM_NEW},
	{"_Znam", ALLOC_MALLOC, FORM_NEW},
	{"_ZnwmSt11align_val_t", ALLOC_MALLOC, FORM_NEW},
	{"_ZnamSt11align_val_t", ALLOC_MALLOC, FORM_NEW},
	{"_ZnwmRKSt9nothrow_t", ALLOC_MALLOC, FORM_NOTHROW},
	{"_ZnamRKSt9nothrow_t", ALLOC_MALLOC, FORM_NOTHROW},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", ALLOC_MALLOC, FORM_NOTHROW},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", ALLOC_MALLOC, FORM_NOTHROW},
	{"_ZdlPv", ALLOC_FREE, FORM_DELETE},
	{"_ZdaPv", ALLOC_FREE, FORM_DELETE},
	{"_ZdlPvm", ALLOC_FREE, FORM_DELETE},
	{"_ZdaPvm", ALLOC_FREE, FORM_DELETE},
	{"_ZdlPvRKSt9nothrow_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdaPvRKSt9nothrow_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdlPvSt11align_val_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdaPvSt11align_val_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdlPvmSt11align_val_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdaPvmSt11align_val_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE, FORM_DELETE},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", ALLOC_FREE, FORM_DELETE},
};

static const struct known map_names[] = {
	{"mmap", ALLOC_MMAP, FORM_C},     {"mmap64", ALLOC_MMAP, FORM_C},
	{"mremap", ALLOC_MREMAP, FORM_C}, {"munmap", ALLOC_MUNMAP, FORM_C},
	{"brk", ALLOC_BRK, FORM_C},
};

/* Of allocators that are linked into a program beside the C library's. */
static const char *const prefixes[] = {"", "je_", "_rjem_", "tc_", "mi_"};

#define COUNT(items) (sizeof(items) / sizeof((items)[0]))

struct finder {
	const struct elfimage *image;
	struct elfsym *symbols;
	struct reach *reach;
	struct allocator *allocator;
	bool local;     /* functions that the file does not export, too */
	u64 *addresses; /* of each function */
	u64 *sizes;
};

static void finder_free(struct finder *f)
{
	reach_free(&f->reach);
	elfsym_free(&f->symbols);
	allocator_free(&f->allocator);
	free(f->addresses);
	free(f->sizes);
}

void allocator_free(struct allocator **out)
{
	if (!*out)
		return;
	free((*out)->functions);
	free(*out);
	*out = NULL;
}

/* The registers that the kernel side reads, see bpf/alloc.bpf.c. */
static u32 arguments_of(enum wire_alloc kind)
{
	switch (kind) {
	case ALLOC_MALLOC:
	case ALLOC_FREE:
		return 0x1;
	case ALLOC_CALLOC:
	case ALLOC_REALLOC:
		return 0x3;
	case ALLOC_ALIGNED:
	case ALLOC_MMAP:
	case ALLOC_MUNMAP:
		return 0x2;
	case ALLOC_REALLOCARRAY:
		return 0x7;
	case ALLOC_POSIX:
		return 0x5;
	case ALLOC_MREMAP:
		return 0x6;
	case ALLOC_BRK:
		return 0;
	}
	return 0x7;
}

static bool has(const struct finder *f, u64 address)
{
	size_t i;

	for (i = 0; i < f->allocator->nfunctions; i++)
		if (f->addresses[i] == address)
			return true;
	return false;
}

/* Finds the probe's place. Code that is not what it should be is probed at its entry. */
static int place(const struct finder *f, u64 address, u64 size, struct allocator_function *function)
{
	struct decode_entry entry = {.stepped = true};
	AUTO_FREE char *code = NULL;
	u64 offset;
	int err;

	function->stepped = true;
	if (f->image->machine != EM_X86_64)
		return 0;
	/* Without a size the code ends nobody knows where: the first instruction alone is looked at. */
	if (!size)
		size = 1;
	if (size > CODE_MAX || elfimage_locate(f->image, address, size, PF_X, &offset))
		return 0;
	err = elfimage_load(f->image, offset, size == 1 ? 2 : size, CODE_MAX, &code);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = decode_entry((const u8 *)code, size == 1 ? 2 : size, arguments_of(function->kind),
			   &entry);
	if (err == -ENOMEM)
		return err;
	if (size == 1 && entry.shift)
		return 0;
	function->probe += entry.shift;
	function->shift = entry.shift;
	function->stepped = entry.stepped;
	return 0;
}

static int add_function(struct finder *f, const struct known *known, const char *name, u64 address,
			u64 size)
{
	struct allocator *allocator = f->allocator;
	struct allocator_function function = {
		.kind = known->kind,
		.throws = known->form == FORM_NEW,
	};
	size_t n = allocator->nfunctions;
	int err;

	if (has(f, address) || elfimage_locate(f->image, address, 1, PF_X, &function.probe))
		return 0;
	function.inner = reach_from(f->reach, address, size);
	/* Its allocations are counted where it goes on to. What it calls in turn is not asked: jemalloc's operator new comes to
	 * malloc only there, when it has found no memory. */
	if (known->form != FORM_C && function.inner)
		return 0;
	snprintf(function.name, sizeof(function.name), "%s", name);
	err = place(f, address, size, &function);
	if (err)
		return err;
	if (GROW(allocator->functions, n) || GROW(f->addresses, n) || GROW(f->sizes, n))
		return -ENOMEM;
	f->addresses[n] = address;
	f->sizes[n] = size;
	allocator->functions[n] = function;
	allocator->nfunctions++;
	return 0;
}

/* Calls FN for the functions of N names, all with PREFIX. */
typedef int (*name_fn)(struct finder *f, const struct known *known, const char *name, u64 address,
		       u64 size);

static int each_name(struct finder *f, const struct known *names, size_t n, const char *prefix,
		     name_fn fn)
{
	struct elfsym_function found[VERSIONS_MAX];
	size_t i, j, nfound;
	char name[256];
	int err;

	for (i = 0; i < n; i++) {
		if (snprintf(name, sizeof(name), "%s%s", prefix, names[i].name) >=
		    (int)sizeof(name))
			continue;
		err = elfsym_functions(f->symbols, name, f->local, found, VERSIONS_MAX, &nfound);
		if (err)
			return err;
		for (j = 0; j < nfound; j++) {
			err = fn(f, &names[i], name, found[j].address, found[j].size);
			if (err)
				return err;
		}
	}
	return 0;
}

/* What functions may go on to. */
static int add_goal(struct finder *f, const struct known *known, const char *name, u64 address,
		    u64 size)
{
	(void)name;
	(void)size;
	return reach_add(f->reach, address, known->name);
}

static bool defines(struct finder *f, const char *name)
{
	struct elfsym_function found[VERSIONS_MAX];
	size_t n;

	return elfsym_functions(f->symbols, name, false, found, VERSIONS_MAX, &n) == 0 && n;
}

static const char *kind_of(struct finder *f)
{
	if (defines(f, "mallocx") || defines(f, "_rjem_mallocx") || defines(f, "je_mallocx"))
		return "jemalloc";
	if (defines(f, "tc_malloc"))
		return "tcmalloc";
	if (defines(f, "mi_malloc"))
		return "mimalloc";
	if (defines(f, "__libc_malloc"))
		return "glibc";
	if (defines(f, "malloc") && defines(f, "__libc_start_main"))
		return "musl";
	return "unknown";
}

/* malloc itself is at the bottom in all that are known; calloc of musl calls it. */
static void judge(struct allocator *allocator)
{
	bool known = strcmp(allocator->kind, "unknown") != 0;
	bool flat = known && strcmp(allocator->kind, "musl") != 0;
	size_t i;

	for (i = 0; i < allocator->nfunctions; i++) {
		struct allocator_function *function = &allocator->functions[i];
		const char *name = function->name;

		function->entry_tells = function->throws || (known && !strcmp(name, "malloc")) ||
					(flat && !strcmp(name, "calloc") && !function->inner);
	}
}

static int find(struct finder *f, const char *prefix)
{
	size_t i;
	int err = each_name(f, c_names, COUNT(c_names), prefix ? prefix : "", add_goal);

	for (i = 1; !prefix && !err && i < COUNT(prefixes); i++)
		err = each_name(f, c_names, COUNT(c_names), prefixes[i], add_goal);
	if (!prefix && !err)
		err = each_name(f, other_names, COUNT(other_names), "", add_goal);
	if (!prefix && !err)
		err = each_name(f, cxx_names, COUNT(cxx_names), "", add_goal);
	for (i = 0; !err && i < COUNT(c_names); i++)
		err = reach_add(f->reach, 0, c_names[i].name);
	if (prefix)
		return err ? err : each_name(f, c_names, COUNT(c_names), prefix, add_function);
	for (i = 0; !err && i < COUNT(prefixes); i++)
		err = each_name(f, c_names, COUNT(c_names), prefixes[i], add_function);
	if (!err)
		err = each_name(f, other_names, COUNT(other_names), "", add_function);
	if (!err && f->allocator->nfunctions)
		err = each_name(f, cxx_names, COUNT(cxx_names), "", add_function);
	if (!err)
		err = each_name(f, map_names, COUNT(map_names), "", add_function);
	return err;
}

int allocator_find(int fd, const char *prefix, struct allocator **out, const char **why)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	CLEANUP(finder_free) struct finder f = {.allocator = calloc(1, sizeof(struct allocator))};
	int err;

	*why = "its symbol tables cannot be read";
	if (!f.allocator)
		return -ENOMEM;
	err = elfimage_new(fd, &image, why);
	if (err)
		return err;
	*why = "its symbol tables cannot be read";
	f.image = image;
	f.local = prefix != NULL;
	err = elfsym_new(image, &f.symbols);
	if (!err)
		err = reach_new(image, &f.reach);
	if (!err)
		err = find(&f, prefix);
	if (err)
		return err;
	f.allocator->kind = prefix ? "unknown" : kind_of(&f);
	judge(f.allocator);
	*why = NULL;
	*out = TAKE_PTR(f.allocator);
	return 0;
}
