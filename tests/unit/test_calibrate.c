/* SPDX-License-Identifier: MIT */
/* What a hit costs: where the probe is put, and what is taken where none can be. attach is played by the test, so that no
 * probe stands and a hit costs next to nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../../user/attach/attach.h"
#include "../../user/session/calibrate.h"

#define USUAL_NS 500

static struct {
	int new_err;
	size_t standing;
	size_t sets; /* that are not freed */
	pid_t pid;
	struct attach_probe probe;
	char path[64];
} played;

int __wrap_attach_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
		      struct attach_set **out);
int __wrap_attach_new(struct kernel *kernel, bool uprobe_multi, const pid_t *pids, size_t npids,
		      struct attach_set **out)
{
	(void)kernel;
	(void)uprobe_multi;
	assert_int_equal(npids, 1);
	played.pid = pids[0];
	if (played.new_err)
		return played.new_err;
	played.sets++;
	*out = (struct attach_set *)&played;
	return 0;
}

size_t __wrap_attach_file(struct attach_set *set, const char *path, struct attach_probe *probes,
			  size_t n);
size_t __wrap_attach_file(struct attach_set *set, const char *path, struct attach_probe *probes,
			  size_t n)
{
	assert_ptr_equal(set, &played);
	assert_int_equal(n, 1);
	played.probe = probes[0];
	snprintf(played.path, sizeof(played.path), "%s", path);
	return played.standing;
}

void __wrap_attach_free(struct attach_set **set);
void __wrap_attach_free(struct attach_set **set)
{
	played.sets -= *set != NULL;
	*set = NULL;
}

static int setup(void **state)
{
	(void)state;
	memset(&played, 0, sizeof(played));
	played.standing = 1;
	return 0;
}

static void test_where(void **state)
{
	uint8_t code[2] = {0};
	int fd;

	(void)state;
	calibrate_hit(NULL, true);
	/* This process alone, on a nop of its own file that a return follows. */
	assert_int_equal(played.pid, getpid());
	assert_string_equal(played.path, "/proc/self/exe");
	fd = open(played.path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, code, sizeof(code), (off_t)played.probe.offset), 2);
	close(fd);
	assert_int_equal(code[0], 0x90);
	assert_int_equal(code[1], 0xc3);
	assert_int_equal(played.probe.sema_offset, 0);
	/* No site has that number: the program turns back at its gate. */
	assert_int_equal(COOKIE_SITE(played.probe.cookie), COOKIE_SITE(COOKIE(UINT32_MAX, 0, 0)));
	assert_int_equal(played.sets, 0);
}

static void test_measured(void **state)
{
	(void)state;
	/* A call and a return: far from what a trap takes, also where sanitizers look on. */
	assert_in_range(calibrate_hit(NULL, true), 0, USUAL_NS - 1);
}

static void test_cannot(void **state)
{
	(void)state;
	played.standing = 0;
	assert_int_equal(calibrate_hit(NULL, true), USUAL_NS);
	assert_int_equal(played.sets, 0);
	played.new_err = -ENOMEM;
	assert_int_equal(calibrate_hit(NULL, false), USUAL_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_where, setup),
		cmocka_unit_test_setup(test_measured, setup),
		cmocka_unit_test_setup(test_cannot, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
