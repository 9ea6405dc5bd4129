/* SPDX-License-Identifier: MIT */
/* See reach.h. */
#include "reach.h"

#include <errno.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "decode.h"

#define CODE_MAX     (16u << 10) /* bytes of one function that are looked at */
#define CODE_UNKNOWN 2048u       /* … of one without a size */
#define STUB_BYTES   16u         /* a stub of the linkage table */
#define RELOCS_MAX   (8u << 20)  /* bytes of one table */
#define SYMBOLS_MAX  (64u << 20)

struct goal {
	u64 address;
	const char *name;
};

/* A slot of the global offset table that holds an imported function. */
struct import {
	u64 slot;
	u64 address; /* of the function in this file; 0: it is in another */
	u32 name;    /* in strings */
};

struct reach {
	const struct elfimage *image;
	struct goal *goals;
	size_t ngoals;
	bool loaded;
	struct import *imports;
	size_t nimports;
	char *strings;
	size_t strings_size;
};

int reach_new(const struct elfimage *image, struct reach **out)
{
	struct reach *reach = calloc(1, sizeof(*reach));

	if (!reach)
		return -ENOMEM;
	reach->image = image;
	*out = reach;
	return 0;
}

void reach_free(struct reach **out)
{
	if (!*out)
		return;
	free((*out)->goals);
	free((*out)->imports);
	free((*out)->strings);
	free(*out);
	*out = NULL;
}

int reach_add(struct reach *reach, u64 address, const char *name)
{
	if (GROW(reach->goals, reach->ngoals))
		return -ENOMEM;
	reach->goals[reach->ngoals++] = (struct goal){address, name};
	return 0;
}

static const Elf64_Shdr *dynamic_symbols(const struct elfimage *image)
{
	size_t i;

	for (i = 0; i < image->nsections; i++)
		if (image->sections[i].sh_type == SHT_DYNSYM)
			return elfimage_section_has_data(&image->sections[i]) ? &image->sections[i]
									      : NULL;
	return NULL;
}

static int load_relocations(struct reach *reach, const Elf64_Shdr *section,
			    const Elf64_Sym *symbols, size_t nsymbols)
{
	AUTO_FREE char *data = NULL;
	const Elf64_Rela *rela;
	size_t i, n;
	int err;

	err = elfimage_load(reach->image, section->sh_offset, section->sh_size, RELOCS_MAX, &data);
	if (err)
		return err;
	rela = (const Elf64_Rela *)data;
	n = section->sh_size / sizeof(*rela);
	for (i = 0; i < n; i++) {
		u32 type = ELF64_R_TYPE(rela[i].r_info);
		u64 symbol = ELF64_R_SYM(rela[i].r_info);

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || !symbol ||
		    symbol >= nsymbols)
			continue;
		if (GROW(reach->imports, reach->nimports))
			return -ENOMEM;
		reach->imports[reach->nimports++] = (struct import){
			.slot = rela[i].r_offset,
			.address = symbols[symbol].st_shndx != SHN_UNDEF ? symbols[symbol].st_value
									 : 0,
			.name = symbols[symbol].st_name,
		};
	}
	return 0;
}

static int compare_imports(const void *a, const void *b)
{
	const struct import *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Without such tables the file imports nothing, or nothing that we can see. */
static int load(struct reach *reach)
{
	const struct elfimage *image = reach->image;
	const Elf64_Shdr *dynsym = dynamic_symbols(image), *strings;
	AUTO_FREE char *symbols = NULL;
	size_t i;
	int err;

	if (!dynsym || dynsym->sh_entsize != sizeof(Elf64_Sym) ||
	    dynsym->sh_link >= image->nsections)
		return 0;
	strings = &image->sections[dynsym->sh_link];
	if (strings->sh_type != SHT_STRTAB || !elfimage_section_has_data(strings))
		return 0;
	err = elfimage_load(image, strings->sh_offset, strings->sh_size, SYMBOLS_MAX,
			    &reach->strings);
	if (err)
		return err;
	reach->strings_size = strings->sh_size;
	err = elfimage_load(image, dynsym->sh_offset, dynsym->sh_size, SYMBOLS_MAX, &symbols);
	for (i = 0; !err && i < image->nsections; i++)
		if (image->sections[i].sh_type == SHT_RELA &&
		    &image->sections[image->sections[i].sh_link % image->nsections] == dynsym)
			err = load_relocations(reach, &image->sections[i],
					       (const Elf64_Sym *)symbols,
					       dynsym->sh_size / sizeof(Elf64_Sym));
	if (!err && reach->nimports)
		qsort(reach->imports, reach->nimports, sizeof(*reach->imports), compare_imports);
	return err;
}

static bool is_goal(const struct reach *reach, u64 address)
{
	size_t i;

	for (i = 0; i < reach->ngoals; i++)
		if (reach->goals[i].address && reach->goals[i].address == address)
			return true;
	return false;
}

/* One question. */
struct walk {
	const struct reach *reach;
	u64 from;
	bool in_stub;
};

static int follow_slot(const struct walk *walk, u64 slot)
{
	const struct reach *reach = walk->reach;
	const struct import key = {.slot = slot};
	const struct import *import;
	size_t i;

	if (!reach->nimports)
		return 0;
	import = bsearch(&key, reach->imports, reach->nimports, sizeof(key), compare_imports);
	if (!import || (import->address && import->address == walk->from))
		return 0;
	if (is_goal(reach, import->address))
		return 1;
	for (i = 0; i < reach->ngoals && import->name < reach->strings_size; i++)
		if (reach->goals[i].name &&
		    strcmp(reach->goals[i].name, reach->strings + import->name) == 0)
			return 1;
	return 0;
}

static int follow(void *context, u64 target, bool slot);

/* Walks the function at ADDRESS; without a SIZE as far as it seems to go. 1: it goes on to a goal. */
static int look(struct walk *walk, u64 address, u64 size)
{
	const struct elfimage *image = walk->reach->image;
	u64 offset, want = size ? size : walk->in_stub ? STUB_BYTES : CODE_UNKNOWN;
	AUTO_FREE char *code = NULL;

	if (want > CODE_MAX)
		want = CODE_MAX;
	/* The file may end before what is not known does. */
	while (!size && want > STUB_BYTES && elfimage_locate(image, address, want, PF_X, &offset))
		want /= 2;
	if (elfimage_locate(image, address, want, PF_X, &offset) ||
	    elfimage_load(image, offset, want, CODE_MAX, &code))
		return 0;
	return decode_targets((const u8 *)code, want, size && size <= CODE_MAX, address, follow,
			      walk);
}

static int follow(void *context, u64 target, bool slot)
{
	struct walk *walk = context;
	int found;

	if (slot)
		return follow_slot(walk, target);
	if (target != walk->from && is_goal(walk->reach, target))
		return 1;
	/* It may be a stub of the linkage table, which is one jump through a slot. */
	if (walk->in_stub || !walk->reach->nimports)
		return 0;
	walk->in_stub = true;
	found = look(walk, target, 0);
	walk->in_stub = false;
	return found;
}

bool reach_from(struct reach *reach, u64 address, u64 size)
{
	struct walk walk = {.reach = reach, .from = address};

	if (!reach->loaded) {
		reach->loaded = true;
		if (load(reach))
			reach->nimports = 0;
	}
	return look(&walk, address, size) > 0;
}
