/* SPDX-License-Identifier: MIT */
/* What servers tell processes apart by: names that are valid, services and containers as they call themselves, sets that
 * are shared and given back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/push/tags.h"
#include "../../user/util/cleanup.h"
#include "captured.h"

static void test_name(void **state)
{
	static const char *const cases[][2] = {
		{"plain", "plain"},    {"k8s.pod-a", "k8s_pod_a"},
		{"9lives", "_9lives"}, {"__name__", "_name__"},
		{"_one", "_one"},      {"", ""},
		{"__", "_"},
	};
	char out[12];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		tags_name(cases[i][0], out, sizeof(out));

		assert_string_equal(out, cases[i][1]);
	}
	tags_name("a_very_long_name_indeed", out, sizeof(out));
	assert_string_equal(out, "a_very_long");
}

static void check_service(const char *environment, size_t len, const char *expected)
{
	AUTO_FREE char *service = tags_service(environment, len);

	if (expected)
		assert_string_equal(service, expected);
	else
		assert_null(service);
}

#define CHECK_SERVICE(text, expected) check_service(text, sizeof(text) - 1, expected)

static void test_service(void **state)
{
	(void)state;
	CHECK_SERVICE("", NULL);
	CHECK_SERVICE("A=b\0C=d\0", NULL);
	CHECK_SERVICE("A=b\0OTEL_SERVICE_NAME=till\0", "till");
	CHECK_SERVICE("OTEL_SERVICE_NAME=\0OTEL_RESOURCE_ATTRIBUTES=service.name=a\0", "a");
	CHECK_SERVICE("OTEL_RESOURCE_ATTRIBUTES=service.name=a\0OTEL_SERVICE_NAME=b\0", "b");
	CHECK_SERVICE("OTEL_RESOURCE_ATTRIBUTES=x=y, service.name=a%20b%2,z\0", "a b%2");
	CHECK_SERVICE("OTEL_RESOURCE_ATTRIBUTES=service.names=a,service.name=\0", NULL);
	CHECK_SERVICE("OTEL_RESOURCE_ATTRIBUTES=,,,\0", NULL);
	CHECK_SERVICE("OTEL_RESOURCE_ATTRIBUTES", NULL);
	CHECK_SERVICE("OTEL_SERVICE_NAME=cut", "cut");
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_container(void **state)
{
	char id[65] = "";

	(void)state;
	assert_false(tags_container("/", id));
	assert_false(tags_container("/system.slice/ssh.service", id));
	assert_false(tags_container("/x/" ID "0", id)); /* one digit too many */
	assert_true(tags_container("/system.slice/docker-" ID ".scope", id));
	assert_string_equal(id, ID);
	id[0] = '\0';
	assert_true(tags_container("/kubepods/pod1/" ID "/init", id));
	assert_string_equal(id, ID);
}

static const char *get(const struct tag_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->labels[i].name, name) == 0)
			return set->labels[i].value;
	return NULL;
}

/* A number that no process has. */
#define NOBODY 0x7ffffffeu

static void test_sets(void **state)
{
	const char *const statics[] = {"env=a=b", "k8s.pod=p", "hostname=here"};
	const struct tag_set *own, *other;
	struct tags *tags = NULL;

	(void)state;
	assert_int_equal(tags_new(NULL, statics, 3, &tags), 0);
	assert_null(tags_of(tags, 1));
	tags_see(tags, 1, 0, NOBODY, "worker");
	tags_see(tags, 2, 0, NOBODY, "worker");
	tags_see(tags, 3, 1, NOBODY, "other\n");
	own = tags_of(tags, 1);
	assert_non_null(own);
	assert_ptr_equal(tags_of(tags, 2), own);
	other = tags_of(tags, 3);
	assert_ptr_not_equal(other, own);
	assert_string_equal(get(own, "service_name"), "worker");
	assert_string_equal(get(own, "comm"), "worker");
	assert_string_equal(get(own, "env"), "a=b");
	assert_string_equal(get(own, "k8s_pod"), "p");
	assert_string_equal(get(own, "hostname"), "here");
	assert_null(get(own, "cgroup"));
	assert_string_equal(get(other, "comm"), "other ");
	for (size_t i = 1; i < own->n; i++)
		assert_true(strcmp(own->labels[i - 1].name, own->labels[i].name) < 0);
	/* What has ended is known until the sweep; the set stays while one has it. */
	tags_end(tags, 1);
	tags_end(tags, 1);
	tags_end(tags, 3);
	tags_end(tags, 99);
	assert_ptr_equal(tags_of(tags, 1), own);
	tags_sweep(tags);
	assert_null(tags_of(tags, 1));
	assert_null(tags_of(tags, 3));
	assert_ptr_equal(tags_of(tags, 2), own);
	assert_string_equal(get(own, "comm"), "worker");
	tags_free(&tags);
	assert_null(tags);
}

/* Many come and go: what is kept is of those that live. */
static void test_many(void **state)
{
	struct tags *tags = NULL;
	char name[16];

	(void)state;
	assert_int_equal(tags_new("app", NULL, 0, &tags), 0);
	for (u32 i = 1; i < 5000; i++) {
		snprintf(name, sizeof(name), "p%u", i % 7);
		tags_see(tags, i, i - 1, NOBODY, name);
		assert_string_equal(get(tags_of(tags, i), "service_name"), "app");
		assert_string_equal(get(tags_of(tags, i), "comm"), name);
		if (i > 10)
			tags_end(tags, i - 10);
		if (i % 100 == 0)
			tags_sweep(tags);
	}
	tags_sweep(tags);
	assert_null(tags_of(tags, 4000));
	assert_non_null(tags_of(tags, 4995));
	tags_free(&tags);
}

/* This process's own. */
static void test_process(void **state)
{
	struct tags *tags = NULL;
	const char *service = getenv("OTEL_SERVICE_NAME");

	(void)state;
	assert_int_equal(tags_new(NULL, NULL, 0, &tags), 0);
	tags_see(tags, 7, 0, (u32)getpid(), "test_tags");
	if (!service && !getenv("OTEL_RESOURCE_ATTRIBUTES"))
		assert_string_equal(get(tags_of(tags, 7), "service_name"), "test_tags");
	/* Of a child that cannot be looked at, what its parent had. */
	tags_see(tags, 8, 7, NOBODY, "test_tags");
	assert_ptr_equal(tags_of(tags, 8), tags_of(tags, 7));
	tags_free(&tags);
}

static void test_mistakes(void **state)
{
	const char *many[17], *bad = ".=x";
	struct captured captured;
	struct tags *tags = NULL;
	int err;

	(void)state;
	for (size_t i = 0; i < 17; i++)
		many[i] = "a=b";
	captured_begin(&captured, STDERR_FILENO);
	err = tags_new(NULL, many, 17, &tags);
	captured_end(&captured);
	assert_int_equal(err, -EINVAL);
	assert_non_null(strstr(captured.text, "there can be 16 of them"));
	captured_begin(&captured, STDERR_FILENO);
	err = tags_new(NULL, &bad, 1, &tags);
	captured_end(&captured);
	assert_int_equal(err, 0); /* "_" */
	tags_free(&tags);
	bad = "=x";
	captured_begin(&captured, STDERR_FILENO);
	err = tags_new(NULL, &bad, 1, &tags);
	captured_end(&captured);
	assert_int_equal(err, -EINVAL);
	assert_null(tags);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),      cmocka_unit_test(test_service),
		cmocka_unit_test(test_container), cmocka_unit_test(test_sets),
		cmocka_unit_test(test_many),      cmocka_unit_test(test_process),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("tags", tests, NULL, NULL);
}
