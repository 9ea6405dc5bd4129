/* SPDX-License-Identifier: MIT */
/* Counts by definition (bpf/count.bpf.h), the loader's side: read through a mapping, as often as one likes. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_impl.h"

int kernel_counts_size(struct kernel *kernel, u32 slots)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	kernel->counts_bytes = (size_t)slots * COUNTS_MAX * sizeof(*kernel->counts);
	kernel->counts_bytes = (kernel->counts_bytes + page - 1) & ~(page - 1);
	return bpf_map__set_max_entries(kernel->skel->maps.counts, slots * COUNTS_MAX) ? -EINVAL
										       : 0;
}

int kernel_counts_map(struct kernel *kernel)
{
	void *table = mmap(NULL, kernel->counts_bytes, PROT_READ, MAP_SHARED,
			   bpf_map__fd(kernel->skel->maps.counts), 0);

	if (table == MAP_FAILED)
		return -errno;
	kernel->counts = table;
	return 0;
}

void kernel_counts_unmap(struct kernel *kernel)
{
	if (kernel->counts)
		munmap(kernel->counts, kernel->counts_bytes);
}

/* Ends are read before begins: a span that does both meanwhile is in neither or in the begins alone. */
void kernel_take_counts(const struct kernel *kernel, struct wire_count *out, u32 n)
{
	u32 cpu, i;

	for (i = 0; i < n && i < COUNTS_MAX; i++)
		out[i] = (struct wire_count){0};
	for (cpu = 0; cpu < kernel->nrings; cpu++) {
		const struct wire_count *counts = &kernel->counts[(size_t)cpu * COUNTS_MAX];

		for (i = 0; i < n && i < COUNTS_MAX; i++) {
			out[i].ended += __atomic_load_n(&counts[i].ended, __ATOMIC_ACQUIRE);
			out[i].events += __atomic_load_n(&counts[i].events, __ATOMIC_RELAXED);
		}
	}
	for (cpu = 0; cpu < kernel->nrings; cpu++) {
		const struct wire_count *counts = &kernel->counts[(size_t)cpu * COUNTS_MAX];

		for (i = 0; i < n && i < COUNTS_MAX; i++)
			out[i].begun += __atomic_load_n(&counts[i].begun, __ATOMIC_ACQUIRE);
	}
}
