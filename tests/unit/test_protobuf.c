/* SPDX-License-Identifier: MIT */
/* Bytes as the format's own documentation and its decoders have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../exporters/protobuf.h"

#define assert_bytes(b, literal)                                              \
	do {                                                                  \
		assert_false((b)->failed);                                    \
		assert_int_equal((b)->len, sizeof(literal) - 1);              \
		assert_memory_equal((b)->data, literal, sizeof(literal) - 1); \
		text_cut(b, 0);                                               \
	} while (0)

static void test_numbers(void **state)
{
	AUTO_TEXT b = {0};

	(void)state;
	protobuf_u64(&b, 1, 150);
	assert_bytes(&b, "\x08\x96\x01");
	protobuf_u64(&b, 16, 0);
	assert_bytes(&b, "\x80\x01\x00");
	protobuf_u64(&b, 2, (u64)-2);
	assert_bytes(&b, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_u64(&b, 536870911, 1); /* the highest field */
	assert_bytes(&b, "\xf8\xff\xff\xff\x0f\x01");
	protobuf_fixed64(&b, 3, 0x0102030405060708);
	assert_bytes(&b, "\x19\x08\x07\x06\x05\x04\x03\x02\x01");
	protobuf_double(&b, 1, 1.5);
	assert_bytes(&b, "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f");
}

static void test_strings(void **state)
{
	AUTO_TEXT b = {0};

	(void)state;
	protobuf_string(&b, 2, "testing");
	assert_bytes(&b, "\x12\x07testing");
	protobuf_string(&b, 2, "");
	assert_bytes(&b, "\x12\x00");
	protobuf_string(&b, 2, "\xc3\xbc\x7f\n\xf0\x9f\x98\x80");
	assert_bytes(&b, "\x12\x08\xc3\xbc\x7f\n\xf0\x9f\x98\x80");
	/* A byte that begins nothing, a sequence that is cut, a surrogate. */
	protobuf_string(&b, 2, "a\x80z\xc3");
	assert_bytes(&b, "\x12\x08"
			 "a\xef\xbf\xbdz\xef\xbf\xbd");
	protobuf_bytes(&b, 2, "\x80\x00\x81", 3);
	assert_bytes(&b, "\x12\x03\x80\x00\x81");
}

static void test_messages(void **state)
{
	AUTO_TEXT b = {0};
	size_t outer, inner;

	(void)state;
	outer = protobuf_open(&b, 3);
	protobuf_u64(&b, 1, 150);
	inner = protobuf_open(&b, 1);
	protobuf_close(&b, inner);
	protobuf_close(&b, outer);
	assert_bytes(&b, "\x1a\x05\x08\x96\x01\x0a\x00");
	outer = protobuf_open(&b, 4);
	protobuf_varint(&b, 3);
	protobuf_varint(&b, 270);
	protobuf_varint(&b, 86942);
	protobuf_close(&b, outer);
	assert_bytes(&b, "\x22\x06\x03\x8e\x02\x9e\xa7\x05");
}

/* Lengths of one, two, three and four bytes, and messages that move within messages that move. */
static void test_long(void **state)
{
	static const size_t lens[] = {0, 1, 127, 128, 129, 16383, 16384, 2097151, 2097152};
	static char bytes[2097153];

	(void)state;
	memset(bytes, 'x', sizeof(bytes) - 1);
	bytes[0] = '<';
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		AUTO_TEXT want = {0}, body = {0}, got = {0};
		size_t outer, inner;

		protobuf_bytes(&body, 7, bytes, lens[i]);
		protobuf_u64(&body, 8, 9);
		protobuf_bytes(&want, 1, body.data, body.len);

		outer = protobuf_open(&got, 1);
		inner = protobuf_open(&got, 7);
		text_add(&got, bytes, lens[i]);
		protobuf_close(&got, inner);
		protobuf_u64(&got, 8, 9);
		protobuf_close(&got, outer);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
