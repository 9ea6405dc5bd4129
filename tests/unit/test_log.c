/* SPDX-License-Identifier: MIT */
/* Messages: their level, their place, and how the journal wants them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>

#include "../../user/util/log.h"
#include "captured.h"

static void say_all(void)
{
	log_error("e\n\x1b[31m");
	log_note("n");
	log_warn("w");
	log_info("i");
	log_debug("d");
}

static const char *said(struct captured *c, enum log_level level, bool journal)
{
	struct stat status;
	char stream[64];

	captured_begin(c, STDERR_FILENO);
	if (fstat(STDERR_FILENO, &status) == 0) {
		snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
			 (unsigned long long)status.st_ino + !journal);
		setenv("JOURNAL_STREAM", stream, 1);
	}
	log_find_journal();
	log_threshold = level;
	say_all();
	unsetenv("JOURNAL_STREAM");
	log_find_journal();
	log_threshold = LOG_WARN;
	return captured_end(c);
}

static void test_people(void **state)
{
	struct captured c;

	(void)state;
	assert_string_equal(said(&c, LOG_DEBUG, false),
			    "spantrace: e??[31m\nspantrace: n\nspantrace: warning: w\n"
			    "spantrace: i\nspantrace: debug: d\n");
	assert_string_equal(said(&c, LOG_ERROR, false), "spantrace: e??[31m\n");
}

static void test_journal(void **state)
{
	struct captured c;

	(void)state;
	assert_string_equal(said(&c, LOG_DEBUG, true), "<3>e??[31m\n<5>n\n<4>w\n<6>i\n<7>d\n");
	assert_string_equal(said(&c, LOG_INFO, true), "<3>e??[31m\n<5>n\n<4>w\n<6>i\n");
}

static void test_place(void **state)
{
	struct captured c;

	(void)state;
	log_set_place("a.conf", 12);
	captured_begin(&c, STDERR_FILENO);
	log_warn("w");
	log_set_place(NULL, 0);
	log_warn("w");
	assert_string_equal(captured_end(&c),
			    "spantrace: warning: a.conf:12: w\nspantrace: warning: w\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_people),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
