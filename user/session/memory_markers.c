/* SPDX-License-Identifier: MIT */
/* See memory_markers.h. */
#include "memory_markers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../elf/elfnote.h"
#include "../util/cleanup.h"

#define PROVIDER "otel_memory"

void memory_markers_free(struct memory_markers **out)
{
	if (!*out)
		return;
	free((*out)->probes);
	free((*out)->values);
	free(*out);
	*out = NULL;
}

/* Why the first N arguments of SITE cannot all be read; NULL: they can. */
static const char *unreadable(const struct elfnote_site *site, u32 n)
{
	u32 i;

	if (site->refused)
		return site->refused;
	if (site->nargs < n)
		return "it has too few arguments";
	for (i = 0; i < n; i++)
		if (site->args[i].why)
			return site->args[i].why;
	return NULL;
}

static void add(struct memory_markers *markers, const struct elfnote_site *site, bool frees)
{
	struct wire_alloc_site *value = &markers->values[markers->n];

	value->block = site->args[0].operand;
	if (!frees) {
		value->bytes = site->args[1].operand;
		value->weight = site->args[2].operand;
	}
	markers->probes[markers->n++] = (struct attach_probe){
		.offset = site->offset,
		.sema_offset = site->sema_offset,
		.program = frees ? KERNEL_FREE_MARKER : KERNEL_ALLOC_MARKER,
	};
}

/* A marker of which one site is left out would count a part only: then none serves. */
static int gather(const struct elfnote_file *notes, bool heap, struct memory_markers *markers,
		  const char **why)
{
	bool allocs = false, frees = false;
	size_t i;

	markers->probes = calloc(notes->nsites + 1, sizeof(*markers->probes));
	markers->values = calloc(notes->nsites + 1, sizeof(*markers->values));
	if (!markers->probes || !markers->values)
		return -ENOMEM;
	for (i = 0; i < notes->nsites && !*why; i++) {
		const struct elfnote_site *site = &notes->sites[i];
		bool is_free = strcmp(site->name, "free") == 0;

		if (strcmp(site->provider, PROVIDER) != 0 ||
		    (!is_free && strcmp(site->name, "alloc") != 0) || (is_free && !heap))
			continue;
		*why = unreadable(site, is_free ? 1 : 3);
		if (!*why)
			add(markers, site, is_free);
		allocs |= !is_free;
		frees |= is_free;
	}
	if (!*why && markers->n > ALLOC_SITES_MAX)
		*why = "there are too many of them";
	if (!*why && allocs && heap && !frees)
		*why = "there is no free among them, which -m heap needs";
	return allocs && !*why;
}

int memory_markers_find(int fd, bool heap, struct memory_markers **out, const char **why)
{
	CLEANUP(elfnote_free) struct elfnote_file *notes = NULL;
	CLEANUP(memory_markers_free) struct memory_markers *markers = NULL;
	int err = elfnote_read(fd, &notes, NULL);

	*why = NULL;
	/* Of a file that cannot be read the plan tells. */
	if (err)
		return err == -ENOMEM ? err : 0;
	if (!notes->nsites)
		return 0;
	markers = calloc(1, sizeof(*markers));
	if (!markers)
		return -ENOMEM;
	err = gather(notes, heap, markers, why);
	if (err > 0)
		*out = TAKE_PTR(markers);
	return err < 0 ? err : 0;
}
