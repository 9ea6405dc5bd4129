/* SPDX-License-Identifier: MIT */
/* Debug information is judged: this very program's, and what is left of it when bytes are changed. Builds by each compiler
 * and flag are in tests/live/test_coz.py. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/coz/coz_program.h"
#include "../../user/elf/elfimage.h"
#include "../../user/util/cleanup.h"

static const struct coz_library newest = {.path = "/lib/libcoz.so", .dwarf5 = true};
static const struct coz_library oldest = {.path = "/lib/libcoz.so"};

static void test_this_program(void **state)
{
	struct coz_debug debug;
	char why[8192];

	(void)state;
	assert_int_equal(coz_program_check("/proc/self/exe", &newest, &debug, why, sizeof(why)), 0);
	assert_int_equal(debug.verdict, COZ_PROGRAM_GOOD);
	assert_in_range(debug.version, 2, 5);
	if (debug.version < 5)
		return;
	assert_int_equal(coz_program_check("/proc/self/exe", &oldest, &debug, why, sizeof(why)), 0);
	assert_int_equal(debug.verdict, COZ_PROGRAM_DWARF);
	coz_program_explain("./app", &oldest, &debug, why, sizeof(why));
	assert_non_null(strstr(why, "./app has DWARF 5, which /lib/libcoz.so cannot read"));
	assert_non_null(strstr(why, "-g -gdwarf-4 -gno-variable-location-views"));
}

static void test_what_is_no_program(void **state)
{
	struct coz_debug debug;
	char why[8192], path[4096];

	(void)state;
	assert_int_equal(coz_program_check("Makefile", &newest, &debug, why, sizeof(why)), 0);
	assert_int_equal(debug.verdict, COZ_PROGRAM_NO_ELF);
	assert_int_equal(coz_program_check("/nonexistent", &newest, &debug, why, sizeof(why)),
			 -ENOENT);
	assert_int_equal(coz_program_find("sh", path, sizeof(path)), 0);
	assert_true(path[0] == '/');
	assert_int_equal(coz_program_find("no-such-program", path, sizeof(path)), -ENOENT);
	assert_int_equal(coz_program_find("./Makefile", path, sizeof(path)), -EACCES);
}

static void test_every_verdict_has_a_sentence(void **state)
{
	struct coz_debug debug = {.version = 4};
	char why[8192];

	(void)state;
	for (debug.verdict = COZ_PROGRAM_NO_ELF; debug.verdict <= COZ_PROGRAM_SHIFTED;
	     debug.verdict++) {
		coz_program_explain("./app", &oldest, &debug, why, sizeof(why));
		assert_non_null(strstr(why, "./app"));
	}
}

/* Copies this program with bytes of a section set to VALUE. */
static void damage(const char *copy, const char *section, u64 offset, u8 value, size_t n)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	AUTO_CLOSE int fd = open(copy, O_RDWR | O_CLOEXEC);
	const Elf64_Shdr *found;
	const char *why;
	u8 bytes[64];

	memset(bytes, value, sizeof(bytes));
	assert_int_equal(elfimage_new(fd, &image, &why), 0);
	found = elfimage_section(image, section);
	assert_non_null(found);
	assert_int_equal(
		pwrite(fd, bytes, n, (off_t)(found->sh_offset + offset % (found->sh_size - n))),
		(ssize_t)n);
}

static void test_damaged(void **state)
{
	static const char *const sections[] = {".debug_info", ".debug_abbrev"};
	char copy[] = "/tmp/spantrace-coz-XXXXXX", command[256], why[8192];
	unsigned seed = 1;
	int i, fd = mkstemp(copy);

	(void)state;
	close(fd);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), copy);
	assert_int_equal(system(command), 0); /* NOLINT */
	for (i = 0; i < 200; i++) {
		struct coz_debug debug;
		int err;

		seed = seed * 1103515245 + 12345;
		damage(copy, sections[i & 1], i < 20 ? (u64)i : seed >> 4, (u8)(seed >> 16),
		       i % 3 ? 1 : 16);
		err = coz_program_check(copy, i & 2 ? &newest : &oldest, &debug, why, sizeof(why));
		assert_int_equal(err, 0);
		assert_true(debug.verdict <= COZ_PROGRAM_SHIFTED);
	}
	unlink(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_what_is_no_program),
		cmocka_unit_test(test_every_verdict_has_a_sentence),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
