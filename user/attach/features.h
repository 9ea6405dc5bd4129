/* SPDX-License-Identifier: MIT */
/* What the running kernel can do and what this process may do, found by asking, never by version
 * numbers: distributions carry features back, and containers take them away.
 *
 * A probe creates nothing that outlives it. Where the kernel refuses every BPF program
 * (`bpf_error`), the facts that only a program can find out are false and stand for "not known".
 */
#ifndef SPANTRACE_FEATURES_H
#define SPANTRACE_FEATURES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../include/types.h"

/* A sysctl that could not be read. */
#define FEATURES_UNKNOWN INT_MIN

enum features_lockdown {
	FEATURES_LOCKDOWN_UNKNOWN, /* not in this kernel, or securityfs is not mounted */
	FEATURES_LOCKDOWN_NONE,
	FEATURES_LOCKDOWN_INTEGRITY,
	FEATURES_LOCKDOWN_CONFIDENTIALITY,
};

/* How probes get into files, best first. */
enum features_method {
	FEATURES_NO_METHOD,
	FEATURES_UPROBE_MULTI, /* many sites in one call */
	FEATURES_UPROBE_PERF,  /* one perf event a site: about 0.15 s each, nearly all at close */
};

struct features {
	/* This process. */
	bool root; /* effective user 0 */
	u64 caps;  /* effective set, a bit each */
	bool pid_ns_initial;
	u32 pid_ns;    /* its inode */
	bool proc_own; /* /proc is mounted, and is of this PID namespace */
	bool user_ns_initial;
	u64 memlock_limit; /* bytes; UINT64_MAX: none */

	/* The machine. */
	char release[65]; /* uname -r */
	char machine[65]; /* uname -m */
	enum features_lockdown lockdown;
	int perf_event_paranoid;       /* or FEATURES_UNKNOWN */
	int unprivileged_bpf_disabled; /* or FEATURES_UNKNOWN */

	/* What every trace needs. */
	int bpf_error;      /* 0: the kernel takes a program fit for uprobes from us; else -errno */
	bool kernel_btf;    /* /sys/kernel/btf/vmlinux is there and can be read */
	bool ringbuf;       /* BPF ring buffer */
	bool task_storage;  /* BPF task storage */
	bool bpf_loop;      /* helper */
	bool attach_cookie; /* helper, in uprobe programs */
	bool read_kernel;   /* helper bpf_probe_read_kernel; lockdown can forbid it */
	bool tp_btf;        /* typed tracepoint sched_process_exec */
	bool iter_task;     /* BPF iterator over tasks */

	/* One of these two. */
	bool uprobe_multi;
	bool uprobe_perf; /* `uprobe` PMU with ref_ctr_offset, and it lets us in: since 6.16 and in
			   * updated older kernels CAP_SYS_ADMIN only, before that CAP_PERFMON too */
	int perf_error;   /* why uprobe_perf is false: -errno; 0 when it is true */

	/* What makes it better. */
	bool uprobe_multi_pid_exact; /* the pid filter of uprobe_multi is per process, not per thread */
	bool uprobe_session;         /* uprobe_multi with one program for entry and return */
	bool sched_info;   /* task_struct.sched_info.run_delay, and the exec times of .se */
	bool fault_hooks;  /* programs may stand at handle_mm_fault: page faults are timed */
	bool prepare_exec; /* typed tracepoint sched_prepare_exec, since 6.10 */
	bool task_hooks;  /* … and where a task exits or execs: batched spans are fetched there */
	bool map_files;   /* mapped files open through /proc/PID/map_files */
	bool mmap_events; /* perf reports new mappings machine-wide */
	bool memlock_charged; /* BPF memory counts against RLIMIT_MEMLOCK (before 5.11) */
};

/* Asks for all of it; about 10 ms. Works without any privilege: what is not allowed is false. 0, or
 * -errno when not even uname works; then *OUT is left alone. */
int features_probe(struct features *out);

/* 0 when the main job, tracing, can run. Else -EPERM (this process may not) or -EOPNOTSUPP (this
 * kernel cannot, or not here), and WHY, of LEN bytes, is a sentence that names the thing and the
 * fix. */
int features_require(const struct features *f, char *why, size_t len);
/* The part of it about capabilities. */
int features_require_caps(const struct features *f, char *why, size_t len);

enum features_method features_method(const struct features *f);
/* Whether capability CAP (a CAP_* number) is effective. */
bool features_has_cap(const struct features *f, unsigned cap);

/* Whether a process under seccomp survives a probe at a function's return: on x86-64 that is a system call of the kernel's
 * own since 6.11, which its filter must let pass (since 6.14). Asked of a child process; false where it cannot be. */
bool features_returns_pass_seccomp(void);

/* The effective set in the text of /proc/PID/status. 0, or -EINVAL with *CAPS as it was. */
int features_parse_caps(const char *status, u64 *caps);
/* The mode in the text of /sys/kernel/security/lockdown, the word in brackets. 0, or -EINVAL with
 * *MODE as it was. */
int features_parse_lockdown(const char *text, enum features_lockdown *mode);

#endif
