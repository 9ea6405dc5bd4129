/* SPDX-License-Identifier: MIT */
/* Hits a probe in this program itself, of the program that stands at a span's begin, and looks at the clock.
 *
 * The site of the probe's cookie is beyond all that are open, so that the program returns at its gate: the trap is
 * measured, and what the program does for a span is added as a share of that (`make bench` has it at 0.15 to 0.2).
 */
#include "calibrate.h"

#include <link.h>
#include <time.h>
#include <unistd.h>

#include "../attach/attach.h"
#include "../util/cleanup.h"
#include "../util/log.h"

#define HIT_NS 500 /* where it cannot be measured */
#define ROUNDS 10
#define HITS   500

__asm__(".pushsection .text\n"
	".type calibrate_marker, @function\n"
	"calibrate_marker:\n"
	"	nop\n"
	"	ret\n"
	".size calibrate_marker, . - calibrate_marker\n"
	".popsection\n");
void calibrate_marker(void);

/* The main program is the first one told: the segment that holds the marker says where it is in the file. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	u64 address = (uintptr_t)calibrate_marker - info->dlpi_addr, *offset = context;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz)
			*offset = address - segment->p_vaddr + segment->p_offset;
	}
	return 1;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* The least of all rounds: other work on the machine falls out. */
static u64 measure(void)
{
	u64 least = UINT64_MAX;
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		u64 began = now_ns(), took;

		for (i = 0; i < HITS; i++)
			calibrate_marker();
		took = now_ns() - began;
		if (took < least)
			least = took;
	}
	return least / HITS;
}

u64 calibrate_hit(struct kernel *kernel, bool uprobe_multi)
{
	CLEANUP(attach_free) struct attach_set *set = NULL;
	struct attach_probe probe = {
		.cookie = COOKIE(UINT32_MAX, 0, 0),
		.program = KERNEL_SPAN_ENTER,
	};
	pid_t self = getpid();
	u64 ns;

	dl_iterate_phdr(find_offset, &probe.offset);
	if (!probe.offset || attach_new(kernel, uprobe_multi, &self, 1, &set) ||
	    !attach_file(set, "/proc/self/exe", &probe, 1)) {
		log_debug("the cost of a hit cannot be measured; %d ns are taken for it", HIT_NS);
		return HIT_NS;
	}
	ns = measure();
	return ns + ns / 5;
}
