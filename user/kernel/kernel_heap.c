/* SPDX-License-Identifier: MIT */
/* Live blocks, the loader's side: the walk over the kernel's table of them, and the tables that sampling needs. */
#include <bpf/bpf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../util/cleanup.h"
#include "kernel_impl.h"

#define BATCH 8192u /* more than stand in one bucket */

void kernel_heap_sample(struct kernel *kernel, u32 bytes)
{
	struct spantrace_bpf__rodata *rodata = kernel->skel->rodata;
	u32 i;

	rodata->knob_sample = bytes;
	for (i = 0; i < SAMPLE_LOG_SIZE; i++)
		rodata->sample_log[i] = (u32)lrint(log1p((i + 0.5) / SAMPLE_LOG_SIZE) * (1 << 24));
	for (i = 0; i < SAMPLE_WEIGHT_SIZE; i++) {
		double x = (double)i / SAMPLE_WEIGHT_STEP;

		rodata->sample_weight[i] = (u32)lrint((i ? x / -expm1(-x) : 1.0) * (1 << 20));
	}
}

/* One step of the walk: N blocks, of which FN says which to forget. */
struct object_batch {
	struct wire_object_key keys[BATCH];
	struct wire_object objects[BATCH];
	struct wire_object_key forget[BATCH];
};

static int forget(int fd, const struct wire_object_key *keys, u32 n)
{
	u32 done = 0;

	while (done < n) {
		u32 count = n - done;
		int err = bpf_map_delete_batch(fd, keys + done, &count, NULL);

		done += count;
		if (err == -ENOENT)
			done++; /* the program has freed it meanwhile */
		else if (err)
			return err;
	}
	return 0;
}

int kernel_walk_objects(struct kernel *kernel, kernel_object_fn fn, void *context)
{
	AUTO_FREE struct object_batch *batch = malloc(sizeof(*batch));
	int fd = bpf_map__fd(kernel->skel->maps.objects);
	u32 at = 0, i, n, nforget;
	bool first = true;
	int err = 0;

	if (!batch)
		return -ENOMEM;
	while (!err) {
		n = BATCH;
		err = bpf_map_lookup_batch(fd, first ? NULL : &at, &at, batch->keys, batch->objects,
					   &n, NULL);
		if (err && err != -ENOENT)
			return err;
		first = false;
		nforget = 0;
		for (i = 0; i < n; i++)
			if (fn(context, &batch->keys[i], &batch->objects[i]))
				batch->forget[nforget++] = batch->keys[i];
		if (forget(fd, batch->forget, nforget))
			return -EIO;
	}
	return 0;
}

int kernel_set_alloc_site(struct kernel *kernel, u32 index, const struct wire_alloc_site *value)
{
	if (index >= ALLOC_SITES_MAX)
		return -ENOSPC;
	if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.alloc_sites), &index, value,
				BPF_ANY))
		return -errno;
	return 0;
}

bool kernel_row_of(struct kernel *kernel, u32 index, u32 *thread, u32 *path)
{
	const struct wire_row *row;

	if (!index || (index + 1ull) * sizeof(*row) > kernel->rows_mapped)
		return false;
	row = &kernel->rows[index];
	*thread = row->thread;
	*path = row->path;
	return row->thread != 0;
}
