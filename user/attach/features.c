/* SPDX-License-Identifier: MIT */
/* Finds out what the kernel can do; see features.h.
 *
 * Programs are loaded and dropped, maps created and closed; links and perf events are asked for
 * with arguments that a kernel with the feature must refuse in its own way.
 */
#include "features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "uprobe_multi.h"

#define BTF_PATH   "/sys/kernel/btf/vmlinux"
#define PMU_TYPE   "/sys/bus/event_source/devices/uprobe/type"
#define PMU_REFCTR "/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset"

/* Inode numbers that the kernel gives the first namespaces (include/linux/proc_ns.h). */
#define PID_NS_INITIAL  4026531836u
#define USER_NS_INITIAL 4026531837u

#define INSN_COUNT(insns) (sizeof(insns) / sizeof((insns)[0]))
#define INSN(op, dst, src, value)                                                          \
	{                                                                                  \
		.code = (op), .dst_reg = (dst), .src_reg = (src), .off = 0, .imm = (value) \
	}
#define INSN_MOV_IMM(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, value)
#define INSN_MOV_REG(dst, src)   INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0)
#define INSN_ADD_IMM(dst, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, value)
#define INSN_CALL(helper)        INSN(BPF_JMP | BPF_CALL, 0, 0, helper)
#define INSN_EXIT()              INSN(BPF_JMP | BPF_EXIT, 0, 0, 0)

static const struct bpf_insn return_zero[] = {
	INSN_MOV_IMM(BPF_REG_0, 0),
	INSN_EXIT(),
};

/* The text of a small file of /proc or /sys, NUL-terminated. 0 or -errno. */
static int read_text(const char *path, char *text, size_t size)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

static int read_int(const char *path, int *value)
{
	char text[32];
	char *end;
	long n;
	int err = read_text(path, text, sizeof(text));

	if (err)
		return err;
	n = strtol(text, &end, 10);
	if (end == text || n < INT_MIN || n > INT_MAX)
		return -EINVAL;
	*value = (int)n;
	return 0;
}

int features_parse_caps(const char *status, u64 *caps)
{
	static const char key[] = "CapEff:";
	const char *line = status;
	char *end;
	u64 value;

	while (strncmp(line, key, sizeof(key) - 1) != 0) {
		line = strchr(line, '\n');
		if (!line)
			return -EINVAL;
		line++;
	}
	line += sizeof(key) - 1;
	line += strspn(line, "\t ");
	if (!strspn(line, "0123456789abcdefABCDEF"))
		return -EINVAL;
	errno = 0;
	value = strtoull(line, &end, 16);
	if (errno || (*end != '\n' && *end != '\0'))
		return -EINVAL;
	*caps = value;
	return 0;
}

int features_parse_lockdown(const char *text, enum features_lockdown *mode)
{
	static const struct {
		const char *word;
		enum features_lockdown mode;
	} words[] = {
		{"[none]", FEATURES_LOCKDOWN_NONE},
		{"[integrity]", FEATURES_LOCKDOWN_INTEGRITY},
		{"[confidentiality]", FEATURES_LOCKDOWN_CONFIDENTIALITY},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(text, words[i].word)) {
			*mode = words[i].mode;
			return 0;
		}
	}
	return -EINVAL;
}

/* Whether PATH is the first namespace of its kind. A kernel without namespaces has no such file. */
static bool is_namespace(const char *path, ino_t initial)
{
	struct stat st;

	return stat(path, &st) || st.st_ino == initial;
}

static u32 namespace_inode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (u32)st.st_ino;
}

/* /proc may be that of the namespace that this one was made in: its numbers are then others. */
static bool is_proc_own(void)
{
	char self[32] = "";
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	return n > 0 && atoi(self) == getpid();
}

/* /proc/PID/map_files opens only for some, whatever the mapped file's own permissions: try one of
 * our own. */
static bool probe_map_files(void)
{
	DIR *dir = opendir("/proc/self/map_files");
	const struct dirent *entry;
	bool opened = false;

	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		AUTO_CLOSE int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		opened = fd >= 0;
		break;
	}
	closedir(dir);
	return opened;
}

static int perf_open(struct perf_event_attr *attr, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	attr->disabled = 1;
	fd = syscall(__NR_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static bool probe_mmap_events(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
	};
	int cpu = sched_getcpu();
	AUTO_CLOSE int fd = perf_open(&attr, cpu < 0 ? 0 : cpu);

	return fd >= 0;
}

/* Asks the `uprobe` PMU for a probe in a file below a file. It checks permission first and the path
 * before it makes anything, so ENOTDIR says that a good path would do. 0 or -errno. */
static int probe_uprobe_perf(void)
{
	struct perf_event_attr attr = {.config1 = (u64)(uintptr_t) "/proc/self/exe/none"};
	AUTO_CLOSE int fd = -1;
	int type, err;

	err = read_int(PMU_TYPE, &type);
	if (err)
		return err;
	if (access(PMU_REFCTR, F_OK))
		return -errno;
	attr.type = (u32)type;
	fd = perf_open(&attr, 0);
	return fd == -ENOTDIR ? 0 : fd < 0 ? fd : -EINVAL;
}

/* A program, or -errno. */
static int load(enum bpf_prog_type type, enum bpf_attach_type attach, int btf_id,
		const struct bpf_insn *insns, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach,
		    .attach_btf_id = (u32)btf_id);
	int fd = bpf_prog_load(type, NULL, "Dual MIT/GPL", insns, n, &opts);

	return fd < 0 ? -errno : fd;
}

/* Whether a whole, correct call of a helper passes the verifier. */
static bool takes(enum bpf_prog_type type, const struct bpf_insn *insns, size_t n)
{
	AUTO_CLOSE int fd = load(type, 0, 0, insns, n);

	return fd >= 0;
}

static void probe_helpers(struct features *f)
{
	static const struct bpf_insn cookie[] = {
		INSN_CALL(BPF_FUNC_get_attach_cookie), /* R1 is the context already */
		INSN_EXIT(),
	};
	static const struct bpf_insn read_kernel[] = {
		INSN_MOV_REG(BPF_REG_1, BPF_REG_10),
		INSN_ADD_IMM(BPF_REG_1, -8),
		INSN_MOV_IMM(BPF_REG_2, 8),
		INSN_MOV_IMM(BPF_REG_3, 0),
		INSN_CALL(BPF_FUNC_probe_read_kernel),
		INSN_MOV_IMM(BPF_REG_0, 0),
		INSN_EXIT(),
	};
	/* Came in the same release as the end of the charge to RLIMIT_MEMLOCK, which itself shows
	 * only when it is too late. Not for uprobes, so asked for in another type of program. */
	static const struct bpf_insn coarse[] = {
		INSN_CALL(BPF_FUNC_ktime_get_coarse_ns),
		INSN_EXIT(),
	};

	f->attach_cookie = takes(BPF_PROG_TYPE_KPROBE, cookie, INSN_COUNT(cookie));
	f->read_kernel = takes(BPF_PROG_TYPE_KPROBE, read_kernel, INSN_COUNT(read_kernel));
	f->memlock_charged = !takes(BPF_PROG_TYPE_SOCKET_FILTER, coarse, INSN_COUNT(coarse));
	/* A correct call would need BTF for its callback; libbpf reads the verifier's complaint. */
	f->bpf_loop = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) > 0;
}

/* A kernel with uprobe_multi finds first that "/" is no regular file: EBADF. One that filters by
 * process looks at the pid before that, and answers EINVAL to a negative one. */
static void probe_uprobe_multi(struct features *f)
{
	const u64 offset = 0;
	struct uprobe_multi probes = {.path = "/", .offsets = &offset, .count = 1};
	AUTO_CLOSE int program = load(BPF_PROG_TYPE_KPROBE, UPROBE_MULTI_ATTACH_TYPE, 0,
				      return_zero, INSN_COUNT(return_zero));
	AUTO_CLOSE int session = load(BPF_PROG_TYPE_KPROBE, UPROBE_SESSION_ATTACH_TYPE, 0,
				      return_zero, INSN_COUNT(return_zero));
	AUTO_CLOSE int any = -1;
	AUTO_CLOSE int both = -1;
	AUTO_CLOSE int negative = -1;

	if (program < 0)
		return;
	any = uprobe_multi_link(program, &probes);
	f->uprobe_multi = any == -EBADF;
	if (!f->uprobe_multi)
		return;
	probes.session = true;
	both = session < 0 ? -EINVAL : uprobe_multi_link(session, &probes);
	f->uprobe_session = both == -EBADF;
	probes.session = false;
	probes.pid = -1;
	negative = uprobe_multi_link(program, &probes);
	f->uprobe_multi_pid_exact = negative == -EINVAL;
}

/* The type of member NAME of struct TYPE, also inside its nameless parts; 0 if it has none. */
static int btf_member_type(const struct btf *btf, int type, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, (u32)btf__resolve_type(btf, (u32)type));
	const struct btf_member *member;

	if (!t || !btf_is_composite(t))
		return 0;
	member = btf_members(t);
	for (u16 i = 0; i < btf_vlen(t); i++, member++) {
		const char *has = btf__name_by_offset(btf, member->name_off);
		int inner;

		if (has && !strcmp(has, name))
			return (int)member->type;
		if (has && *has)
			continue;
		inner = btf_member_type(btf, (int)member->type, name);
		if (inner)
			return inner;
	}
	return 0;
}

static bool btf_task_has(const struct btf *btf, const char *part, const char *field)
{
	int task = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	int type = task > 0 ? btf_member_type(btf, task, part) : 0;

	return type > 0 && btf_member_type(btf, type, field) > 0;
}

static bool takes_tracing(const struct btf *btf, enum bpf_attach_type attach, const char *name,
			  u32 kind)
{
	int id = btf__find_by_name_kind(btf, name, kind);
	AUTO_CLOSE int fd = id <= 0 ? -ENOENT
				    : load(BPF_PROG_TYPE_TRACING, attach, id, return_zero,
					   INSN_COUNT(return_zero));

	return fd >= 0;
}

static void probe_btf(struct features *f)
{
	struct btf *btf = btf__parse(BTF_PATH, NULL);

	f->kernel_btf = btf != NULL;
	if (!btf)
		return;
	f->sched_info = btf_task_has(btf, "sched_info", "run_delay") &&
			btf_task_has(btf, "se", "exec_start") &&
			btf_task_has(btf, "se", "sum_exec_runtime");
	if (!f->bpf_error) {
		f->tp_btf = takes_tracing(btf, BPF_TRACE_RAW_TP, "btf_trace_sched_process_exec",
					  BTF_KIND_TYPEDEF);
		f->fault_hooks =
			takes_tracing(btf, BPF_TRACE_FENTRY, "handle_mm_fault", BTF_KIND_FUNC);
		f->prepare_exec = takes_tracing(btf, BPF_TRACE_RAW_TP,
						"btf_trace_sched_prepare_exec", BTF_KIND_TYPEDEF);
		f->task_hooks =
			takes_tracing(btf, BPF_TRACE_FENTRY, "exit_signals", BTF_KIND_FUNC) &&
			takes_tracing(btf, BPF_TRACE_FENTRY, "begin_new_exec", BTF_KIND_FUNC);
		f->iter_task = takes_tracing(btf, BPF_TRACE_ITER, "bpf_iter_task", BTF_KIND_FUNC);
	}
	btf__free(btf);
}

static void probe_bpf(struct features *f)
{
	AUTO_CLOSE int program =
		load(BPF_PROG_TYPE_KPROBE, 0, 0, return_zero, INSN_COUNT(return_zero));
	AUTO_CLOSE int ring = -1;

	f->bpf_error = program < 0 ? program : 0;
	if (f->bpf_error)
		return;
	ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, (u32)sysconf(_SC_PAGESIZE), NULL);
	f->ringbuf = ring >= 0;
	f->task_storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) > 0;
	probe_helpers(f);
	probe_uprobe_multi(f);
}

static void probe_process(struct features *f)
{
	struct rlimit limit = {0};
	char text[4096];

	f->root = geteuid() == 0;
	if (!read_text("/proc/self/status", text, sizeof(text)))
		features_parse_caps(text, &f->caps);
	f->pid_ns = namespace_inode("/proc/self/ns/pid");
	f->proc_own = is_proc_own();
	f->pid_ns_initial = is_namespace("/proc/self/ns/pid", PID_NS_INITIAL);
	f->user_ns_initial = is_namespace("/proc/self/ns/user", USER_NS_INITIAL);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	f->memlock_limit = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	if (!read_text("/sys/kernel/security/lockdown", text, sizeof(text)))
		features_parse_lockdown(text, &f->lockdown);
	if (read_int("/proc/sys/kernel/perf_event_paranoid", &f->perf_event_paranoid))
		f->perf_event_paranoid = FEATURES_UNKNOWN;
	if (read_int("/proc/sys/kernel/unprivileged_bpf_disabled", &f->unprivileged_bpf_disabled))
		f->unprivileged_bpf_disabled = FEATURES_UNKNOWN;
}

int features_probe(struct features *out)
{
	struct features f = {0};
	struct utsname name;
	libbpf_print_fn_t print;

	if (uname(&name))
		return -errno;
	snprintf(f.release, sizeof(f.release), "%s", name.release);
	snprintf(f.machine, sizeof(f.machine), "%s", name.machine);
	probe_process(&f);
	print = libbpf_set_print(NULL); /* a refusal is an answer here, not news */
	probe_bpf(&f);
	probe_btf(&f);
	libbpf_set_print(print);
	f.perf_error = probe_uprobe_perf();
	f.uprobe_perf = !f.perf_error;
	f.map_files = probe_map_files();
	f.mmap_events = probe_mmap_events();
	*out = f;
	return 0;
}
