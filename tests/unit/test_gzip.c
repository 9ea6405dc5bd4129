/* SPDX-License-Identifier: MIT */
/* What is packed comes out again, whatever its size; and the same is packed the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../exporters/gzip.h"
#include "pprofread.h"

static void check(const char *bytes, size_t len)
{
	AUTO_TEXT packed = {0}, again = {0};
	AUTO_FREE char *out = NULL;
	size_t got;

	assert_int_equal(gzip_add(&packed, bytes, len), 0);
	assert_int_equal(gzip_add(&again, bytes, len), 0);
	assert_int_equal(packed.len, again.len);
	assert_memory_equal(packed.data, again.data, packed.len);
	out = pprof_unzip(packed.data, packed.len, &got);
	assert_int_equal(got, len);
	assert_memory_equal(out, bytes, len);
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 100, 16383, 16384, 16385, 1000000, 5000000};
	char *bytes = malloc(5000000);
	u64 x = 1;

	(void)state;
	assert_non_null(bytes);
	memset(bytes, 'a', 5000000);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		check(bytes, sizes[i]);
	for (size_t i = 0; i < 5000000; i++) { /* what does not become smaller */
		x = x * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (char)(x >> 56);
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		check(bytes, sizes[i]);
	free(bytes);
}

/* It is added to what is there; neither time nor name stands in it. */
static void test_header(void **state)
{
	AUTO_TEXT out = {0};

	(void)state;
	text_add_str(&out, "before");
	assert_int_equal(gzip_add(&out, "x", 1), 0);
	assert_memory_equal(out.data, "before\x1f\x8b\x08\0\0\0\0\0", 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests_name("gzip", tests, NULL, NULL);
}
