/* SPDX-License-Identifier: MIT */
/* UTF-8 and what is not, columns, cuts, buffers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/text.h"

static void assert_codes(const char *text, const u32 *codes)
{
	for (; *codes; codes++)
		assert_int_equal(text_next(&text), *codes);
	assert_int_equal(text_next(&text), 0);
	assert_int_equal(text_next(&text), 0);
	assert_int_equal(*text, 0);
}

#define CODES(...) ((const u32[]){__VA_ARGS__, 0})

static void test_valid(void **state)
{
	(void)state;
	assert_codes("aµ", CODES('a', 0xb5));
	assert_codes("\xc2\x80\xdf\xbf", CODES(0x80, 0x7ff));
	assert_codes("\xe0\xa0\x80\xef\xbf\xbd", CODES(0x800, 0xfffd));
	assert_codes("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", CODES(0x10000, 0x10ffff));
	assert_codes("\xed\x9f\xbf\xee\x80\x80", CODES(0xd7ff, 0xe000));
}

static void test_invalid(void **state)
{
	const u32 bad = TEXT_REPLACEMENT;

	(void)state;
	assert_codes("\x80", CODES(bad));
	assert_codes("\xffz", CODES(bad, 'z'));
	/* Cut at the end and in the middle. */
	assert_codes("\xc3", CODES(bad));
	assert_codes("\xe2\x82", CODES(bad, bad));
	assert_codes("\xe2\x82z", CODES(bad, bad, 'z'));
	assert_codes("\xf0\x9f\x94", CODES(bad, bad, bad));
	/* Overlong, surrogate, too large. */
	assert_codes("\xc0\x80", CODES(bad, bad));
	assert_codes("\xe0\x80\x80", CODES(bad, bad, bad));
	assert_codes("\xf0\x80\x80\x80", CODES(bad, bad, bad, bad));
	assert_codes("\xed\xa0\x80", CODES(bad, bad, bad));
	assert_codes("\xf4\x90\x80\x80", CODES(bad, bad, bad, bad));
}

/* Every code point that is one survives the way there and back. */
static void test_round_trip(void **state)
{
	char bytes[5];

	(void)state;
	for (u32 code = 1; code <= 0x10ffff; code++) {
		const char *at = bytes;
		size_t len = text_encode(code, bytes);

		bytes[len] = '\0';
		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		if (text_next(&at) != code || at != bytes + len)
			fail_msg("U+%04X does not come back", code);
	}
}

static void assert_safe(const char *text, const char *want)
{
	AUTO_TEXT b = {0};

	text_add_safe(&b, text);
	assert_false(b.failed);
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, strlen(want));
}

static void test_safe(void **state)
{
	(void)state;
	assert_safe("", "");
	assert_safe("plain, \"quoted\" <b> & ünï 日本", "plain, \"quoted\" <b> & ünï 日本");
	assert_safe("a\nb\tc\rd\ve\ff", "a b c d e f");
	assert_safe("\x1b[1m\x01\x7f", "\xef\xbf\xbd[1m\xef\xbf\xbd\xef\xbf\xbd");
	/* Next line and CSI of the C1 set, line separator, a character that turns direction, BOM's
	 * twin. */
	assert_safe("a\xc2\x85z", "a z");
	assert_safe("a\xc2\x9bz", "a\xef\xbf\xbdz");
	assert_safe("a\xe2\x80\xa8z", "a z");
	assert_safe("a\xe2\x80\xaez", "a\xef\xbf\xbdz");
	assert_safe("a\xef\xbf\xbez", "a\xef\xbf\xbdz");
	assert_safe("a\xffz", "a\xef\xbf\xbdz");
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(text_columns(""), 0);
	assert_int_equal(text_columns("abc"), 3);
	assert_int_equal(text_columns("µ…"), 2);
	assert_int_equal(text_columns("日本"), 4);
	assert_int_equal(text_columns("🔥"), 2);
	assert_int_equal(text_columns("e\xcc\x81"), 1);
}

static void test_fit(void **state)
{
	(void)state;
	assert_int_equal(text_fit("abc", 0), 0);
	assert_int_equal(text_fit("abc", 2), 2);
	assert_int_equal(text_fit("abc", 3), 3);
	assert_int_equal(text_fit("abc", 9), 3);
	assert_int_equal(text_fit("µµ", 1), 2);
	/* A wide character fits whole or not at all; a combining one stays with its letter. */
	assert_int_equal(text_fit("日本", 3), 3);
	assert_int_equal(text_fit("e\xcc\x81z", 1), 3);
}

static void test_buffer(void **state)
{
	AUTO_TEXT b = {0};

	(void)state;
	text_add_u64(&b, 0);
	text_add_str(&b, " ");
	text_add_u64(&b, UINT64_MAX);
	text_add_code(&b, 0x20ac);
	assert_string_equal(b.data, "0 18446744073709551615€");
	text_cut(&b, 1);
	assert_string_equal(b.data, "0");
	for (int i = 0; i < 100000; i++)
		text_add_str(&b, "ab");
	assert_int_equal(b.len, 200001);
	assert_int_equal(strlen(b.data), 200001);
	assert_false(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),      cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_safe),
		cmocka_unit_test(test_columns),    cmocka_unit_test(test_fit),
		cmocka_unit_test(test_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
