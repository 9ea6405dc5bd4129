/* SPDX-License-Identifier: MIT */
/* Cgroups: their names by the kernel's table of mounts, who is in them, and what is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/target/cgroup.h"

static const char mounts[] =
	"24 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"31 24 0:26 / /sys/fs/cgroup ro,nosuid shared:5 - tmpfs tmpfs ro,mode=755\n"
	"32 31 0:27 / /sys/fs/cgroup/unified rw,relatime shared:6 master:1 - cgroup2 cgroup rw\n"
	"33 31 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"40 24 0:27 /app.slice /mnt/of\\040app rw,relatime - cgroup2 cgroup rw\n"
	"41 32 0:27 /deep /sys/fs/cgroup/unified/over rw - cgroup2 cgroup rw\n"
	"garbage\n"
	"1 2 3 - cgroup2 \n"
	"42 24 0:27 / /cut - cgroup2";

static void check_name(const char *dir, const char *expected)
{
	char *name = cgroup_name(mounts, dir);

	if (expected)
		assert_string_equal(name, expected);
	else
		assert_null(name);
	free(name);
}

static void test_name(void **state)
{
	(void)state;
	check_name("/sys/fs/cgroup/unified", "/");
	check_name("/sys/fs/cgroup/unified/app.slice/web", "/app.slice/web");
	check_name("/mnt/of app", "/app.slice");
	check_name("/mnt/of app/web", "/app.slice/web");
	/* The innermost mount is the one that is seen. */
	check_name("/sys/fs/cgroup/unified/over/x", "/deep/x");
	check_name("/sys/fs/cgroup/unified/overt", "/overt");
	check_name("/sys/fs/cgroup/unifiedx", NULL);
	check_name("/sys/fs/cgroup/cpu/x", NULL);
	check_name("/", NULL);
}

static void test_membership(void **state)
{
	static const char text[] = "4:cpu:/web\n1:name=systemd:/x\n0::/app.slice/web\n";

	(void)state;
	assert_true(cgroup_is_in(text, "/app.slice/web"));
	assert_true(cgroup_is_in(text, "/app.slice"));
	assert_true(cgroup_is_in(text, "/"));
	assert_false(cgroup_is_in(text, "/app.slice/we"));
	assert_false(cgroup_is_in(text, "/app.slice/web/1"));
	assert_false(cgroup_is_in(text, "/web"));
	assert_true(cgroup_is_in("0::/\n", "/"));
	assert_true(cgroup_is_in("0::/a", "/a"));
	assert_false(cgroup_is_in("0::/\n", "/a"));
	assert_false(cgroup_is_in("4:cpu:/a\n", "/"));
	assert_false(cgroup_is_in("", "/"));
}

static void test_none(void **state)
{
	struct cgroup *cgroup = NULL;
	char why[128] = "";

	(void)state;
	assert_int_equal(cgroup_new("/no/such/place", &cgroup, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "No such file"));
	assert_int_equal(cgroup_new("/proc/self/status", &cgroup, why, sizeof(why)), -ENOTDIR);
	assert_int_equal(cgroup_new("/proc", &cgroup, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "findmnt -t cgroup2"));
	assert_null(cgroup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_membership),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
