// SPDX-License-Identifier: MIT
/* Walks the notes of an ELF file and makes sites of its markers; see elfnote.h.
 *
 * Notes are found by their owner in any note section, whatever it is called, or in a PT_NOTE
 * segment where the file has no sections. One site is made for every marker's note, also a bad
 * one, which says why it is bad; only when the lengths themselves are wrong is the rest of a
 * section out of reach, and then the file says so.
 */
#include "elfnote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/batch.h"
#include "../../include/note.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/strpool.h"
#include "elfimage.h"
#include "elfmeta.h"
#include "elfnote_check.h"
#include "elfsym.h"
#include "operand.h"

#define STAPSDT_SECTION ".note.stapsdt"
#define STAPSDT_OWNER   "stapsdt"
#define STAPSDT_TYPE    3
#define STAPSDT_BASE    ".stapsdt.base"

#define MAX_NAME       255
#define MAX_ARGS_TEXT  16384
#define MAX_NOTE_BYTES (64u << 20) /* in all of a file; ELFNOTE_MAX_SITES of 640 bytes */

#define CUT_NOTES "its notes are cut or damaged: markers may be missing"

struct reader {
	const struct elfimage *image;
	struct elfnote_file *file;
	struct strpool *strings; /* owned by file */
	struct elfsym *symbols;
	struct elfmeta *meta;
	size_t room; /* of file->sites */
	u64 bytes_left;
	const Elf64_Shdr *base; /* .stapsdt.base, or NULL */
	u64 shift;              /* what prelink(8) moved the code by since the notes were made */
	bool cut;               /* there are notes that could not be reached */
	const char *why;
};

/* One stretch of notes in the file. */
struct area {
	u64 offset, size, align;
	bool ours; /* named so: that it cannot be read is worth a word */
};

/* One note in an area that was read. */
struct note {
	u32 type;
	const char *owner;
	size_t owner_size; /* with its NUL */
	const char *desc;
	size_t desc_size;
};

static bool note_is(const struct note *note, const char *owner)
{
	return note->owner_size == strlen(owner) + 1 &&
	       memcmp(note->owner, owner, note->owner_size) == 0;
}

static bool has_control_character(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return true;
	return false;
}

/* Takes the string at *AT into STRINGS, cut to MAX, and moves *AT behind it. What is wrong with
 * it goes to *WHY, unless something stands there. NULL without memory. */
static const char *take_string(struct reader *r, const char **at, const char *end, size_t max,
			       const char *too_long, const char **why)
{
	const char *text = *at;
	size_t len = strnlen(text, (size_t)(end - text));

	*at = text + len;
	if (*at < end)
		++*at;
	else if (!*why)
		*why = "its note is cut";
	if (len > max) {
		len = max;
		if (!*why)
			*why = too_long;
	}
	return strpool_add_printable(r->strings, text, len);
}

static const char *take_name(struct reader *r, const char **at, const char *end, const char **why)
{
	const char *text = *at;
	const char *name =
		take_string(r, at, end, MAX_NAME, "its name is longer than 255 bytes", why);

	if (!*why && name && !*name)
		*why = "its name is empty";
	if (!*why && name && has_control_character(text, strlen(name)))
		*why = "its name has control characters in it";
	return name && !*name ? "?" : name;
}

static int parse_args(struct reader *r, struct elfnote_site *site)
{
	const struct operand_site where = {
		.machine = r->image->machine,
		.fixed_addresses = r->image->type == ET_EXEC,
		.pc = site->vaddr,
		.symbol = elfsym_find,
		.symbol_arg = r->symbols,
	};
	const char *at = site->args_text, *end = at + strlen(at), *text;
	size_t len;

	while (site->nargs < ELFNOTE_MAX_ARGS && (len = operand_next(&at, end, &text))) {
		struct elfnote_arg *arg = &site->args[site->nargs++];

		arg->text = strpool_add(r->strings, text, len);
		if (!arg->text)
			return -ENOMEM;
		operand_parse(&where, text, len, &arg->operand, &arg->why);
	}
	return 0;
}

static int new_site(struct reader *r, struct elfnote_site **out)
{
	struct elfnote_file *file = r->file;

	if (file->nsites == ELFNOTE_MAX_SITES) {
		r->why = "it has more than 100,000 markers";
		return -E2BIG;
	}
	if (file->nsites == r->room) {
		size_t room = r->room ? r->room * 2 : 16;
		struct elfnote_site *sites = reallocarray(file->sites, room, sizeof(*sites));

		if (!sites)
			return -ENOMEM;
		file->sites = sites;
		r->room = room;
	}
	*out = &file->sites[file->nsites++];
	**out = (struct elfnote_site){.provider = "?", .name = "?", .args_text = ""};
	return 0;
}

/* Provider, name and arguments stand behind a head of HEAD bytes. */
static int take_texts(struct reader *r, const struct note *note, size_t head,
		      struct elfnote_site *site)
{
	const char *at = note->desc + head, *end = note->desc + note->desc_size;

	site->provider = take_name(r, &at, end, &site->refused);
	site->name = take_name(r, &at, end, &site->refused);
	site->args_text = take_string(r, &at, end, MAX_ARGS_TEXT,
				      "its arguments are longer than 16384 bytes", &site->refused);
	if (!site->provider || !site->name || !site->args_text)
		return -ENOMEM;
	return parse_args(r, site);
}

static int add_site(struct reader *r, const struct note *note)
{
	struct elfnote_site *site;
	struct {
		u64 pc, base, semaphore;
	} head = {0};
	int err;

	err = new_site(r, &site);
	if (err)
		return err;
	if (note->type != STAPSDT_TYPE) {
		site->refused = "its note is of a version that spantrace does not know";
		return 0;
	}
	if (note->desc_size < sizeof(head)) {
		site->refused = "its note is cut";
		return 0;
	}
	memcpy(&head, note->desc, sizeof(head));
	/* A base of 0 is a .stapsdt.base that the linker left out: the rest is right as it is. */
	if (r->base && head.base) {
		r->shift = r->base->sh_addr - head.base;
		head.pc += r->shift;
		head.semaphore += head.semaphore ? r->shift : 0;
	}
	site->vaddr = head.pc;
	site->sema_vaddr = head.semaphore;
	return take_texts(r, note, sizeof(head), site);
}

/* A batched marker: a site that nothing is attached to. */
static int add_batched(struct reader *r, const struct note *note)
{
	struct elfnote_site *site;
	struct {
		u64 pc, place;
	} head = {0};
	int err;

	err = new_site(r, &site);
	if (err)
		return err;
	site->batched = true;
	if (note->desc_size < sizeof(head)) {
		site->refused = "its note is cut";
		return 0;
	}
	memcpy(&head, note->desc, sizeof(head));
	site->vaddr = head.pc;
	site->place = head.place;
	return take_texts(r, note, sizeof(head), site);
}

static int add_fetch(struct reader *r, const struct note *note)
{
	struct elfnote_file *file = r->file;
	struct {
		u64 pc, semaphore, begin, end;
		u32 clock;
	} __attribute__((packed)) head;

	/* The batched markers are refused without it. */
	if (note->desc_size < sizeof(head) || file->nfetches == ELFNOTE_MAX_SITES)
		return 0;
	memcpy(&head, note->desc, sizeof(head));
	if (!head.pc) /* in a function that the linker left out */
		return 0;
	if (GROW(file->fetches, file->nfetches))
		return -ENOMEM;
	file->fetches[file->nfetches++] = (struct elfnote_fetch){
		.begin = head.begin,
		.end = head.end,
		.clock = head.clock,
		.site = {.provider = "spantrace",
			 .name = "fetch",
			 .vaddr = head.pc,
			 .sema_vaddr = head.semaphore},
	};
	return 0;
}

static void add_build_id(struct reader *r, const struct note *note)
{
	static const char digits[] = "0123456789abcdef";
	char *to = r->file->build_id;

	if (*to)
		return;
	for (size_t i = 0; i < note->desc_size && i < sizeof(r->file->build_id) / 2; i++) {
		*to++ = digits[(unsigned char)note->desc[i] >> 4];
		*to++ = digits[note->desc[i] & 15];
	}
	*to = '\0';
}

static int add_note(struct reader *r, const struct note *note, struct area *area)
{
	int err;

	if (note->type == NT_GNU_BUILD_ID && note_is(note, ELF_NOTE_GNU)) {
		add_build_id(r, note);
		return 0;
	}
	if (note_is(note, STAPSDT_OWNER)) {
		area->ours = true;
		return add_site(r, note);
	}
	if (note->type == NOTE_BATCHED && note_is(note, NOTE_OWNER)) {
		area->ours = true;
		return add_batched(r, note);
	}
	if (note->type == NOTE_FETCH && note_is(note, NOTE_OWNER)) {
		area->ours = true;
		return add_fetch(r, note);
	}
	if (note->type == NOTE_SITE && note_is(note, NOTE_OWNER)) {
		area->ours = true;
		err = elfmeta_add(r->meta, note->desc, note->desc_size);
		if (err == -ENOMEM)
			return err;
		if (err)
			r->file->damaged =
				"its .note.spantrace is damaged: source lines and label names may be missing";
	}
	return 0;
}

/* Cuts the next note off *AT. Returns 0; -ENOENT at the end; -EBADMSG for lengths that do not fit. */
static int next_note(const char **at, const char *end, size_t align, struct note *note)
{
	size_t left = (size_t)(end - *at), owner, desc;
	Elf64_Nhdr head;

	if (left < sizeof(head)) {
		for (size_t i = 0; i < left; i++)
			if ((*at)[i])
				return -EBADMSG;
		return -ENOENT;
	}
	memcpy(&head, *at, sizeof(head));
	left -= sizeof(head);
	/* 32-bit lengths in 64-bit arithmetic: none of these sums can wrap. */
	owner = ((size_t)head.n_namesz + align - 1) & ~(align - 1);
	desc = ((size_t)head.n_descsz + align - 1) & ~(align - 1);
	if (owner > left || head.n_descsz > left - owner)
		return -EBADMSG;
	note->type = head.n_type;
	note->owner = *at + sizeof(head);
	note->owner_size = head.n_namesz;
	note->desc = note->owner + owner;
	note->desc_size = head.n_descsz;
	left -= owner;
	/* Some linkers do not pad the last one. */
	*at = note->desc + (desc < left ? desc : left);
	return 0;
}

static void notes_are_cut(struct reader *r)
{
	r->cut = true;
	r->file->damaged = CUT_NOTES;
}

static int read_area(struct reader *r, struct area *area)
{
	AUTO_FREE char *data = NULL;
	const char *at;
	struct note note;
	int err;

	err = elfimage_load(r->image, area->offset, area->size, r->bytes_left, &data);
	if (err == -EFBIG && area->ours) {
		r->why = "its notes are larger than 64 MiB";
		return -E2BIG;
	}
	if (err == -EBADMSG && area->ours)
		notes_are_cut(r);
	if (err == -EFBIG || err == -EBADMSG)
		return 0;
	if (err)
		return err;
	r->bytes_left -= area->size;
	at = data;
	for (;;) {
		err = next_note(&at, data + area->size, area->align == 8 ? 8 : 4, &note);
		if (err == -ENOENT)
			return 0;
		if (err == -EBADMSG) {
			if (area->ours)
				notes_are_cut(r);
			return 0;
		}
		err = add_note(r, &note, area);
		if (err)
			return err;
	}
}

static int read_note_segments(struct reader *r)
{
	for (size_t i = 0; i < r->image->nsegments; i++) {
		const Elf64_Phdr *segment = &r->image->segments[i];
		struct area area = {segment->p_offset, segment->p_filesz, segment->p_align, false};
		int err;

		if (segment->p_type != PT_NOTE)
			continue;
		err = read_area(r, &area);
		if (err)
			return err;
	}
	return 0;
}

static int read_note_sections(struct reader *r)
{
	for (size_t i = 0; i < r->image->nsections; i++) {
		const Elf64_Shdr *section = &r->image->sections[i];
		const char *name = elfimage_section_name(r->image, section);
		struct area area = {section->sh_offset, section->sh_size, section->sh_addralign,
				    false};
		int err;

		if (!elfimage_section_has_data(section))
			continue;
		area.ours = strcmp(name, STAPSDT_SECTION) == 0 || strcmp(name, NOTE_SECTION) == 0;
		if (section->sh_type != SHT_NOTE && !area.ours)
			continue;
		err = read_area(r, &area);
		if (err)
			return err;
	}
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct elfnote_site *left = a, *right = b;
	int order;

	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	order = strcmp(left->provider, right->provider);
	if (!order)
		order = strcmp(left->name, right->name);
	if (!order)
		order = strcmp(left->args_text, right->args_text);
	if (!order)
		order = (left->sema_vaddr > right->sema_vaddr) -
			(left->sema_vaddr < right->sema_vaddr);
	return order;
}

static int read_file(struct reader *r)
{
	struct elfnote_file *file = r->file;
	int err;

	r->base = elfimage_section(r->image, STAPSDT_BASE);
	err = r->image->nsections ? read_note_sections(r) : read_note_segments(r);
	if (err)
		return err;
	if (!file->nsites) {
		r->why = CUT_NOTES;
		return r->cut ? -EBADMSG : 0;
	}
	qsort(file->sites, file->nsites, sizeof(*file->sites), compare_sites);
	elfnote_check(r->image, file);
	return elfmeta_apply(r->meta, r->shift, file, r->strings);
}

void elfnote_free(struct elfnote_file **file)
{
	struct strpool *strings;

	if (!*file)
		return;
	strings = (*file)->strings;
	strpool_free(&strings);
	free((*file)->sites);
	free((*file)->fetches);
	free(*file);
	*file = NULL;
}

static int new_file(const struct elfimage *image, struct elfnote_file **out)
{
	CLEANUP(elfnote_free) struct elfnote_file *file = calloc(1, sizeof(*file));
	struct strpool *strings;
	int err;

	if (!file)
		return -ENOMEM;
	err = strpool_new(&strings);
	if (err)
		return err;
	file->strings = strings;
	file->machine = image->machine;
	file->inode = image->inode;
	file->device = image->device;
	*out = TAKE_PTR(file);
	return 0;
}

int elfnote_read(int fd, struct elfnote_file **out, const char **why)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	CLEANUP(elfnote_free) struct elfnote_file *file = NULL;
	CLEANUP(elfsym_free) struct elfsym *symbols = NULL;
	CLEANUP(elfmeta_free) struct elfmeta *meta = NULL;
	struct reader r = {.bytes_left = MAX_NOTE_BYTES};
	int err;

	err = elfimage_new(fd, &image, &r.why);
	if (!err)
		err = new_file(image, &file);
	if (!err)
		err = elfsym_new(image, &symbols);
	if (!err)
		err = elfmeta_new(&meta);
	if (!err) {
		r.image = image;
		r.file = file;
		r.strings = file->strings;
		r.symbols = symbols;
		r.meta = meta;
		err = read_file(&r);
	}
	if (err) {
		if (why)
			*why = r.why ? r.why : "it cannot be read, or there is not enough memory";
		return err;
	}
	*out = TAKE_PTR(file);
	return 0;
}

bool elfnote_same_file(const struct elfnote_file *a, const struct elfnote_file *b)
{
	if (a->inode != b->inode || strcmp(a->build_id, b->build_id) != 0)
		return false;
	/* On an overlay file system one file shows under several devices; without a build-id
	 * there is nothing better to go by. */
	return a->build_id[0] || a->device == b->device;
}
