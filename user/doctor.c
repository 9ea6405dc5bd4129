/* SPDX-License-Identifier: MIT */
/* Judges the facts of features.h and prints the report; see doctor.h.
 *
 * A fact that is one bool is a line of a table; one that takes thought is a function. All in the
 * order of the report: who asks, what every trace needs, how probes are made, what makes it better.
 */
#include "doctor.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <string.h>

#include "../exporters/jsonw.h"
#include "cli/cli.h"
#include "util/log.h"

#define SCHEMA 1

static const char *const state_names[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARNING] = "warning",
	[DOCTOR_MISSING] = "missing",
};

struct report {
	struct doctor_fact *facts;
	size_t n;
};

__attribute__((format(printf, 4, 5))) static void
add(struct report *r, const char *name, enum doctor_state state, const char *format, ...)
{
	struct doctor_fact *fact;
	va_list args;

	if (r->n == DOCTOR_MAX_FACTS)
		return;
	fact = &r->facts[r->n++];
	fact->name = name;
	fact->state = state;
	va_start(args, format);
	vsnprintf(fact->text, sizeof(fact->text), format, args);
	va_end(args);
}

/* Facts that are one bool. */
struct plain {
	const char *name;
	size_t offset;  /* of the bool in struct features */
	bool needs_bpf; /* only a program can find it out */
	bool vital;     /* without it: missing, else warning */
	const char *yes;
	const char *no;
};

#define FACT(field) #field, offsetof(struct features, field)

static const struct plain vital[] = {
	{FACT(kernel_btf), false, true, "the kernel describes its types (BTF)",
	 "no /sys/kernel/btf/vmlinux: mount sysfs, or use a kernel with CONFIG_DEBUG_INFO_BTF=y"},
	{FACT(ringbuf), true, true, "BPF ring buffer",
	 "no BPF ring buffer: use Linux 6.1 or newer"},
	{FACT(task_storage), true, true, "BPF task storage",
	 "no BPF task storage: use Linux 6.1 or newer"},
	{FACT(attach_cookie), true, true, "BPF attach cookies",
	 "no BPF attach cookies: use Linux 6.1 or newer"},
	{FACT(bpf_loop), true, true, "BPF helper bpf_loop",
	 "no BPF helper bpf_loop: use Linux 6.1 or newer"},
	{FACT(read_kernel), true, true, "BPF programs may read kernel memory",
	 "BPF programs may not read kernel memory: boot without lockdown=confidentiality"},
	{FACT(tp_btf), true, true, "typed tracepoints: fork, exec and exit are followed",
	 "no typed tracepoint sched_process_exec: use Linux 6.1 or newer, with BTF"},
	{FACT(iter_task), true, true,
	 "BPF iterator over tasks: spans still open at the end are shown",
	 "no BPF iterator over tasks: use Linux 6.1 or newer, with BTF"},
};

static const struct plain better[] = {
	{FACT(sched_info), false, false, "tasks carry run_delay: CPU time splits from waiting",
	 "tasks carry no run_delay, so CPU metrics fail: use -m wall, or a kernel with BTF and CONFIG_SCHED_INFO"},
	{FACT(fault_hooks), true, false, "-m cpu=exact counts page faults as system time",
	 "BPF programs may not stand at the kernel's functions: -m cpu=exact counts page faults as user time"},
	{FACT(map_files), false, false,
	 "mapped files open by /proc/PID/map_files, also deleted ones and memfds",
	 "/proc/PID/map_files does not open, so deleted files and memfds can be missed: give it CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN"},
	{FACT(mmap_events), false, false,
	 "perf reports new mappings: dlopen and exec are seen at once",
	 "perf reports no new mappings of other processes: code loaded later can be missed; run it with sudo, or give it CAP_PERFMON"},
};

static void add_plain(struct report *r, const struct features *f, const struct plain *p, size_t n)
{
	for (; n; n--, p++) {
		bool present = *(const bool *)((const char *)f + p->offset);

		if (present)
			add(r, p->name, DOCTOR_OK, "%s", p->yes);
		else if (p->needs_bpf && f->bpf_error)
			add(r, p->name, DOCTOR_WARNING,
			    "not known: the kernel tells only who may load BPF programs");
		else
			add(r, p->name, p->vital ? DOCTOR_MISSING : DOCTOR_WARNING, "%s", p->no);
	}
}

static void add_capabilities(struct report *r, const struct features *f)
{
	char why[DOCTOR_TEXT_SIZE];
	bool ptrace = features_has_cap(f, CAP_SYS_PTRACE);
	bool read =
		features_has_cap(f, CAP_DAC_READ_SEARCH) || features_has_cap(f, CAP_DAC_OVERRIDE);

	if (features_require_caps(f, why, sizeof(why)))
		add(r, "capabilities", DOCTOR_MISSING, "%s", why);
	else
		add(r, "capabilities", DOCTOR_OK, "%s",
		    f->root ? "root, with CAP_BPF and CAP_PERFMON" : "CAP_BPF and CAP_PERFMON");
	if (ptrace && read)
		add(r, "other_processes", DOCTOR_OK,
		    "processes and files of every user can be looked at");
	else
		add(r, "other_processes", DOCTOR_WARNING,
		    "only processes and files that this user can read: run it with sudo, or give it %s%s%s",
		    ptrace ? "" : "CAP_SYS_PTRACE", ptrace || read ? "" : " and ",
		    read ? "" : "CAP_DAC_READ_SEARCH");
}

static void add_namespaces(struct report *r, const struct features *f)
{
	if (!f->proc_own)
		add(r, "pid_namespace", DOCTOR_MISSING,
		    "/proc is not that of this PID namespace: mount it (mount -t proc proc /proc; unshare has --mount-proc)");
	else if (f->pid_ns_initial)
		add(r, "pid_namespace", DOCTOR_OK, "the first one: every process can be seen");
	else
		add(r, "pid_namespace", DOCTOR_OK,
		    "a container's: only its own processes can be seen, by its own numbers");
	if (f->user_ns_initial || !f->bpf_error)
		add(r, "user_namespace", DOCTOR_OK, "capabilities count for BPF");
	else
		add(r, "user_namespace", DOCTOR_MISSING,
		    "a container's, so capabilities do not count for BPF: run it as root of the machine");
}

static void add_bpf(struct report *r, const struct features *f)
{
	if (!f->bpf_error)
		add(r, "bpf", DOCTOR_OK, "the kernel takes BPF programs from this process");
	else if (f->bpf_error == -EPERM || f->bpf_error == -EACCES)
		add(r, "bpf", DOCTOR_MISSING,
		    "the kernel takes no BPF programs from this process: it needs CAP_BPF and CAP_PERFMON, and no seccomp filter or security module in the way");
	else
		add(r, "bpf", DOCTOR_MISSING,
		    "the kernel takes no BPF programs for uprobes (%s): it needs CONFIG_BPF_SYSCALL, CONFIG_UPROBE_EVENTS and CONFIG_BPF_EVENTS",
		    strerror(-f->bpf_error));
}

static void add_lockdown(struct report *r, const struct features *f)
{
	switch (f->lockdown) {
	case FEATURES_LOCKDOWN_NONE:
		add(r, "lockdown", DOCTOR_OK, "none");
		break;
	case FEATURES_LOCKDOWN_INTEGRITY:
		add(r, "lockdown", DOCTOR_OK, "integrity: does not concern spantrace");
		break;
	case FEATURES_LOCKDOWN_CONFIDENTIALITY:
		add(r, "lockdown", f->read_kernel ? DOCTOR_WARNING : DOCTOR_MISSING,
		    "confidentiality: BPF may not read kernel memory; boot with lockdown=integrity or without");
		break;
	default:
		add(r, "lockdown", DOCTOR_OK, "not in use, or securityfs is not mounted");
		break;
	}
}

/* Above 2, some distributions (Debian, Ubuntu) open perf events only for CAP_SYS_ADMIN. */
static bool perf_events_closed(const struct features *f)
{
	return f->perf_event_paranoid > 2 && !f->mmap_events && features_has_cap(f, CAP_PERFMON) &&
	       !features_has_cap(f, CAP_SYS_ADMIN);
}

/* Limits that people know from elsewhere and ask about. */
static void add_limits(struct report *r, const struct features *f)
{
	if (perf_events_closed(f))
		add(r, "perf_event_paranoid", DOCTOR_WARNING,
		    "%d: closes perf events to all without CAP_SYS_ADMIN; set it to 2, or run spantrace with sudo",
		    f->perf_event_paranoid);
	else if (f->perf_event_paranoid == FEATURES_UNKNOWN)
		add(r, "perf_event_paranoid", DOCTOR_OK, "no such setting here");
	else
		add(r, "perf_event_paranoid", DOCTOR_OK,
		    "%d: bounds users without CAP_PERFMON, who cannot trace anyway",
		    f->perf_event_paranoid);
	if (f->unprivileged_bpf_disabled == FEATURES_UNKNOWN)
		add(r, "unprivileged_bpf_disabled", DOCTOR_OK, "no such setting here");
	else
		add(r, "unprivileged_bpf_disabled", DOCTOR_OK,
		    "%d: bounds users without CAP_BPF, who cannot trace anyway",
		    f->unprivileged_bpf_disabled);
	if (f->bpf_error)
		return;
	if (!f->memlock_charged)
		add(r, "memlock", DOCTOR_OK,
		    "BPF memory counts for the control group, not against RLIMIT_MEMLOCK");
	else if (f->memlock_limit == UINT64_MAX)
		add(r, "memlock", DOCTOR_OK, "BPF memory counts against RLIMIT_MEMLOCK: unlimited");
	else
		add(r, "memlock", DOCTOR_WARNING,
		    "BPF memory counts against RLIMIT_MEMLOCK, here %llu KiB: run `ulimit -l unlimited` first",
		    (unsigned long long)(f->memlock_limit / 1024));
}

static void add_uprobe_multi(struct report *r, const struct features *f)
{
	if (f->bpf_error) {
		add(r, "uprobe_multi", DOCTOR_WARNING,
		    "not known: the kernel tells only who may load BPF programs");
		return;
	}
	if (!f->uprobe_multi && f->uprobe_perf) {
		add(r, "uprobe_multi", DOCTOR_WARNING,
		    "probes attach one at a time, about 0.15 s each: choose them with -P, or use Linux 6.6 or newer");
		return;
	}
	if (!f->uprobe_multi) {
		add(r, "uprobe_multi", DOCTOR_MISSING,
		    "no uprobe_multi links: use Linux 6.6 or newer");
		return;
	}
	add(r, "uprobe_multi", DOCTOR_OK, "thousands of probes attach in one call");
	if (f->uprobe_multi_pid_exact)
		add(r, "uprobe_multi_pid", DOCTOR_OK,
		    "--no-follow confines probes to processes: others pay nothing");
	else
		add(r, "uprobe_multi_pid", DOCTOR_WARNING,
		    "the kernel confines probes to threads, not to processes, so --no-follow is left to BPF and others pay a trap: use Linux 6.6.35, 6.9.5, 6.10 or newer");
}

static void add_uprobe_perf(struct report *r, const struct features *f)
{
	if (f->uprobe_perf)
		add(r, "uprobe_perf", DOCTOR_OK, "%s",
		    f->uprobe_multi ? "perf-event uprobes are there too; not needed"
				    : "perf-event uprobes with semaphores");
	else if (f->perf_error == -EACCES || f->perf_error == -EPERM)
		add(r, "uprobe_perf", DOCTOR_WARNING,
		    "perf-event uprobes are there, but not for this process: they need CAP_SYS_ADMIN (older kernels: CAP_PERFMON) and no security module in the way");
	else
		add(r, "uprobe_perf",
		    f->uprobe_multi || f->bpf_error ? DOCTOR_WARNING : DOCTOR_MISSING,
		    "no perf-event uprobes (%s)%s", strerror(-f->perf_error),
		    f->uprobe_multi ? ": not needed, uprobe_multi is there"
				    : ": mount sysfs, or use a kernel with CONFIG_UPROBE_EVENTS=y");
}

size_t doctor_facts(const struct features *f, struct doctor_fact out[DOCTOR_MAX_FACTS])
{
	struct report r = {.facts = out};

	add(&r, "kernel", DOCTOR_OK, "%s, %s", f->release, f->machine);
	add(&r, "libbpf", DOCTOR_OK, "%s", libbpf_version_string());
	add_capabilities(&r, f);
	add_namespaces(&r, f);
	add_bpf(&r, f);
	add_plain(&r, f, vital, sizeof(vital) / sizeof(vital[0]));
	add_uprobe_multi(&r, f);
	add_uprobe_perf(&r, f);
	add_plain(&r, f, better, sizeof(better) / sizeof(better[0]));
	add_lockdown(&r, f);
	add_limits(&r, f);
	return r.n;
}

int doctor_verdict(const struct features *f, char *text, size_t len)
{
	char why[DOCTOR_TEXT_SIZE];
	int err = features_require(f, why, sizeof(why));

	if (err)
		snprintf(text, len, "spantrace cannot trace here: %s", why);
	else if (features_method(f) == FEATURES_UPROBE_MULTI)
		snprintf(text, len, "spantrace can trace here, by uprobe_multi");
	else
		snprintf(
			text, len,
			"spantrace can trace here, by perf-event uprobes (slow attach: 0.15 s a site)");
	return err;
}

int doctor_print(const struct features *f, FILE *out)
{
	struct doctor_fact facts[DOCTOR_MAX_FACTS];
	size_t n = doctor_facts(f, facts);
	char verdict[DOCTOR_TEXT_SIZE];
	int err = doctor_verdict(f, verdict, sizeof(verdict));

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%-8s %-26s %s\n", state_names[facts[i].state], facts[i].name,
			facts[i].text);
	fprintf(out, "\n%s\n", verdict);
	return err;
}

int doctor_print_json(const struct features *f, FILE *out)
{
	static const char *const methods[] = {
		[FEATURES_NO_METHOD] = "nothing",
		[FEATURES_UPROBE_MULTI] = "uprobe_multi",
		[FEATURES_UPROBE_PERF] = "uprobe_perf",
	};
	struct doctor_fact facts[DOCTOR_MAX_FACTS];
	size_t n = doctor_facts(f, facts);
	char verdict[DOCTOR_TEXT_SIZE];
	int err = doctor_verdict(f, verdict, sizeof(verdict));
	struct jsonw w = {.out = out};

	jsonw_object(&w, NULL, JSONW_LINES);
	jsonw_u64(&w, "schema", SCHEMA);
	jsonw_string(&w, "version", SPANTRACE_VERSION);
	jsonw_string(&w, "traces_by", methods[err ? FEATURES_NO_METHOD : features_method(f)]);
	jsonw_string(&w, "verdict", verdict);
	jsonw_array(&w, "facts", JSONW_LINES);
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&w, NULL, JSONW_INLINE);
		jsonw_string(&w, "name", facts[i].name);
		jsonw_string(&w, "state", state_names[facts[i].state]);
		jsonw_string(&w, "text", facts[i].text);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	return err;
}

static void print_help(void)
{
	fputs("usage: spantrace doctor [--json]\n"
	      "\n"
	      "Says what this machine lets spantrace do, one line a fact: ok, warning (it traces,\n"
	      "but not all of it works, or the fact is not known), missing (it does not), with what\n"
	      "to do; and last whether it can trace. Changes nothing. Runs without privileges too.\n"
	      "\n"
	      "      --json   the same as JSON\n"
	      "  -h, --help   print this\n"
	      "\n"
	      "exit status: 0 spantrace can trace here; 1 it cannot; 2 bad usage\n",
	      stdout);
}

int doctor_run(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct features f;
	bool json = false;
	int c, err;

	optind = 0; /* glibc: a new list of words */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+h", long_options, NULL)) != -1) {
		if (c == 'h') {
			print_help();
			return CLI_DONE;
		}
		if (c != 'j') {
			log_error("doctor: \"%s\" is not an option of it; it takes --json only",
				  argv[optind - 1]);
			return CLI_USAGE;
		}
		json = true;
	}
	if (optind < argc) {
		log_error("doctor: \"%s\" is one word too many; it takes --json only",
			  argv[optind]);
		return CLI_USAGE;
	}
	err = features_probe(&f);
	if (err) {
		log_error("doctor: uname: %s", strerror(-err));
		return CLI_FAILED;
	}
	err = json ? doctor_print_json(&f, stdout) : doctor_print(&f, stdout);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("doctor: cannot write the report: %s", strerror(errno));
		return CLI_FAILED;
	}
	return err ? CLI_FAILED : CLI_DONE;
}
