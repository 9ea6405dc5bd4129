/* SPDX-License-Identifier: MIT */
/* What a trace says of its own cost. The kernel is played by plain memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/kernel/kernel_impl.h"
#include "../../user/session/stats.h"

/* Two rings: READ and WRITTEN bytes of each. */
struct rings {
	struct kernel kernel;
	void *marks[2];
};

static void set(struct rings *rings, int i, u64 read, u64 written)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	memcpy(rings->marks[i], &read, sizeof(read));
	memcpy((char *)rings->marks[i] + page, &written, sizeof(written));
}

static void make(struct rings *rings)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*rings = (struct rings){.marks = {calloc(2, page), calloc(2, page)}};
	assert_non_null(rings->marks[0]);
	assert_non_null(rings->marks[1]);
	rings->kernel.nrings = 2;
	rings->kernel.ring_marks = rings->marks;
}

static void unmake(struct rings *rings)
{
	free(rings->marks[0]);
	free(rings->marks[1]);
}

static void test_the_fullest_ring_counts(void **state)
{
	struct rings rings;

	(void)state;
	make(&rings);
	assert_int_equal(kernel_ring_fill(&rings.kernel), 0);
	set(&rings, 0, 1000, 1500);
	set(&rings, 1, 7, 4000);
	assert_int_equal(kernel_ring_fill(&rings.kernel), 3993);
	unmake(&rings);
}

static void test_the_most_that_waited_is_kept(void **state)
{
	struct stats stats = {.fd = -1};
	struct rings rings;
	char text[1024] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(out);
	make(&rings);
	set(&rings, 0, 0, 2048);
	stats_drain(&stats, &rings.kernel);
	set(&rings, 0, 2048, 2100);
	stats_drain(&stats, &rings.kernel);
	stats_print(&stats, &rings.kernel, 8 << 20, 2000000000, out);
	fclose(out);
	assert_non_null(strstr(text, "2.00 KiB waited at most, of 8.00 MiB"));
	assert_non_null(strstr(text, "drained 2 times"));
	assert_non_null(strstr(text, "in 2.00 s"));
	assert_null(strstr(text, "hits")); /* the kernel did not measure */
	unmake(&rings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_fullest_ring_counts),
		cmocka_unit_test(test_the_most_that_waited_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
