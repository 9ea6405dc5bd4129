// SPDX-License-Identifier: MIT
/* A hash table over a file's symbols; see elfsym.h.
 *
 * A hostile file chooses its names, and so can put all into one bucket or make each a megabyte
 * long. Both are budgets here: what a real file needs is far inside them, and what goes beyond
 * ends in an error.
 */
#include "elfsym.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"

#define MAX_TABLE   (256u << 20) /* bytes of one symbol or string table */
#define NAME_BUDGET (256u << 20) /* bytes of names hashed in all */
#define STEP_BUDGET (64u << 20)  /* symbols looked at in all, over every question */
#define TABLES      2

struct table {
	char *strings;
	size_t strings_size;
	Elf64_Sym *symbols;
	size_t count;
};

struct entry {
	const char *name;
	u64 address;
	u64 size;
	u32 hash;
	u32 next; /* index + 1; 0 ends the chain */
	bool is_function;
	bool is_local; /* other files cannot see it */
};

struct elfsym {
	const struct elfimage *image;
	bool loaded;
	int err; /* of loading: each question gets the same answer */
	char *strings[TABLES];
	struct entry *entries;
	size_t nentries;
	u32 *buckets;    /* index + 1 */
	size_t nbuckets; /* a power of two */
	u64 names_left;
	u64 steps_left;
};

int elfsym_new(const struct elfimage *image, struct elfsym **out)
{
	struct elfsym *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->image = image;
	symbols->names_left = NAME_BUDGET;
	symbols->steps_left = STEP_BUDGET;
	*out = symbols;
	return 0;
}

void elfsym_free(struct elfsym **symbols)
{
	if (!*symbols)
		return;
	for (size_t i = 0; i < TABLES; i++)
		free((*symbols)->strings[i]);
	free((*symbols)->entries);
	free((*symbols)->buckets);
	free(*symbols);
	*symbols = NULL;
}

/* FNV-1a. */
static u32 hash_name(const char *name, size_t len)
{
	u32 hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash;
}

static void free_table(struct table *table)
{
	free(table->strings);
	free(table->symbols);
}

/* Reads the first symbol table of TYPE with the strings that it points to. */
static int load_table(const struct elfimage *image, u32 type, struct table *table)
{
	const Elf64_Shdr *symbols = NULL, *strings;
	char *data = NULL;
	int err;

	for (size_t i = 0; i < image->nsections && !symbols; i++)
		if (image->sections[i].sh_type == type)
			symbols = &image->sections[i];
	if (!symbols || !elfimage_section_has_data(symbols))
		return 0;
	if (symbols->sh_entsize != sizeof(Elf64_Sym) || symbols->sh_link >= image->nsections)
		return -EBADMSG;
	strings = &image->sections[symbols->sh_link];
	if (strings->sh_type != SHT_STRTAB || !elfimage_section_has_data(strings))
		return -EBADMSG;
	err = elfimage_load(image, strings->sh_offset, strings->sh_size, MAX_TABLE,
			    &table->strings);
	if (err)
		return err;
	table->strings_size = strings->sh_size;
	err = elfimage_load(image, symbols->sh_offset, symbols->sh_size, MAX_TABLE, &data);
	if (err)
		return err;
	table->symbols = (Elf64_Sym *)data;
	table->count = symbols->sh_size / sizeof(Elf64_Sym);
	return 0;
}

/* Data, functions, and what assembly leaves without a type; no sections, files or thread-local
 * offsets. */
static bool has_address(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_NOTYPE:
	case STT_OBJECT:
	case STT_FUNC:
		return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
		       symbol->st_shndx != SHN_COMMON;
	}
	return false;
}

static int index_table(struct elfsym *s, const struct table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const Elf64_Sym *symbol = &table->symbols[i];
		struct entry *entry;
		size_t len;
		u32 *bucket;

		if (!has_address(symbol) || symbol->st_name >= table->strings_size)
			continue;
		entry = &s->entries[s->nentries];
		entry->name = table->strings + symbol->st_name;
		len = strnlen(entry->name, s->names_left);
		if (len >= s->names_left)
			return -EFBIG;
		s->names_left -= len;
		entry->address = symbol->st_value;
		entry->size = symbol->st_size;
		entry->is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
		entry->is_local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
		entry->hash = hash_name(entry->name, len);
		bucket = &s->buckets[entry->hash & (s->nbuckets - 1)];
		entry->next = *bucket;
		*bucket = (u32)++s->nentries;
	}
	return 0;
}

static int load(struct elfsym *s)
{
	static const u32 types[TABLES] = {SHT_SYMTAB, SHT_DYNSYM};
	CLEANUP(free_table) struct table first = {0}, second = {0};
	struct table *const tables[TABLES] = {&first, &second};
	size_t total;
	int err;

	for (size_t i = 0; i < TABLES; i++) {
		err = load_table(s->image, types[i], tables[i]);
		if (err)
			return err;
	}
	total = first.count + second.count;
	for (s->nbuckets = 16; s->nbuckets < total;)
		s->nbuckets *= 2;
	s->entries = calloc(total ? total : 1, sizeof(*s->entries));
	s->buckets = calloc(s->nbuckets, sizeof(*s->buckets));
	if (!s->entries || !s->buckets)
		return -ENOMEM;
	for (size_t i = 0; i < TABLES; i++) {
		err = index_table(s, tables[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < TABLES; i++)
		s->strings[i] = TAKE_PTR(tables[i]->strings);
	return 0;
}

/* The entry called NAME behind AT (NULL: the first); NULL with 0 in *ERR where there is no more. */
static const struct entry *next_called(struct elfsym *s, const struct entry *at, const char *name,
				       size_t len, int *err)
{
	u32 hash = hash_name(name, len), next;

	if (!s->loaded) {
		s->err = load(s);
		s->loaded = true;
	}
	*err = s->err;
	if (s->err)
		return NULL;
	next = at ? at->next : s->buckets[hash & (s->nbuckets - 1)];
	for (; next; next = s->entries[next - 1].next) {
		const struct entry *entry = &s->entries[next - 1];

		if (!s->steps_left) {
			*err = -EFBIG;
			return NULL;
		}
		s->steps_left--;
		if (entry->hash == hash && strncmp(entry->name, name, len) == 0 &&
		    !entry->name[len])
			return entry;
	}
	return NULL;
}

int elfsym_find(void *arg, const char *name, size_t len, u64 *address)
{
	const struct entry *entry = NULL;
	bool found = false;
	int err;

	while ((entry = next_called(arg, entry, name, len, &err))) {
		if (found && entry->address != *address)
			return -ENOTUNIQ;
		found = true;
		*address = entry->address;
	}
	if (err)
		return err;
	return found ? 0 : -ENOENT;
}

int elfsym_functions(struct elfsym *s, const char *name, bool local, struct elfsym_function *out,
		     size_t max, size_t *n)
{
	const struct entry *entry = NULL;
	int err;
	size_t i;

	*n = 0;
	while ((entry = next_called(s, entry, name, strlen(name), &err))) {
		if (!entry->is_function || (entry->is_local && !local))
			continue;
		for (i = 0; i < *n && out[i].address != entry->address; i++)
			;
		if (i < *n)
			continue;
		if (*n == max)
			return -EFBIG;
		out[(*n)++] = (struct elfsym_function){entry->address, entry->size};
	}
	return err;
}
