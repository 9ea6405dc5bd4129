/* SPDX-License-Identifier: MIT */
/* The floor of `make bench`: attaches a BPF program that returns at once to every marker of FILE,
 * the way spantrace attaches its own. What a hit then costs is the kernel's price for any probe.
 *
 *   bench_empty FILE      prints "attached SITES METHOD NS" and stays until stdin ends or a signal
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../user/attach/uprobe_multi.h"
#include "../../user/elf/elfnote.h"
#include "../../user/util/cleanup.h"

/* Where the perf_event_attr of a uprobe holds the offset of its semaphore. */
#define REF_CTR_SHIFT 32

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
}

/* r0 = 0; exit. A program or -errno. */
static int load_empty(bool multi)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = multi ? UPROBE_MULTI_ATTACH_TYPE : 0);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "bench_empty", "GPL", code,
			       sizeof(code) / sizeof(code[0]), &options);

	return fd < 0 ? -errno : fd;
}

/* What may be probed: arrays of *N offsets. */
static int read_sites(const char *path, u64 **offsets, u64 **semas, u32 *n)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elfnote_free) struct elfnote_file *file = NULL;
	AUTO_FREE u64 *o = NULL;
	AUTO_FREE u64 *s = NULL;
	u32 count = 0;
	size_t i;
	int err;

	if (fd < 0)
		return -errno;
	err = elfnote_read(fd, &file, NULL);
	if (err)
		return err;
	o = calloc(file->nsites + 1, sizeof(*o));
	s = calloc(file->nsites + 1, sizeof(*s));
	if (!o || !s)
		return -ENOMEM;
	for (i = 0; i < file->nsites; i++) {
		if (file->sites[i].refused)
			continue;
		o[count] = file->sites[i].offset;
		s[count++] = file->sites[i].sema_offset;
	}
	*offsets = TAKE_PTR(o);
	*semas = TAKE_PTR(s);
	*n = count;
	return count ? 0 : -ENOENT;
}

static int attach_multi(const char *path, const u64 *offsets, const u64 *semas, u32 n)
{
	AUTO_FREE u64 *cookies = calloc(n, sizeof(*cookies));
	AUTO_CLOSE int program = load_empty(true);
	struct uprobe_multi probes = {
		.path = path,
		.offsets = offsets,
		.ref_ctr_offsets = semas,
		.cookies = cookies,
		.count = n,
	};

	if (program < 0)
		return program;
	if (!cookies)
		return -ENOMEM;
	return uprobe_multi_link(program, &probes);
}

static int uprobe_pmu(u32 *type)
{
	AUTO_FCLOSE FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");

	if (!file)
		return -errno;
	return fscanf(file, "%u", type) == 1 ? 0 : -EINVAL;
}

/* The events stay open until this process ends. */
static int attach_perf(const char *path, const u64 *offsets, const u64 *semas, u32 n)
{
	AUTO_CLOSE int program = load_empty(false);
	struct perf_event_attr attr = {.size = sizeof(attr), .config1 = (u64)(uintptr_t)path};
	u32 i;
	int err;

	if (program < 0)
		return program;
	err = uprobe_pmu(&attr.type);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		int fd;

		attr.config = semas[i] << REF_CTR_SHIFT;
		attr.config2 = offsets[i];
		fd = (int)syscall(__NR_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ||
		    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	}
	return 0;
}

int main(int argc, char **argv)
{
	AUTO_FREE u64 *offsets = NULL;
	AUTO_FREE u64 *semas = NULL;
	const char *method = "uprobe_multi";
	char byte;
	u64 begin;
	u32 n = 0;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_empty FILE\n");
		return 2;
	}
	err = read_sites(argv[1], &offsets, &semas, &n);
	if (err) {
		fprintf(stderr, "bench_empty: no markers of %s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	begin = now_ns();
	err = attach_multi(argv[1], offsets, semas, n);
	if (err < 0) {
		method = "perf_event";
		begin = now_ns();
		err = attach_perf(argv[1], offsets, semas, n);
	}
	if (err < 0) {
		fprintf(stderr, "bench_empty: cannot attach: %s\n", strerror(-err));
		return 1;
	}
	printf("attached %u %s %llu\n", n, method, (unsigned long long)(now_ns() - begin));
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
