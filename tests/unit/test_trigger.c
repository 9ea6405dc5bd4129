/* SPDX-License-Identifier: MIT */
/* Triggers of a flight recorder: what is one, and which spans it is for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/recording/trigger.h"
#include "captured.h"

static void test_parse(void **state)
{
	struct trigger t;

	(void)state;
	assert_int_equal(trigger_parse("app:job>50ms", &t), 0);
	assert_int_equal(t.length, 7);
	assert_int_equal(t.longer_ns, 50000000);
	/* Names may hold the sign; it is the last that counts. */
	assert_int_equal(trigger_parse("app:operator>>>1.5s", &t), 0);
	assert_int_equal(t.length, 14);
	assert_int_equal(t.longer_ns, 1500000000);
	assert_int_equal(trigger_parse("*>0", &t), 0);
	assert_int_equal(t.longer_ns, 0);
}

static void refused(const char *text, const char *message)
{
	struct trigger t = {.length = 77};
	struct captured c;
	int err;

	captured_begin(&c, STDERR_FILENO);
	err = trigger_parse(text, &t);
	captured_end(&c);
	assert_int_equal(err, -EINVAL);
	assert_int_equal(t.length, 77);
	assert_non_null(strstr(c.text, message));
}

static void test_mistakes(void **state)
{
	char name[300];

	(void)state;
	refused("", "--trigger: \"\" is not NAME>DURATION; write 'app:job>50ms', in quotes\n");
	refused("app:job", "\"app:job\" is not NAME>DURATION");
	refused(">50ms", "is not NAME>DURATION");
	refused("app:job>", "is not NAME>DURATION");
	refused("app:job>fast", "--trigger: \"fast\" is not a duration");
	refused("app:job>-1s", "--trigger: \"-1s\" is not a duration");
	refused("app:job>99999999999d", "is not a duration");
	memset(name, 'x', sizeof(name));
	memcpy(name + sizeof(name) - 4, ">1s", 4);
	refused(name, "is longer than 255 bytes");
}

/* A span of app:NAME that took WALL. */
static const struct trigger *fires(const char *text, const char *name, u64 wall, u32 flags)
{
	static struct trigger trigger;
	const struct model_def def = {.provider = "app", .name = name};
	const struct model_path path = {.def = &def};
	const struct model_span span = {
		.path = &path,
		.start_ns = 1000,
		.end_ns = 1000 + wall,
		.flags = flags,
	};

	assert_int_equal(trigger_parse(text, &trigger), 0);
	return trigger_of(&trigger, 1, &span);
}

static void test_matches(void **state)
{
	char longest[10001];

	(void)state;
	assert_non_null(fires("app:job>50ns", "job", 51, 0));
	assert_null(fires("app:job>50ns", "job", 50, 0));
	assert_null(fires("app:job>50ns", "jobs", 51, 0));
	assert_null(fires("lib:job>50ns", "job", 51, 0));
	assert_non_null(fires("a*:j?b>50ns", "job", 51, 0));
	assert_non_null(fires("job>50ns", "job", 51, 0));
	assert_non_null(fires("*>50ns", "job", 51, 0));
	assert_null(fires("app>50ns", "job", 51, 0));
	assert_null(fires("app:>50ns", "job", 51, 0));
	/* One that was cut short by an exception is a span too; one that has not ended is none. */
	assert_non_null(fires("job>50ns", "job", 51, MODEL_ABANDONED));
	assert_non_null(fires("job>50ns", "job", 51, MODEL_ASYNC));
	assert_null(fires("job>50ns", "job", 51, MODEL_OPEN));
	assert_null(fires("job>50ns", "job", 51, MODEL_SEGMENT));
	memset(longest, 'x', 10000);
	longest[9999] = 'y';
	longest[10000] = '\0';
	assert_non_null(fires("app:*y>50ns", longest, 51, 0));
	assert_null(fires("app:*x>50ns", longest, 51, 0));
}

/* A frame that has a name of its own goes by that one. */
static void test_named_path(void **state)
{
	const struct model_def def = {.provider = "app", .name = "call"};
	const struct model_path path = {.def = &def, .name = "main.rb"};
	const struct model_span span = {.path = &path, .end_ns = 100};
	struct trigger triggers[2];

	(void)state;
	assert_int_equal(trigger_parse("app:call>1ns", &triggers[0]), 0);
	assert_int_equal(trigger_parse("app:main.rb>1ns", &triggers[1]), 0);
	assert_ptr_equal(trigger_of(triggers, 2, &span), &triggers[1]);
	assert_null(trigger_of(triggers, 0, &span));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_named_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
