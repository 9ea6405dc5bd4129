/* SPDX-License-Identifier: MIT */
/* The message of the Push API, field by field: labels, the profile as pprof_encode() makes it, its id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../exporters/pyroscope.h"
#include "pprofread.h"
#include "sample_profile.h"

/* The one field of P, a message or text. */
static struct pprof_piece only(struct pprof_piece p, u32 number)
{
	struct pprof_field f;

	assert_true(pprof_next(&p, &f));
	pprof_expect(&f, true);
	assert_int_equal(f.number, number);
	assert_ptr_equal(p.at, p.end);
	return f.bytes;
}

static void expect(struct pprof_piece *p, u32 number, const char *bytes, size_t len)
{
	struct pprof_field f;

	assert_true(pprof_next(p, &f));
	pprof_expect(&f, true);
	assert_int_equal(f.number, number);
	assert_int_equal(f.bytes.end - f.bytes.at, len);
	assert_memory_equal(f.bytes.at, bytes, len);
}

static void expect_label(struct pprof_piece *series, const char *name, const char *value)
{
	struct pprof_field f;

	assert_true(pprof_next(series, &f));
	assert_int_equal(f.number, 1);
	expect(&f.bytes, 1, name, strlen(name));
	expect(&f.bytes, 2, value, strlen(value));
	assert_ptr_equal(f.bytes.at, f.bytes.end);
}

static void check(enum pprof_family family, const char *name)
{
	static const struct pyroscope_label labels[] = {
		{"app", "a\xffz"}, {"none", ""}, {"service_name", "web"}};
	struct sample *s = sample_new();
	AUTO_TEXT request = {0}, plain = {0};
	size_t nsamples = 0, nplain = 0, bytes = 0;
	struct pprof_piece series;
	struct pprof_field sample;

	assert_int_equal(pprof_encode(&s->profile, family, 0, &plain, &nplain), 0);
	assert_int_equal(pyroscope_encode(&s->profile, family, labels, 3, "an-id", &request,
					  &nsamples, &bytes),
			 0);
	assert_int_equal(nsamples, nplain);
	assert_int_equal(bytes, plain.len);
	series =
		only((struct pprof_piece){(u8 *)request.data, (u8 *)request.data + request.len}, 1);
	expect_label(&series, "__name__", name);
	expect_label(&series, "app", "a\xef\xbf\xbdz");
	expect_label(&series, "service_name", "web");
	assert_true(pprof_next(&series, &sample));
	assert_int_equal(sample.number, 2);
	assert_ptr_equal(series.at, series.end);
	expect(&sample.bytes, 1, plain.data, plain.len);
	expect(&sample.bytes, 2, "an-id", 5);
	assert_ptr_equal(sample.bytes.at, sample.bytes.end);
	sample_free(s);
}

static void test_families(void **state)
{
	(void)state;
	check(PPROF_WALL, "wall");
	check(PPROF_CPU, "process_cpu");
	check(PPROF_ALLOC, "memory");
	check(PPROF_HEAP, "memory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_families)};

	return cmocka_run_group_tests_name("pyroscope", tests, NULL, NULL);
}
