/* SPDX-License-Identifier: MIT */
/* Debug information, as far as coz needs it; see coz_program.h. Which builds each version of coz can read was tried out;
 * the README has the table. */
#include "coz_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../elf/elfimage.h"
#include "../elf/elfnote.h"
#include "../util/cleanup.h"
#include "../util/varint.h"

#define UNITS_MAX    (1u << 20)
#define ABBREV_MAX   (256u << 20)
#define DEBUG_FOLDER "/usr/lib/debug"

#define DWARF64                0xffffffffu
#define DW_AT_GNU_locviews     0x2137u
#define DW_FORM_implicit_const 0x21u

/* The greatest version of the units of .debug_info, which is walked by their lengths. 0: there is none that makes
 * sense. */
static unsigned greatest_version(const struct elfimage *image, const Elf64_Shdr *section)
{
	unsigned greatest = 0, units = 0;
	u64 at = 0;

	while (units++ < UNITS_MAX && at + 6 <= section->sh_size) {
		u8 head[14] = {0};
		u64 rest = section->sh_size - at, length;
		size_t n = rest < sizeof(head) ? (size_t)rest : sizeof(head);
		u32 length32;
		u16 version;
		bool wide;

		if (elfimage_read(image, section->sh_offset + at, head, n))
			break;
		memcpy(&length32, head, sizeof(length32));
		wide = length32 == DWARF64;
		length = length32;
		if (wide)
			memcpy(&length, head + 4, sizeof(length));
		memcpy(&version, head + (wide ? 12 : 4), sizeof(version));
		if (version > greatest && version < 100)
			greatest = version;
		if (length > rest || length + (wide ? 12 : 4) > rest)
			break;
		at += length + (wide ? 12 : 4);
	}
	return greatest;
}

/* Whether any abbreviation has the attribute of location views. The tables stand one behind the other. */
static bool has_views(const struct elfimage *image, const Elf64_Shdr *section)
{
	AUTO_FREE char *data = NULL;
	const u8 *at, *end;
	u64 code, name, form, value;

	if (elfimage_load(image, section->sh_offset, section->sh_size, ABBREV_MAX, &data))
		return false;
	at = (const u8 *)data;
	end = at + section->sh_size;
	while (varint_get(&at, end, &code)) {
		if (!code)
			continue;
		/* Its tag, and whether it has children. */
		if (!varint_get(&at, end, &value) || at++ == end)
			return false;
		do {
			if (!varint_get(&at, end, &name) || !varint_get(&at, end, &form))
				return false;
			if (form == DW_FORM_implicit_const && !varint_get(&at, end, &value))
				return false;
			if (name == DW_AT_GNU_locviews)
				return true;
		} while (name || form);
	}
	return false;
}

static enum coz_verdict judge_debug(const struct elfimage *image, const struct coz_library *library,
				    struct coz_debug *out)
{
	const Elf64_Shdr *info = elfimage_section(image, ".debug_info");
	const Elf64_Shdr *lines = elfimage_section(image, ".debug_line");
	const Elf64_Shdr *abbrev = elfimage_section(image, ".debug_abbrev");

	if (elfimage_section(image, ".zdebug_info"))
		return COZ_PROGRAM_COMPRESSED;
	if (!info || info->sh_type == SHT_NOBITS)
		return COZ_PROGRAM_NO_DEBUG;
	if ((info->sh_flags | (lines ? lines->sh_flags : 0)) & SHF_COMPRESSED)
		return COZ_PROGRAM_COMPRESSED;
	if (!lines || !elfimage_section_has_data(lines))
		return COZ_PROGRAM_NO_LINES;
	if (!elfimage_section_has_data(info))
		return COZ_PROGRAM_NO_DEBUG;
	out->version = greatest_version(image, info);
	if (!out->version)
		return COZ_PROGRAM_NO_DEBUG;
	if (out->version > (library->dwarf5 ? 5 : 4))
		return COZ_PROGRAM_DWARF;
	if (!library->dwarf5 && abbrev && elfimage_section_has_data(abbrev) &&
	    has_views(image, abbrev))
		return COZ_PROGRAM_VIEWS;
	return COZ_PROGRAM_GOOD;
}

/* Opens PATH as a file of debug information. False: it is none. */
static bool judge_file(const char *path, const struct coz_library *library, struct coz_debug *out)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum coz_verdict verdict;
	const char *why;

	if (fd < 0 || elfimage_new(fd, &image, &why))
		return false;
	verdict = judge_debug(image, library, out);
	if (verdict == COZ_PROGRAM_NO_DEBUG)
		return false;
	out->verdict = verdict;
	snprintf(out->file, sizeof(out->file), "%s", path);
	return true;
}

/* The places where coz looks for what was stripped off. */
static bool judge_separate(const char *program, const struct elfimage *image, int fd,
			   const struct coz_library *library, struct coz_debug *out)
{
	CLEANUP(elfnote_free) struct elfnote_file *notes = NULL;
	const Elf64_Shdr *link = elfimage_section(image, ".gnu_debuglink");
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *folder = realpath(program, NULL);
	static const struct {
		const char *before, *between;
	} places[] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_FOLDER, "/"}};
	char path[4096];
	const char *why;
	char *slash;
	size_t i;

	if (elfnote_read(fd, &notes, &why) == 0 && strlen(notes->build_id) > 2) {
		snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%.2s/%s.debug",
			 notes->build_id, notes->build_id + 2);
		if (judge_file(path, library, out))
			return true;
	}
	if (!link || !folder || !elfimage_section_has_data(link) ||
	    elfimage_load(image, link->sh_offset, link->sh_size, 4096, &name))
		return false;
	slash = strrchr(folder, '/');
	if (!*name || strchr(name, '/') || !slash)
		return false;
	*slash = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s%s%s", places[i].before, folder,
			 places[i].between, name);
		if (judge_file(path, library, out))
			return true;
	}
	return false;
}

static bool is_dynamic(const struct elfimage *image)
{
	size_t i;

	for (i = 0; i < image->nsegments; i++)
		if (image->segments[i].p_type == PT_INTERP)
			return true;
	return false;
}

/* coz takes a file's place in memory less its offset for what addresses are relative to: only right where code stands at
 * the offset that is its address. */
static bool is_shifted(const struct elfimage *image)
{
	u64 base = 0;
	bool first = true;
	size_t i;

	for (i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *segment = &image->segments[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (first)
			base = segment->p_vaddr - segment->p_offset;
		first = false;
		if (segment->p_flags & PF_X && segment->p_vaddr - segment->p_offset != base)
			return true;
	}
	return false;
}

int coz_program_check(const char *path, const struct coz_library *library, struct coz_debug *out,
		      char *why, size_t len)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *sentence = NULL;
	int err;

	*out = (struct coz_debug){0};
	if (fd < 0) {
		err = errno;
		snprintf(why, len, "%s: %s", path, strerror(err));
		return -err;
	}
	err = elfimage_new(fd, &image, &sentence);
	if (err == -ENOEXEC) {
		out->verdict = COZ_PROGRAM_NO_ELF;
		return 0;
	}
	if (err) {
		snprintf(why, len, "%s: %s", path, sentence ? sentence : strerror(-err));
		return err;
	}
	if (!is_dynamic(image)) {
		out->verdict = COZ_PROGRAM_STATIC;
		return 0;
	}
	out->verdict = judge_debug(image, library, out);
	if (out->verdict == COZ_PROGRAM_NO_DEBUG && !judge_separate(path, image, fd, library, out))
		return 0;
	if (out->verdict == COZ_PROGRAM_GOOD && is_shifted(image))
		out->verdict = COZ_PROGRAM_SHIFTED;
	return 0;
}

void coz_program_explain(const char *path, const struct coz_library *library,
			 const struct coz_debug *debug, char *why, size_t len)
{
	const char *file = *debug->file ? debug->file : path;
	const char *flags =
		library->dwarf5
			? "build it with -g"
			: "build it with -g -gdwarf-4 -gno-variable-location-views (gcc) or -g -gdwarf-4 (clang)";

	switch (debug->verdict) {
	case COZ_PROGRAM_NO_ELF:
		snprintf(
			why, len,
			"%s is a script: coz profiles one program, and not what that starts; give the program itself",
			path);
		break;
	case COZ_PROGRAM_STATIC:
		snprintf(
			why, len,
			"%s is linked statically: coz has to be preloaded; link it without -static",
			path);
		break;
	case COZ_PROGRAM_NO_DEBUG:
		snprintf(
			why, len,
			"%s has no debug information, so coz finds no lines in it; %s, and do not strip it",
			path, flags);
		break;
	case COZ_PROGRAM_NO_LINES:
		snprintf(why, len, "%s has debug information without line tables; %s", file, flags);
		break;
	case COZ_PROGRAM_COMPRESSED:
		snprintf(
			why, len,
			"%s has compressed debug information, which coz cannot read; add -gz=none (to ld: --compress-debug-sections=none)",
			file);
		break;
	case COZ_PROGRAM_DWARF:
		snprintf(why, len, "%s has DWARF %u, which %s cannot read; %s%s", file,
			 debug->version, library->path, flags,
			 library->dwarf5 ? "" : ", or give a newer coz with --libcoz");
		break;
	case COZ_PROGRAM_VIEWS:
		snprintf(
			why, len,
			"%s has DWARF %u with location views, where %s finds no lines; add -gno-variable-location-views or -gstrict-dwarf, or give a newer coz with --libcoz",
			file, debug->version, library->path);
		break;
	case COZ_PROGRAM_SHIFTED:
		snprintf(
			why, len,
			"%s has its code at other addresses than offsets, as lld lays it out, and coz would show wrong lines; link with -fuse-ld=bfd (Rust: RUSTFLAGS=-Clinker-features=-lld)",
			path);
		break;
	default:
		*why = '\0';
	}
}
