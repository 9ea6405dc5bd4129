/* SPDX-License-Identifier: MIT */
/* What the facts of features.h mean: whether and how a trace can run, and if not, what to do. */
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "features.h"

bool features_has_cap(const struct features *f, unsigned cap)
{
	return cap < 64 && (f->caps >> cap & 1);
}

enum features_method features_method(const struct features *f)
{
	if (f->uprobe_multi)
		return FEATURES_UPROBE_MULTI;
	return f->uprobe_perf ? FEATURES_UPROBE_PERF : FEATURES_NO_METHOD;
}

__attribute__((format(printf, 4, 5))) static int refuse(int err, char *why, size_t len,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, len, format, args);
	va_end(args);
	return err;
}

int features_require_caps(const struct features *f, char *why, size_t len)
{
	bool admin = features_has_cap(f, CAP_SYS_ADMIN); /* stands for both of the others */
	bool bpf = admin || features_has_cap(f, CAP_BPF);
	bool perfmon = admin || features_has_cap(f, CAP_PERFMON);

	if (bpf && perfmon)
		return 0;
	if (!f->root)
		return refuse(
			-EPERM, why, len,
			"not root: run it with sudo, or give it CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE (setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep FILE)");
	return refuse(
		-EPERM, why, len,
		"root without %s%s%s: start the container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE, or --privileged",
		bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ", perfmon ? "" : "CAP_PERFMON");
}

static int require_bpf(const struct features *f, char *why, size_t len)
{
	switch (f->bpf_error) {
	case 0:
		return 0;
	case -EPERM:
	case -EACCES:
		if (!f->user_ns_initial)
			return refuse(
				-EPERM, why, len,
				"in a user namespace, where capabilities do not count for BPF: run it as root of the machine, not of a rootless container");
		return refuse(
			-EPERM, why, len,
			"bpf(2) is forbidden although the capabilities are there: a seccomp filter or a security module stands before it; in a container, run it with --privileged or --security-opt seccomp=unconfined");
	case -ENOSYS:
	case -EINVAL:
		return refuse(
			-EOPNOTSUPP, why, len,
			"the kernel has no BPF programs for uprobes: it needs CONFIG_BPF_SYSCALL, CONFIG_UPROBE_EVENTS and CONFIG_BPF_EVENTS");
	default:
		return refuse(-EOPNOTSUPP, why, len, "the kernel refuses BPF programs: %s",
			      strerror(-f->bpf_error));
	}
}

static int require_parts(const struct features *f, char *why, size_t len)
{
	const struct {
		bool present;
		const char *what;
	} parts[] = {
		{f->ringbuf, "BPF ring buffer"},
		{f->task_storage, "BPF task storage"},
		{f->attach_cookie, "BPF attach cookies"},
		{f->bpf_loop, "BPF helper bpf_loop"},
		{f->tp_btf, "typed tracepoint sched_process_exec"},
		{f->iter_task, "BPF iterator over tasks"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!parts[i].present)
			return refuse(-EOPNOTSUPP, why, len,
				      "kernel %s has no %s: use Linux 6.1 or newer", f->release,
				      parts[i].what);
	return 0;
}

static int require_method(const struct features *f, char *why, size_t len)
{
	if (features_method(f) != FEATURES_NO_METHOD)
		return 0;
	if ((f->perf_error == -EACCES || f->perf_error == -EPERM) &&
	    !features_has_cap(f, CAP_SYS_ADMIN))
		return refuse(
			-EPERM, why, len,
			"perf-event uprobes need CAP_SYS_ADMIN, and uprobe_multi, which does not, is not in this kernel (Linux 6.6): run it with sudo");
	if (f->perf_error == -EACCES || f->perf_error == -EPERM)
		return refuse(
			-EPERM, why, len,
			"perf-event uprobes are closed to this process (%s), and there is no uprobe_multi (Linux 6.6): run it outside of the container, or allow it perf_event_open",
			strerror(-f->perf_error));
	return refuse(
		-EOPNOTSUPP, why, len,
		"no way to put probes into files: neither uprobe_multi links (Linux 6.6) nor perf-event uprobes (%s); the kernel needs CONFIG_UPROBE_EVENTS",
		strerror(-f->perf_error));
}

int features_require(const struct features *f, char *why, size_t len)
{
	int err = features_require_caps(f, why, len);

	if (!err)
		err = require_bpf(f, why, len);
	if (err)
		return err;
	if (!f->proc_own)
		return refuse(
			-EOPNOTSUPP, why, len,
			"/proc is not that of this PID namespace: mount it (mount -t proc proc /proc; unshare has --mount-proc)");
	if (!f->kernel_btf)
		return refuse(
			-EOPNOTSUPP, why, len,
			"no kernel BTF in /sys/kernel/btf/vmlinux: mount sysfs, or use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	if (!f->read_kernel)
		return refuse(
			-EOPNOTSUPP, why, len,
			"BPF may not read kernel memory: boot without lockdown=confidentiality (lockdown=integrity will do)");
	err = require_parts(f, why, len);
	return err ? err : require_method(f, why, len);
}
