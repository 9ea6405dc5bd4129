/* SPDX-License-Identifier: MIT */
/* uprobe_multi links (kernel 6.6): many probes of one file in one system call. libbpf has an API for them
 * from 1.3 on; Debian 12 has 1.1, so this is the bpf(2) call itself. */
#ifndef SPANTRACE_UPROBE_MULTI_H
#define SPANTRACE_UPROBE_MULTI_H

#include <stdbool.h>
#include <sys/types.h>

#include "../../include/types.h"

/* BPF_TRACE_UPROBE_MULTI of the kernel's enum bpf_attach_type. */
#define UPROBE_MULTI_ATTACH_TYPE 48
/* BPF_TRACE_UPROBE_SESSION (kernel 6.13): one program at the entry and, unless it returns 1 there, at the return. */
#define UPROBE_SESSION_ATTACH_TYPE 57

struct uprobe_multi {
	const char *path;
	const u64 *offsets;         /* in the file */
	const u64 *ref_ctr_offsets; /* of the semaphores, 0: none */
	const u64 *cookies;
	u32 count;
	bool at_return; /* run when the functions that begin there return */
	bool session;   /* the program was loaded for UPROBE_SESSION_ATTACH_TYPE */
	pid_t pid;      /* 0: every process that maps the file */
};

/* Returns a link, whose close detaches all, or -errno. PROGRAM_FD must have been loaded for one of the attach
 * types above. */
int uprobe_multi_link(int program_fd, const struct uprobe_multi *probes);

#endif
