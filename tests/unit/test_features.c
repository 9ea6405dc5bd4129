/* SPDX-License-Identifier: MIT */
/* Facts about the kernel: what is read from text, what follows from given facts, and what the
 * doctor makes of them. The real kernel's answers are for tests/live/test_doctor.sh. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/doctor.h"
#include "../../user/features.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CAP(n)       (1ull << (n))

/* Root on a kernel where all is well. */
static struct features good(void)
{
	return (struct features){
		.root = true,
		.caps = UINT64_MAX,
		.pid_ns_initial = true,
		.user_ns_initial = true,
		.memlock_limit = 8 << 20,
		.release = "6.18.0-test",
		.machine = "x86_64",
		.lockdown = FEATURES_LOCKDOWN_NONE,
		.perf_event_paranoid = 2,
		.unprivileged_bpf_disabled = FEATURES_UNKNOWN,
		.kernel_btf = true,
		.ringbuf = true,
		.task_storage = true,
		.bpf_loop = true,
		.attach_cookie = true,
		.read_kernel = true,
		.tp_btf = true,
		.iter_task = true,
		.uprobe_multi = true,
		.uprobe_perf = true,
		.uprobe_multi_pid_exact = true,
		.sched_info = true,
		.map_files = true,
		.mmap_events = true,
	};
}

/* The same kernel as a user without privileges sees it. */
static struct features nobody(void)
{
	struct features f = good();

	f.root = false;
	f.caps = 0;
	f.bpf_error = -EPERM;
	f.ringbuf = f.task_storage = f.bpf_loop = f.attach_cookie = f.read_kernel = false;
	f.tp_btf = f.iter_task = f.uprobe_multi = f.uprobe_multi_pid_exact = false;
	f.uprobe_perf = f.map_files = f.mmap_events = false;
	f.perf_error = -EACCES;
	return f;
}

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
	struct features f = good();

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
	char why[DOCTOR_TEXT_SIZE] = "";

	assert_int_equal(features_require(f, why, sizeof(why)), err);
	if (!strstr(why, thing) || !strstr(why, fix))
		fail_msg("\"%s\" does not say \"%s\" and \"%s\"", why, thing, fix);
	/* It is whole: nothing was cut off. */
	assert_true(strlen(why) < sizeof(why) - 1);
}

static void test_require_caps(void **state)
{
	struct features f = good();
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
	struct features f = good();

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
		{offsetof(struct features, pid_ns_initial), "PID namespace", "--pid=host"},
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
		f = good();
		*(bool *)((char *)&f + cases[i].offset) = false;
		refused(&f, -EOPNOTSUPP, cases[i].thing, cases[i].fix);
	}
	f = good();
	f.uprobe_multi = f.uprobe_perf = false;
	f.perf_error = -ENOENT;
	refused(&f, -EOPNOTSUPP, "No such file or directory", "CONFIG_UPROBE_EVENTS");
	f.perf_error = -EACCES;
	refused(&f, -EPERM, "closed to this process", "perf_event_open");
	f.perf_event_paranoid = 3;
	refused(&f, -EPERM, "closed to this process", "perf_event_open");
	f.caps = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	refused(&f, -EPERM, "perf_event_paranoid=3", "kernel.perf_event_paranoid=2");
}

static const struct doctor_fact *find(const struct doctor_fact *facts, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(facts[i].name, name))
			return &facts[i];
	fail_msg("no fact %s", name);
	return NULL;
}

/* Judges F: a fact is missing exactly when it cannot be traced, and each fact stands once. */
static size_t judge(const struct features *f, struct doctor_fact facts[DOCTOR_MAX_FACTS])
{
	size_t n = doctor_facts(f, facts);
	char text[DOCTOR_TEXT_SIZE];
	bool missing = false;

	assert_true(n > 0 && n < DOCTOR_MAX_FACTS);
	for (size_t i = 0; i < n; i++) {
		missing |= facts[i].state == DOCTOR_MISSING;
		assert_ptr_equal(find(facts, n, facts[i].name), &facts[i]);
		assert_true(strlen(facts[i].text) > 0);
		assert_true(strlen(facts[i].text) < sizeof(facts[i].text) - 1);
	}
	assert_int_equal(missing, doctor_verdict(f, text, sizeof(text)) != 0);
	return n;
}

static void expect(const struct features *f, const char *name, enum doctor_state state,
		   const char *says)
{
	struct doctor_fact facts[DOCTOR_MAX_FACTS];
	const struct doctor_fact *fact = find(facts, judge(f, facts), name);

	if (fact->state != state || !strstr(fact->text, says))
		fail_msg("%s: state %d, \"%s\"; expected %d, \"%s\"", name, fact->state, fact->text,
			 state, says);
}

static void test_doctor_all_well(void **state)
{
	struct features f = good();
	struct doctor_fact facts[DOCTOR_MAX_FACTS];
	size_t n = judge(&f, facts);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(facts[i].state, DOCTOR_OK);
	assert_string_equal(find(facts, n, "kernel")->text, "6.18.0-test, x86_64");
}

/* Each bool of struct features off, alone and with the others off too. */
static void test_doctor_each(void **state)
{
	static const size_t bools[] = {
		offsetof(struct features, root),
		offsetof(struct features, pid_ns_initial),
		offsetof(struct features, user_ns_initial),
		offsetof(struct features, kernel_btf),
		offsetof(struct features, ringbuf),
		offsetof(struct features, task_storage),
		offsetof(struct features, bpf_loop),
		offsetof(struct features, attach_cookie),
		offsetof(struct features, read_kernel),
		offsetof(struct features, tp_btf),
		offsetof(struct features, iter_task),
		offsetof(struct features, uprobe_multi),
		offsetof(struct features, uprobe_perf),
		offsetof(struct features, uprobe_multi_pid_exact),
		offsetof(struct features, sched_info),
		offsetof(struct features, map_files),
		offsetof(struct features, mmap_events),
	};
	struct doctor_fact facts[DOCTOR_MAX_FACTS];
	struct features f;

	(void)state;
	for (size_t i = 0; i < COUNT(bools); i++) {
		for (size_t j = 0; j < COUNT(bools); j++) {
			f = good();
			*((bool *)((char *)&f + bools[i])) = false;
			*((bool *)((char *)&f + bools[j])) = false;
			f.perf_error = f.uprobe_perf ? 0 : -ENOENT;
			judge(&f, facts);
			f.bpf_error = -EPERM;
			judge(&f, facts);
			f.caps = 0;
			judge(&f, facts);
		}
	}
}

static void test_doctor_facts(void **state)
{
	struct features f = good();

	(void)state;
	f.uprobe_multi_pid_exact = false;
	expect(&f, "uprobe_multi_pid", DOCTOR_WARNING, "--no-follow");
	f = good();
	f.uprobe_multi = f.uprobe_multi_pid_exact = false;
	expect(&f, "uprobe_multi", DOCTOR_WARNING, "0.15 s each");
	expect(&f, "uprobe_perf", DOCTOR_OK, "semaphores");
	f.uprobe_perf = false;
	f.perf_error = -ENOENT;
	expect(&f, "uprobe_multi", DOCTOR_MISSING, "6.6");
	expect(&f, "uprobe_perf", DOCTOR_MISSING, "CONFIG_UPROBE_EVENTS");
	f.uprobe_multi = true;
	expect(&f, "uprobe_perf", DOCTOR_WARNING, "not needed");
	f = good();
	f.sched_info = false;
	expect(&f, "sched_info", DOCTOR_WARNING, "-m wall");
	f = good();
	f.caps &= ~CAP(CAP_SYS_PTRACE);
	expect(&f, "other_processes", DOCTOR_WARNING, "give it CAP_SYS_PTRACE");
	f.caps &= ~(CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_DAC_OVERRIDE));
	expect(&f, "other_processes", DOCTOR_WARNING, "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
	f = good();
	f.lockdown = FEATURES_LOCKDOWN_INTEGRITY;
	expect(&f, "lockdown", DOCTOR_OK, "integrity");
	f.lockdown = FEATURES_LOCKDOWN_CONFIDENTIALITY;
	f.read_kernel = false;
	expect(&f, "lockdown", DOCTOR_MISSING, "lockdown=integrity");
	f = good();
	f.memlock_charged = true;
	expect(&f, "memlock", DOCTOR_WARNING, "8192 KiB");
	f.memlock_limit = UINT64_MAX;
	expect(&f, "memlock", DOCTOR_OK, "unlimited");
	expect(&f, "perf_event_paranoid", DOCTOR_OK, "2: ");
	f = nobody();
	f.perf_event_paranoid = 3;
	expect(&f, "perf_event_paranoid", DOCTOR_WARNING, "3: closes perf events");
	expect(&f, "uprobe_perf", DOCTOR_WARNING, "closed to this process");
	f = good();
	f.perf_event_paranoid = 3;
	expect(&f, "perf_event_paranoid", DOCTOR_OK, "3: ");
	expect(&f, "unprivileged_bpf_disabled", DOCTOR_OK, "no such setting");
}

static void test_doctor_nobody(void **state)
{
	struct features f = nobody();

	(void)state;
	expect(&f, "capabilities", DOCTOR_MISSING, "run it with sudo");
	expect(&f, "bpf", DOCTOR_MISSING, "CAP_BPF");
	/* What cannot be known is not called absent. */
	expect(&f, "uprobe_multi", DOCTOR_WARNING, "not known");
	expect(&f, "ringbuf", DOCTOR_WARNING, "not known");
	expect(&f, "uprobe_perf", DOCTOR_WARNING, "CAP_PERFMON");
	expect(&f, "kernel_btf", DOCTOR_OK, "BTF");
}

static void test_verdict(void **state)
{
	struct features f = good();
	char text[DOCTOR_TEXT_SIZE];

	(void)state;
	assert_int_equal(doctor_verdict(&f, text, sizeof(text)), 0);
	assert_string_equal(text, "spantrace can trace here, by uprobe_multi");
	f.uprobe_multi = false;
	assert_int_equal(doctor_verdict(&f, text, sizeof(text)), 0);
	assert_string_equal(
		text,
		"spantrace can trace here, by perf-event uprobes (slow attach: 0.15 s a site)");
	f = nobody();
	assert_int_equal(doctor_verdict(&f, text, sizeof(text)), -EPERM);
	assert_memory_equal(text, "spantrace cannot trace here: not root: ", 39);
}

/* What PRINT makes of F, for the caller to free. */
static char *printed(int (*print)(const struct features *f, FILE *out), const struct features *f,
		     int expected)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(print(f, out), expected);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_print(void **state)
{
	struct features f = good();
	char *text;

	(void)state;
	f.sched_info = false;
	text = printed(doctor_print, &f, 0);
	assert_memory_equal(text, "ok       kernel                     6.18.0-test, x86_64\n", 56);
	assert_non_null(strstr(text, "\nwarning  sched_info                 tasks carry no "));
	assert_null(strstr(text, "missing"));
	assert_non_null(strstr(text, "\n\nspantrace can trace here, by uprobe_multi\n"));
	free(text);

	f = nobody();
	text = printed(doctor_print, &f, -EPERM);
	assert_non_null(strstr(text, "\nmissing  capabilities               not root: "));
	assert_non_null(strstr(text, "\n\nspantrace cannot trace here: not root: "));
	free(text);
}

static void test_print_json(void **state)
{
	struct features f = good();
	char *text;

	(void)state;
	text = printed(doctor_print_json, &f, 0);
	assert_non_null(strstr(text, "\"schema\": 1,"));
	assert_non_null(strstr(text, "\"traces_by\": \"uprobe_multi\","));
	assert_non_null(strstr(text, "{\"name\": \"ringbuf\", \"state\": \"ok\", \"text\": \"BPF"));
	free(text);

	f.uprobe_multi = false;
	text = printed(doctor_print_json, &f, 0);
	assert_non_null(strstr(text, "\"traces_by\": \"uprobe_perf\","));
	free(text);

	f = nobody();
	text = printed(doctor_print_json, &f, -EPERM);
	assert_non_null(strstr(text, "\"traces_by\": \"nothing\","));
	free(text);
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
	char why[DOCTOR_TEXT_SIZE];

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
		cmocka_unit_test(test_require_kernel), cmocka_unit_test(test_doctor_all_well),
		cmocka_unit_test(test_doctor_each),    cmocka_unit_test(test_doctor_facts),
		cmocka_unit_test(test_doctor_nobody),  cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_print),          cmocka_unit_test(test_print_json),
		cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
