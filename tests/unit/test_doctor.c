/* SPDX-License-Identifier: MIT */
/* What the doctor makes of given facts: each judged, the verdict, the two forms of the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/doctor.h"
#include "facts.h"

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
	struct features f = facts_good();
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
		offsetof(struct features, proc_own),
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
		offsetof(struct features, fault_hooks),
		offsetof(struct features, map_files),
		offsetof(struct features, mmap_events),
	};
	struct doctor_fact facts[DOCTOR_MAX_FACTS];
	struct features f;

	(void)state;
	for (size_t i = 0; i < COUNT(bools); i++) {
		for (size_t j = 0; j < COUNT(bools); j++) {
			f = facts_good();
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
	struct features f = facts_good();

	(void)state;
	f.uprobe_multi_pid_exact = false;
	expect(&f, "uprobe_multi_pid", DOCTOR_WARNING, "--no-follow");
	f = facts_good();
	f.uprobe_multi = f.uprobe_multi_pid_exact = false;
	expect(&f, "uprobe_multi", DOCTOR_WARNING, "0.15 s each");
	expect(&f, "uprobe_perf", DOCTOR_OK, "semaphores");
	f.uprobe_perf = false;
	f.perf_error = -ENOENT;
	expect(&f, "uprobe_multi", DOCTOR_MISSING, "6.6");
	expect(&f, "uprobe_perf", DOCTOR_MISSING, "CONFIG_UPROBE_EVENTS");
	f.uprobe_multi = true;
	expect(&f, "uprobe_perf", DOCTOR_WARNING, "not needed");
	f = facts_good();
	f.sched_info = false;
	expect(&f, "sched_info", DOCTOR_WARNING, "-m wall");
	f = facts_good();
	f.caps &= ~CAP(CAP_SYS_PTRACE);
	expect(&f, "other_processes", DOCTOR_WARNING, "give it CAP_SYS_PTRACE");
	f.caps &= ~(CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_DAC_OVERRIDE));
	expect(&f, "other_processes", DOCTOR_WARNING, "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
	f = facts_good();
	f.lockdown = FEATURES_LOCKDOWN_INTEGRITY;
	expect(&f, "lockdown", DOCTOR_OK, "integrity");
	f.lockdown = FEATURES_LOCKDOWN_CONFIDENTIALITY;
	f.read_kernel = false;
	expect(&f, "lockdown", DOCTOR_MISSING, "lockdown=integrity");
	f = facts_good();
	f.memlock_charged = true;
	expect(&f, "memlock", DOCTOR_WARNING, "8192 KiB");
	f.memlock_limit = UINT64_MAX;
	expect(&f, "memlock", DOCTOR_OK, "unlimited");
	expect(&f, "perf_event_paranoid", DOCTOR_OK, "2: ");
	f = facts_nobody();
	f.perf_event_paranoid = 3;
	expect(&f, "perf_event_paranoid", DOCTOR_OK, "3: ");
	f = facts_good();
	f.perf_event_paranoid = 3;
	expect(&f, "perf_event_paranoid", DOCTOR_OK, "3: ");
	f.caps = CAP(CAP_BPF) | CAP(CAP_PERFMON);
	f.mmap_events = false;
	expect(&f, "perf_event_paranoid", DOCTOR_WARNING, "3: closes perf events");
	f.perf_event_paranoid = 2;
	expect(&f, "perf_event_paranoid", DOCTOR_OK, "2: ");
	expect(&f, "unprivileged_bpf_disabled", DOCTOR_OK, "no such setting");
}

static void test_doctor_nobody(void **state)
{
	struct features f = facts_nobody();

	(void)state;
	expect(&f, "capabilities", DOCTOR_MISSING, "run it with sudo");
	expect(&f, "bpf", DOCTOR_MISSING, "CAP_BPF");
	/* What cannot be known is not called absent. */
	expect(&f, "uprobe_multi", DOCTOR_WARNING, "not known");
	expect(&f, "ringbuf", DOCTOR_WARNING, "not known");
	expect(&f, "uprobe_perf", DOCTOR_WARNING, "CAP_SYS_ADMIN");
	expect(&f, "kernel_btf", DOCTOR_OK, "BTF");
	/* Nor is uprobe_multi, which would do in place of this one. */
	f.perf_error = -ENOENT;
	expect(&f, "uprobe_perf", DOCTOR_WARNING, "No such file or directory");
}

static void test_verdict(void **state)
{
	struct features f = facts_good();
	char text[DOCTOR_TEXT_SIZE];

	(void)state;
	assert_int_equal(doctor_verdict(&f, text, sizeof(text)), 0);
	assert_string_equal(text, "spantrace can trace here, by uprobe_multi");
	f.uprobe_multi = false;
	assert_int_equal(doctor_verdict(&f, text, sizeof(text)), 0);
	assert_string_equal(
		text,
		"spantrace can trace here, by perf-event uprobes (slow attach: 0.15 s a site)");
	f = facts_nobody();
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
	struct features f = facts_good();
	char *text;

	(void)state;
	f.sched_info = false;
	text = printed(doctor_print, &f, 0);
	assert_memory_equal(text, "ok       kernel                     6.18.0-test, x86_64\n", 56);
	assert_non_null(strstr(text, "\nwarning  sched_info                 tasks carry no "));
	assert_null(strstr(text, "missing"));
	assert_non_null(strstr(text, "\n\nspantrace can trace here, by uprobe_multi\n"));
	free(text);

	f = facts_nobody();
	text = printed(doctor_print, &f, -EPERM);
	assert_non_null(strstr(text, "\nmissing  capabilities               not root: "));
	assert_non_null(strstr(text, "\n\nspantrace cannot trace here: not root: "));
	free(text);
}

static void test_print_json(void **state)
{
	struct features f = facts_good();
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

	f = facts_nobody();
	text = printed(doctor_print_json, &f, -EPERM);
	assert_non_null(strstr(text, "\"traces_by\": \"nothing\","));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doctor_all_well), cmocka_unit_test(test_doctor_each),
		cmocka_unit_test(test_doctor_facts),    cmocka_unit_test(test_doctor_nobody),
		cmocka_unit_test(test_verdict),         cmocka_unit_test(test_print),
		cmocka_unit_test(test_print_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
