// SPDX-License-Identifier: MIT
/* Reads .note.spantrace and joins it to the sites; see elfmeta.h.
 *
 * Both sides can be tens of thousands, so the sites are put in order of marker and address once,
 * and each note then finds its own by halving.
 */
#include "elfmeta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"

struct note {
	u64 address;
	u32 line;
	u32 nkeys;
	const char *provider;
	const char *name;
	const char *file;
	const char *keys; /* NKEYS strings, end to end */
};

struct elfmeta {
	struct note *notes;
	size_t count, room;
	struct strpool *strings;
};

int elfmeta_new(struct elfmeta **out)
{
	struct elfmeta *meta = calloc(1, sizeof(*meta));
	int err;

	if (!meta)
		return -ENOMEM;
	err = strpool_new(&meta->strings);
	if (err) {
		free(meta);
		return err;
	}
	*out = meta;
	return 0;
}

void elfmeta_free(struct elfmeta **meta)
{
	if (!*meta)
		return;
	strpool_free(&(*meta)->strings);
	free((*meta)->notes);
	free(*meta);
	*meta = NULL;
}

/* Moves *AT behind the string there; NULL if no NUL ends it before END. */
static const char *take_string(const char **at, const char *end)
{
	const char *string = *at;
	const char *nul = memchr(string, '\0', (size_t)(end - string));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return string;
}

static bool parse_strings(struct note *note, const char *at, const char *end)
{
	const char *key;

	note->provider = take_string(&at, end);
	note->name = note->provider ? take_string(&at, end) : NULL;
	note->file = note->name ? take_string(&at, end) : NULL;
	if (!note->file)
		return false;
	note->keys = at;
	while ((key = take_string(&at, end)) && *key)
		if (++note->nkeys > ELFNOTE_MAX_ARGS)
			return false;
	return key;
}

int elfmeta_add(struct elfmeta *meta, const char *desc, size_t size)
{
	const size_t fixed = sizeof(u64) + sizeof(u32);
	struct note note = {0};
	char *strings;

	if (size < fixed)
		return -EINVAL;
	if (meta->count == ELFNOTE_MAX_SITES)
		return -E2BIG;
	if (meta->count == meta->room) {
		size_t room = meta->room ? meta->room * 2 : 64;
		struct note *notes = reallocarray(meta->notes, room, sizeof(*notes));

		if (!notes)
			return -ENOMEM;
		meta->notes = notes;
		meta->room = room;
	}
	memcpy(&note.address, desc, sizeof(u64));
	memcpy(&note.line, desc + sizeof(u64), sizeof(u32));
	strings = strpool_add(meta->strings, desc + fixed, size - fixed);
	if (!strings)
		return -ENOMEM;
	if (!parse_strings(&note, strings, strings + size - fixed))
		return -EINVAL;
	meta->notes[meta->count++] = note;
	return 0;
}

static int compare_marker(const struct elfnote_site *site, const char *provider, const char *name)
{
	int order = strcmp(site->provider, provider);

	return order ? order : strcmp(site->name, name);
}

static int compare_sites(const void *a, const void *b)
{
	const struct elfnote_site *left = *(struct elfnote_site *const *)a;
	const struct elfnote_site *right = *(struct elfnote_site *const *)b;
	int order = compare_marker(left, right->provider, right->name);

	if (order)
		return order;
	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left > right) - (left < right);
}

static int compare_notes(const void *a, const void *b)
{
	const struct note *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->line > right->line) - (left->line < right->line);
}

/* The last site of the note's marker at or below ADDRESS, or NULL. */
static struct elfnote_site *find_site(struct elfnote_site **sites, size_t count,
				      const struct note *note, u64 address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct elfnote_site *site = sites[middle];
		int order = compare_marker(site, note->provider, note->name);

		if (order < 0 || (order == 0 && site->vaddr <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || compare_marker(sites[low - 1], note->provider, note->name) != 0)
		return NULL;
	return sites[low - 1];
}

static int fill(struct elfnote_site *site, const struct note *note, struct strpool *strings)
{
	const char *key = note->keys;

	site->has_meta = true;
	if (*note->file) {
		site->source_file = strpool_add_printable(strings, note->file, strlen(note->file));
		if (!site->source_file)
			return -ENOMEM;
		site->source_line = note->line;
	}
	/* The labels are the last arguments: before them stand an id, a parent, a value, or
	 * nothing. */
	if (note->nkeys > site->nargs)
		return 0;
	for (u32 i = site->nargs - note->nkeys; i < site->nargs; i++, key += strlen(key) + 1) {
		site->args[i].key = strpool_add_printable(strings, key, strlen(key));
		if (!site->args[i].key)
			return -ENOMEM;
	}
	return 0;
}

int elfmeta_apply(struct elfmeta *meta, u64 shift, struct elfnote_file *file,
		  struct strpool *strings)
{
	AUTO_FREE struct elfnote_site **sites = NULL;

	if (!meta->count || !file->nsites)
		return 0;
	sites = calloc(file->nsites, sizeof(struct elfnote_site *));
	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < file->nsites; i++)
		sites[i] = &file->sites[i];
	qsort(sites, file->nsites, sizeof(struct elfnote_site *), compare_sites);
	/* Of several notes behind one site the nearest is its own. */
	qsort(meta->notes, meta->count, sizeof(*meta->notes), compare_notes);
	for (size_t i = 0; i < meta->count; i++) {
		const struct note *note = &meta->notes[i];
		struct elfnote_site *site =
			find_site(sites, file->nsites, note, note->address + shift);
		int err = 0;

		if (site && !site->has_meta)
			err = fill(site, note, strings);
		if (err)
			return err;
	}
	return 0;
}
