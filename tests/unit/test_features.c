/* SPDX-License-Identifier: MIT */
/* Facts about the kernel: what is read from text, and what follows from given facts. The real
 * kernel's answers are for tests/live/test_doctor.sh. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "facts.h"

#define WHY_SIZE 320

static void test_parse_caps(void **state)
{
	static const struct {
		const char *status;
		u64 caps;
	} cases[] = {
		{"Name:\tcat\nCapPrm:\t00000000000000ff\nCapEff:\t000001fffeffffff\nCapBnd:\t0\n",
		 0x1fffeffffff},
		{"CapEff:\t0000000000000000\n", 0},
		{"CapEff:\tffffffffffffffff", UINT64_MAX},
		/* A process can be called anything; a line begins with its key. */
		{"Name:\tCapEff:\t1\nCapEff:\t0000000000000002\n", 2},
	};
	static const char *const bad[] = {
		"",
		"CapEff:",
		"CapEff:\t\n",
		"CapEff:\tno\n",
		"CapEff:\t12 34\n",
		"CapEff:\t-1\n",
		"CapEff:\t1ffffffffffffffff\n",
		"CapPrm:\t1\n",
		" CapEff:\t1\n",
	};
	u64 caps;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		caps = 42;
		assert_int_equal(features_parse_caps(cases[i].status, &caps), 0);
		assert_int_equal(caps, cases[i].caps);
	}
	caps = 42;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(features_parse_caps(bad[i], &caps), -EINVAL);
		assert_int_equal(caps, 42);
	}
}

static void test_parse_lockdown(void **state)
{
	enum features_lockdown mode = FEATURES_LOCKDOWN_UNKNOWN;

	(void)state;
	assert_int_equal(features_parse_lockdown("[none] integrity confidentiality\n", &mode), 0);
	assert_int_equal(mode, FEATURES_LOCKDOWN_NONE);
	assert_int_equal(features_parse_lockdown("none [integrity] confidentiality\n", &mode), 0);
	assert_int_equal(mode, FEATURES_LOCKDOWN_INTEGRITY);
	assert_int_equal(features_parse_lockdown("none integrity [confidentiality]\n", &mode), 0);
	assert_int_equal(mode, FEATURES_LOCKDOWN_CONFIDENTIALITY);
	assert_int_equal(features_parse_lockdown("none integrity confidentiality\n", &mode),
			 -EINVAL);
	assert_int_equal(features_parse_lockdown("", &mode), -EINVAL);
	assert_int_equal(mode, FEATURES_LOCKDOWN_CONFIDENTIALITY);
}

static void test_has_cap(void **state)
{
	struct features f = {.caps = CAP(CAP_BPF)};

	(void)state;
	assert_true(features_has_cap(&f, CAP_BPF));
	assert_false(features_has_cap(&f, CAP_PERFMON));
	f.caps = UINT64_MAX;
	assert_true(features_has_cap(&f, 63));
	assert_false(features_has_cap(&f, 64));
}

static void test_method(void **state)
{
	struct features f = facts_good();

	(void)state;
	assert_int_equal(features_method(&f), FEATURES_UPROBE_MULTI);
	f.uprobe_perf = false;
	assert_int_equal(features_method(&f), FEATURES_UPROBE_MULTI);
	f.uprobe_multi = false;
	assert_int_equal(features_method(&f), FEATURES_NO_METHOD);
	f.uprobe_perf = true;
	assert_int_equal(features_method(&f), FEATURES_UPROBE_PERF);
}

/* Asserts that F is refused with ERR and a sentence that holds each of two words. */
static void refused(const struct features *f, int err, const char *thing, const char *fix)
{
	char why[WHY_SIZE] = "";

	assert_int_equal(features_require(f, why, sizeof(why)), err);
	if (!strstr(why, thing) || !strstr(why, fix))
		fail_msg("\"%s\" does not say \"%s\" and \"%s\"", why, thing, fix);
	/* It is whole: nothing was cut off. */
	assert_true(strlen(why) < sizeof(why) - 1);
}

static void test_require_caps(void **state)
{
	struct features f = facts_good();
	char why[128] = "untouched";

	(void)state;
	assert_int_equal(features_require(&f, why, sizeof(why)), 0);
	assert_string_equal(why, "untouched");

	/* What stands for what. */
	f.caps = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	assert_int_equal(features_require_caps(&f, why, sizeof(why)), 0);
	f.caps = CAP(CAP_SYS_ADMIN);
	assert_int_equal(features_require_caps(&f, why, sizeof(why)), 0);
	f.root = false;
	assert_int_equal(features_require_caps(&f, why, sizeof(why)), 0);
	f.caps = ~(CAP(CAP_SYS_ADMIN) | CAP(CAP_BPF));
	refused(&f, -EPERM, "not root", "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE");
	f.root = true;
	refused(&f, -EPERM, "root without CAP_BPF:", "--cap-add BPF");
	f.caps = ~(CAP(CAP_SYS_ADMIN) | CAP(CAP_PERFMON));
	refused(&f, -EPERM, "root without CAP_PERFMON:", "--privileged");
	f.caps = 0;
	refused(&f, -EPERM, "root without CAP_BPF and CAP_PERFMON:", "--privileged");

	/* A short buffer is filled, not overrun. */
	memset(why, '#', sizeof(why));
	assert_int_equal(features_require(&f, why, 5), -EPERM);
	assert_string_equal(why, "root");
	assert_int_equal(why[5], '#');
}

static void test_require_bpf(void **state)
{
	struct features f = facts_good();

	(void)state;
	f.bpf_error = -EPERM;
	refused(&f, -EPERM, "although the capabilities are there", "seccomp=unconfined");
	f.user_ns_initial = false;
	refused(&f, -EPERM, "user namespace", "root of the machine");
	f.bpf_error = -ENOSYS;
	refused(&f, -EOPNOTSUPP, "no BPF programs for uprobes", "CONFIG_BPF_SYSCALL");
	f.bpf_error = -ENOMEM;
	refused(&f, -EOPNOTSUPP, "refuses BPF programs", "Cannot allocate memory");
}

static void test_require_kernel(void **state)
{
	static const struct {
		size_t offset;
		const char *thing;
		const char *fix;
	} cases[] = {
		{offsetof(struct features, proc_own), "PID namespace", "mount -t proc"},
		{offsetof(struct features, kernel_btf), "no kernel BTF", "CONFIG_DEBUG_INFO_BTF"},
		{offsetof(struct features, read_kernel), "kernel memory", "lockdown=integrity"},
		{offsetof(struct features, ringbuf), "6.18.0-test has no BPF ring buffer", "6.1"},
		{offsetof(struct features, task_storage), "no BPF task storage", "6.1"},
		{offsetof(struct features, attach_cookie), "no BPF attach cookies", "6.1"},
		{offsetof(struct features, bpf_loop), "bpf_loop", "6.1"},
		{offsetof(struct features, tp_btf), "sched_process_exec", "6.1"},
		{offsetof(struct features, iter_task), "iterator", "6.1"},
	};
	struct features f;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		f = facts_good();
		*(bool *)((char *)&f + cases[i].offset) = false;
		refused(&f, -EOPNOTSUPP, cases[i].thing, cases[i].fix);
	}
	f = facts_good();
	f.uprobe_multi = f.uprobe_perf = false;
	f.perf_error = -ENOENT;
	refused(&f, -EOPNOTSUPP, "No such file or directory", "CONFIG_UPROBE_EVENTS");
	f.perf_error = -EACCES;
	refused(&f, -EPERM, "closed to this process", "perf_event_open");
	f.caps = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	refused(&f, -EPERM, "need CAP_SYS_ADMIN", "run it with sudo");
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* As whatever user runs the tests. */
static void test_probe(void **state)
{
	size_t before = open_files();
	struct utsname name;
	struct features f;
	char why[WHY_SIZE];

	(void)state;
	assert_int_equal(features_probe(&f), 0);
	assert_int_equal(open_files(), before);
	assert_int_equal(uname(&name), 0);
	assert_string_equal(f.release, name.release);
	assert_string_equal(f.machine, name.machine);
	assert_int_equal(f.root, geteuid() == 0);
	assert_int_equal(f.uprobe_perf, f.perf_error == 0);
	if (f.uprobe_multi_pid_exact)
		assert_true(f.uprobe_multi);
	if (!f.caps)
		assert_int_equal(features_require(&f, why, sizeof(why)), -EPERM);
	if (f.bpf_error)
		assert_false(f.ringbuf || f.task_storage || f.uprobe_multi || f.tp_btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_caps),     cmocka_unit_test(test_parse_lockdown),
		cmocka_unit_test(test_has_cap),        cmocka_unit_test(test_method),
		cmocka_unit_test(test_require_caps),   cmocka_unit_test(test_require_bpf),
		cmocka_unit_test(test_require_kernel), cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
