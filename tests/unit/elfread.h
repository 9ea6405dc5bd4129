/* SPDX-License-Identifier: MIT */
/* Reads what elfbuild.h makes, for the tests of user/elf/. Comes behind <cmocka.h>. */
#ifndef SPANTRACE_TEST_ELFREAD_H
#define SPANTRACE_TEST_ELFREAD_H

#include <errno.h>

#include "../../user/elf/elfnote.h"
#include "elfbuild.h"

static inline int read_bytes(const void *data, size_t size, struct elfnote_file **out,
			     const char **why)
{
	int fd = elfbuild_file(data, size);
	int err;

	*why = NULL;
	err = elfnote_read(fd, out, why);
	close(fd);
	return err;
}

static inline struct elfnote_file *read_good(struct elfbuild *b)
{
	struct elfbuf image = elfbuild_image(b);
	struct elfnote_file *file = NULL;
	const char *why;
	int err = read_bytes(image.data, image.size, &file, &why);

	free(image.data);
	if (err)
		fail_msg("elfnote_read: %d, %s", err, why);
	return file;
}

/* These bytes must be turned down with ERR and a sentence that has PART in it, and OUT left
 * alone. */
static inline void check_bad(const void *data, size_t size, int err, const char *part)
{
	struct elfnote_file *const untouched = (struct elfnote_file *)&errno;
	struct elfnote_file *file = untouched;
	const char *why;
	int got = read_bytes(data, size, &file, &why);

	if (got != err || !why || !strstr(why, part))
		fail_msg("got %d (%s), not %d (%s)", got, why ? why : "-", err, part);
	assert_ptr_equal(file, untouched);
}

static inline int add_notes(struct elfbuild *b)
{
	return elfbuild_section(b, ".note.stapsdt", SHT_NOTE, 0);
}

#endif
