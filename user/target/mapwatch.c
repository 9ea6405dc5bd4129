/* SPDX-License-Identifier: MIT */
/* See mapwatch.h. */
#include "mapwatch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../util/cleanup.h"

#define RING_PAGES \
	64 /* some 2,000 records a CPU between two looks; below what perf lets any user lock */
#define RECORD_MAX  65536
#define NAME_OFFSET 72 /* of the path in PERF_RECORD_MMAP2 */

struct mapwatch_cpu {
	int fd;
	struct perf_event_mmap_page *ring; /* and the pages of records behind it */
};

struct mapwatch {
	struct mapwatch_cpu *cpus;
	size_t ncpus;
	size_t page, ring_bytes;
	char record[RECORD_MAX] __attribute__((aligned(8)));
};

/* PERF_RECORD_MMAP2 up to its path. */
struct mapwatch_mmap2 {
	struct perf_event_header header;
	u32 pid, tid;
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags;
	char path[];
};

_Static_assert(sizeof(struct mapwatch_mmap2) == NAME_OFFSET, "the kernel's layout");

struct mapwatch_lost {
	struct perf_event_header header;
	u64 id, lost;
};

static int mapwatch_open(struct mapwatch *watch, int cpu, struct mapwatch_cpu *out)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
		.mmap = 1,
		.mmap2 = 1,
		.exclude_kernel = 1,
		.watermark = 1,
		.wakeup_watermark = (u32)watch->ring_bytes,
	};
	AUTO_CLOSE int fd =
		(int)syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *ring;

	if (fd < 0)
		return -errno;
	ring = mmap(NULL, watch->page + watch->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (ring == MAP_FAILED)
		return -errno;
	out->fd = TAKE_FD(fd);
	out->ring = ring;
	return 0;
}

int mapwatch_new(struct mapwatch **out)
{
	CLEANUP(mapwatch_free) struct mapwatch *watch = calloc(1, sizeof(*watch));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int cpu, err;

	if (!watch)
		return -ENOMEM;
	watch->page = (size_t)sysconf(_SC_PAGESIZE);
	watch->ring_bytes = RING_PAGES * watch->page;
	watch->cpus = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*watch->cpus));
	if (!watch->cpus)
		return -ENOMEM;
	for (cpu = 0; cpu < cpus; cpu++) {
		err = mapwatch_open(watch, cpu, &watch->cpus[watch->ncpus]);
		if (err == -ENODEV) /* it is offline */
			continue;
		if (err)
			return err;
		watch->ncpus++;
	}
	*out = TAKE_PTR(watch);
	return 0;
}

void mapwatch_free(struct mapwatch **out)
{
	struct mapwatch *watch = *out;
	size_t i;

	if (!watch)
		return;
	*out = NULL;
	for (i = 0; i < watch->ncpus; i++) {
		munmap(watch->cpus[i].ring, watch->page + watch->ring_bytes);
		close(watch->cpus[i].fd);
	}
	free(watch->cpus);
	free(watch);
}

bool mapwatch_parse(void *record, size_t size, struct procmap *map, u64 *generation)
{
	const struct mapwatch_mmap2 *r = record;
	char *path = (char *)record + NAME_OFFSET;
	size_t room = size - NAME_OFFSET;

	/* A process that is not in our PID namespace has no number here. */
	if (size <= NAME_OFFSET || r->header.type != PERF_RECORD_MMAP2 || !memchr(path, 0, room) ||
	    r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID || !r->ino || (s32)r->pid <= 0 ||
	    !(r->prot & PROT_EXEC) || !r->len || r->addr + r->len < r->addr)
		return false;
	*map = (struct procmap){
		.task = (pid_t)r->pid,
		.start = r->addr,
		.end = r->addr + r->len,
		.offset = r->pgoff,
		.dev = makedev(r->maj, r->min),
		.inode = r->ino,
		.path = path,
	};
	map->deleted = procmaps_cut_deleted(path);
	*generation = r->ino_generation;
	return true;
}

/* Copies LEN bytes at POSITION out of the ring, whose end goes on at its beginning. */
static void mapwatch_copy(const struct mapwatch *watch, const struct mapwatch_cpu *cpu,
			  u64 position, void *out, size_t len)
{
	const char *data = (const char *)cpu->ring + watch->page;
	size_t at = position % watch->ring_bytes;
	size_t first = watch->ring_bytes - at;

	if (first > len)
		first = len;
	memcpy(out, data + at, first);
	memcpy((char *)out + first, data, len - first);
}

static void mapwatch_drain_cpu(struct mapwatch *watch, const struct mapwatch_cpu *cpu,
			       mapwatch_fn fn, void *context, u64 *lost)
{
	u64 head = __atomic_load_n(&cpu->ring->data_head, __ATOMIC_ACQUIRE);
	u64 tail = cpu->ring->data_tail;
	struct perf_event_header header;
	struct procmap map;
	u64 generation;

	while (head - tail >= sizeof(header)) {
		mapwatch_copy(watch, cpu, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		mapwatch_copy(watch, cpu, tail, watch->record, header.size);
		tail += header.size;
		if (header.type == PERF_RECORD_LOST && header.size >= sizeof(struct mapwatch_lost))
			*lost += ((struct mapwatch_lost *)watch->record)->lost;
		else if (mapwatch_parse(watch->record, header.size, &map, &generation))
			fn(context, &map, generation);
	}
	__atomic_store_n(&cpu->ring->data_tail, head, __ATOMIC_RELEASE);
}

void mapwatch_drain(struct mapwatch *watch, mapwatch_fn fn, void *context, u64 *lost)
{
	size_t i;

	*lost = 0;
	for (i = 0; i < watch->ncpus; i++)
		mapwatch_drain_cpu(watch, &watch->cpus[i], fn, context, lost);
}
