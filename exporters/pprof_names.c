/* SPDX-License-Identifier: MIT */
/* See pprof_names.h.
 *
 * Names are left as they are: a function's system_name stays empty, for pprof takes a name whose system_name is the same
 * apart (it cuts what stands in brackets, as in `count(*)`).
 */
#include "pprof_names.h"

#include <errno.h>
#include <stdlib.h>

#include "../user/util/grow.h"
#include "protobuf.h"

/* Fields of the messages. */
enum { PROFILE_MAPPING = 3, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum {
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4, FUNCTION_START_LINE };

#define OUTSIDE "(outside spans)"

/* A location and its function: they have one number. */
struct pprof_frame {
	u32 name, file; /* strings */
	u32 line;
	u32 mapping; /* number; 0: none is known */
};

struct pprof_mapping {
	u32 file, build_id; /* strings */
	bool has_files, has_lines;
};

int pprof_names_new(struct pprof_names **out)
{
	CLEANUP(pprof_names_free) struct pprof_names *n = calloc(1, sizeof(*n));
	u32 id;
	int err = n ? strtab_new(&n->strings) : -ENOMEM;

	if (!err)
		err = strtab_add(n->strings, "", 0, &id);
	if (!err)
		*out = TAKE_PTR(n);
	return err;
}

void pprof_names_free(struct pprof_names **names)
{
	struct pprof_names *n = *names;

	if (!n)
		return;
	*names = NULL;
	strtab_free(&n->strings);
	free(n->frames);
	free(n->mappings);
	pairmap_free(&n->frame_of);
	pairmap_free(&n->mapping_of);
	text_buf_free(&n->scratch);
	free(n);
}

int pprof_names_scratch(struct pprof_names *n, u32 *id)
{
	if (n->scratch.failed)
		return -ENOMEM;
	return strtab_add(n->strings, n->scratch.len ? n->scratch.data : "", n->scratch.len, id);
}

int pprof_names_string(struct pprof_names *n, const char *text, u32 *id)
{
	text_cut(&n->scratch, 0);
	text_add_safe(&n->scratch, text);
	return pprof_names_scratch(n, id);
}

static int add_mapping(struct pprof_names *n, const struct model_def *def, u32 *number)
{
	struct pprof_mapping mapping = {0};
	int err = pprof_names_string(n, def->binary, &mapping.file);

	if (!err && def->build_id)
		err = pprof_names_string(n, def->build_id, &mapping.build_id);
	if (err)
		return err;
	if (!pairmap_get(&n->mapping_of, mapping.file, mapping.build_id, number)) {
		if (GROW(n->mappings, n->nmappings) ||
		    pairmap_put(&n->mapping_of, mapping.file, mapping.build_id, n->nmappings + 1))
			return -ENOMEM;
		n->mappings[n->nmappings++] = mapping;
		*number = n->nmappings;
	}
	n->mappings[*number - 1].has_files |= !!def->source_file;
	n->mappings[*number - 1].has_lines |= !!def->source_line;
	return 0;
}

static int fill_frame(struct pprof_names *n, const struct model_path *path,
		      struct pprof_frame *frame)
{
	const struct model_def *def = path->def;
	int err;

	*frame = (struct pprof_frame){0};
	if (!def)
		return pprof_names_string(n, path->name ? path->name : OUTSIDE, &frame->name);
	text_cut(&n->scratch, 0);
	text_add_safe(&n->scratch, def->provider);
	text_add_str(&n->scratch, ":");
	text_add_safe(&n->scratch, path->name ? path->name : def->name);
	err = pprof_names_scratch(n, &frame->name);
	if (!err && def->source_file) {
		frame->line = def->source_line;
		err = pprof_names_string(n, def->source_file, &frame->file);
	}
	if (!err && def->binary)
		err = add_mapping(n, def, &frame->mapping);
	return err;
}

int pprof_names_frame(struct pprof_names *n, const struct model_path *path, u32 *number)
{
	u64 def = pairmap_key(path->def);
	u64 name = pairmap_key(path->def && !path->name ? path->def->name : path->name);
	struct pprof_frame frame;
	int err;

	if (pairmap_get(&n->frame_of, def, name, number))
		return 0;
	err = fill_frame(n, path, &frame);
	if (!err)
		err = GROW(n->frames, n->nframes);
	if (!err)
		err = pairmap_put(&n->frame_of, def, name, n->nframes + 1);
	if (err)
		return err;
	n->frames[n->nframes++] = frame;
	*number = n->nframes;
	return 0;
}

static void put_flag(struct text_buf *out, u32 field, bool value)
{
	if (value)
		protobuf_u64(out, field, 1);
}

static void put_mappings(const struct pprof_names *n, struct text_buf *out)
{
	for (u32 i = 0; i < n->nmappings; i++) {
		const struct pprof_mapping *mapping = &n->mappings[i];
		size_t at = protobuf_open(out, PROFILE_MAPPING);

		protobuf_u64(out, MAPPING_ID, i + 1);
		protobuf_u64(out, MAPPING_FILE, mapping->file);
		if (mapping->build_id)
			protobuf_u64(out, MAPPING_BUILD_ID, mapping->build_id);
		/* Spans are all the functions that there are: nothing is to be looked up. */
		put_flag(out, MAPPING_HAS_FUNCTIONS, true);
		put_flag(out, MAPPING_HAS_FILES, mapping->has_files);
		put_flag(out, MAPPING_HAS_LINES, mapping->has_lines);
		protobuf_close(out, at);
	}
}

static void put_frames(const struct pprof_names *n, struct text_buf *out)
{
	for (u32 i = 0; i < n->nframes; i++) {
		const struct pprof_frame *frame = &n->frames[i];
		size_t at = protobuf_open(out, PROFILE_LOCATION), line;

		protobuf_u64(out, LOCATION_ID, i + 1);
		if (frame->mapping)
			protobuf_u64(out, LOCATION_MAPPING, frame->mapping);
		line = protobuf_open(out, LOCATION_LINE);
		protobuf_u64(out, LINE_FUNCTION, i + 1);
		if (frame->line)
			protobuf_u64(out, LINE_LINE, frame->line);
		protobuf_close(out, line);
		protobuf_close(out, at);

		at = protobuf_open(out, PROFILE_FUNCTION);
		protobuf_u64(out, FUNCTION_ID, i + 1);
		protobuf_u64(out, FUNCTION_NAME, frame->name);
		if (frame->file)
			protobuf_u64(out, FUNCTION_FILE, frame->file);
		if (frame->line)
			protobuf_u64(out, FUNCTION_START_LINE, frame->line);
		protobuf_close(out, at);
	}
}

void pprof_names_put(const struct pprof_names *n, struct text_buf *out)
{
	put_mappings(n, out);
	put_frames(n, out);
	for (u32 id = 0; id < strtab_count(n->strings); id++)
		protobuf_string(out, PROFILE_STRING, strtab_get(n->strings, id));
}
