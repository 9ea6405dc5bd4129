/* SPDX-License-Identifier: MIT */
/* See uprobe_multi.h. */
#include "uprobe_multi.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The part of union bpf_attr that BPF_LINK_CREATE reads for this kind of link, as in the kernel's
 * include/uapi/linux/bpf.h since 6.6. */
struct uprobe_multi_attr {
	u32 prog_fd;
	u32 target_fd;
	u32 attach_type;
	u32 link_flags;
	u64 path;
	u64 offsets;
	u64 ref_ctr_offsets;
	u64 cookies;
	u32 cnt;
	u32 flags;
	u32 pid;
	u32 reserved;
};

#define UPROBE_MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */

_Static_assert(sizeof(struct uprobe_multi_attr) == 64, "the kernel's layout");

int uprobe_multi_link(int program_fd, const struct uprobe_multi *probes)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (u32)program_fd,
		.attach_type =
			probes->session ? UPROBE_SESSION_ATTACH_TYPE : UPROBE_MULTI_ATTACH_TYPE,
		.path = (u64)(uintptr_t)probes->path,
		.offsets = (u64)(uintptr_t)probes->offsets,
		.ref_ctr_offsets = (u64)(uintptr_t)probes->ref_ctr_offsets,
		.cookies = (u64)(uintptr_t)probes->cookies,
		.cnt = probes->count,
		.flags = probes->at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (u32)probes->pid,
	};
	long fd = syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}
