/* SPDX-License-Identifier: MIT */
/* Loads the kernel side, with its knobs set and its tables of the size that is wanted, maps what the loader reads of it, and
 * gives all of it back.
 */
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../attach/uprobe_multi.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "kernel_impl.h"
#include "spantrace_small.skel.h"

static char kernel_log[512]; /* libbpf's last words, for the message when loading fails */

/* With -vv all that libbpf says, the verifier's log too, which is long. */
static int kernel_print(enum libbpf_print_level level, const char *format, va_list args)
{
	AUTO_FREE char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		return 0;
	if (level == LIBBPF_WARN && !strstr(text, "failed to load BPF skeleton"))
		snprintf(kernel_log, sizeof(kernel_log), "%.*s", (int)strcspn(text, "\n"), text);
	if (log_threshold >= LOG_DEBUG)
		fputs(text, stderr);
	return 0;
}

static int kernel_on_record(void *context, void *data, size_t size)
{
	struct kernel *kernel = context;

	kernel->record(kernel->context, data, size);
	return 0;
}

static u32 power_of_two(u32 n)
{
	u32 p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/* The kernel's clock ticks as often as its coarse clocks move. */
static u32 kernel_tick_ns(void)
{
	struct timespec tick;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) ? 10000000 : (u32)tick.tv_nsec;
}

static void kernel_want_stays(struct spantrace_bpf *skel, bool faults)
{
	bpf_program__set_autoload(skel->progs.call_begin, true);
	bpf_program__set_autoload(skel->progs.call_end, true);
	bpf_program__set_autoload(skel->progs.fault_begin, faults);
	bpf_program__set_autoload(skel->progs.fault_end, faults);
}

/* The exit first: an entry that is seen has its exit seen. */
static int kernel_attach_stays(struct spantrace_bpf *skel, bool faults)
{
	skel->links.call_end = bpf_program__attach(skel->progs.call_end);
	skel->links.call_begin = bpf_program__attach(skel->progs.call_begin);
	if (!skel->links.call_end || !skel->links.call_begin)
		return -errno;
	if (!faults)
		return 0;
	skel->links.fault_end = bpf_program__attach(skel->progs.fault_end);
	skel->links.fault_begin = bpf_program__attach(skel->progs.fault_begin);
	return skel->links.fault_end && skel->links.fault_begin ? 0 : -errno;
}

/* Which programs of memory's there are. The entry alone serves where no return may be probed, too. */
static void kernel_configure_memory(struct kernel *kernel, const struct kernel_options *options)
{
	struct spantrace_bpf *skel = kernel->skel;

	bpf_program__set_autoload(skel->progs.alloc_enter, options->alloc);
	bpf_program__set_autoload(skel->progs.alloc_return, options->alloc && !options->session);
	bpf_program__set_autoload(skel->progs.alloc_session, options->alloc && options->session);
	bpf_program__set_autoload(skel->progs.free_enter, options->heap);
	bpf_program__set_autoload(skel->progs.alloc_marker, options->alloc);
	bpf_program__set_autoload(skel->progs.free_marker, options->heap);
	bpf_program__set_autoload(skel->progs.map_enter, options->map && !options->session);
	bpf_program__set_autoload(skel->progs.map_return, options->map && !options->session);
	bpf_program__set_autoload(skel->progs.map_session, options->map && options->session);
	if (options->alloc_sample)
		kernel_heap_sample(kernel, options->alloc_sample);
}

/* Sizes and knobs, between open and load. */
static int kernel_configure(struct kernel *kernel, const struct kernel_options *options,
			    bool faults)
{
	struct spantrace_bpf *skel = kernel->skel;
	u32 slots = power_of_two(kernel->nrings);
	struct bpf_program *program;
	int i;

	skel->rodata->knob_all_processes = options->all_processes;
	skel->rodata->knob_rows = options->rows;
	skel->rodata->knob_totals = options->totals;
	skel->rodata->knob_alloc = options->alloc;
	skel->rodata->knob_heap = options->heap;
	skel->rodata->knob_returns_kill = options->returns_kill;
	skel->rodata->knob_ids = options->ids;
	skel->rodata->knob_counts = options->counts;
	skel->rodata->knob_eager_forks = options->eager_forks;
	skel->rodata->knob_usage = options->usage;
	skel->rodata->knob_tick_ns = kernel_tick_ns();
	skel->rodata->knob_cpu_exact = options->cpu_exact;
	if (options->cpu_exact)
		kernel_want_stays(skel, options->cpu_faults);
	skel->rodata->knob_cpus = slots;
	skel->rodata->knob_cgroup = options->cgroup;
	skel->rodata->knob_self = (u32)getpid();
	skel->rodata->knob_pid_ns = options->pid_ns;
	skel->rodata->knob_chance = options->chance;
	skel->rodata->knob_meter = options->metered > 0;
	if (options->metered && (bpf_map__set_max_entries(skel->maps.meters, METERS_MAX) ||
				 bpf_map__set_max_entries(skel->maps.def_states, options->metered)))
		return -EINVAL;
	if (options->all_processes || !options->follow)
		bpf_program__set_autoload(skel->progs.process_fork, false);
	skel->rodata->knob_faults = faults;
	kernel_want_batches(kernel, options);
	for (i = KERNEL_SPAN_ENTER_TEXT; faults && i <= KERNEL_EVENT_TEXT; i++)
		if (bpf_program__set_flags(kernel_program(kernel, i), BPF_F_SLEEPABLE))
			return -EINVAL;
	for (i = 0; options->uprobe_multi && i < KERNEL_PROGRAMS; i++) {
		program = kernel_program(kernel, i);
		if (bpf_program__set_expected_attach_type(
			    program, kernel_program_is_session(i) ? UPROBE_SESSION_ATTACH_TYPE
								  : UPROBE_MULTI_ATTACH_TYPE))
			return -EINVAL;
	}
	kernel_configure_memory(kernel, options);
	if (options->heap && bpf_map__set_max_entries(skel->maps.objects, options->heap_objects))
		return -EINVAL;
	if (bpf_map__set_max_entries(skel->maps.rings, slots) ||
	    bpf_map__set_max_entries(skel->maps.sites, options->nsites) ||
	    bpf_map__set_max_entries(skel->maps.batch_markers, options->nsites))
		return -EINVAL;
	if (options->counts) {
		int err = kernel_counts_size(kernel, slots);

		if (err)
			return err;
	}
	if (options->rows) {
		int err = kernel_rows_size(kernel, options->rows);

		if (err)
			return err;
	}
	return 0;
}

/* One ring a CPU; table slots beyond the last CPU share, they are never used. */
static int kernel_make_rings(struct kernel *kernel)
{
	u32 slots = power_of_two(kernel->nrings);
	u32 i;

	kernel->ring_fds = calloc(kernel->nrings, sizeof(*kernel->ring_fds));
	kernel->ring_marks = calloc(kernel->nrings, sizeof(*kernel->ring_marks));
	if (!kernel->ring_fds || !kernel->ring_marks)
		return -ENOMEM;
	for (i = 0; i < kernel->nrings; i++)
		kernel->ring_fds[i] = -1;
	for (i = 0; i < kernel->nrings; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "span_ring", 0, 0, kernel->ring_bytes,
					NULL);

		if (fd < 0)
			return -errno;
		kernel->ring_fds[i] = fd;
		kernel->ring_marks[i] =
			mmap(NULL, 2 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
		if (kernel->ring_marks[i] == MAP_FAILED) {
			kernel->ring_marks[i] = NULL;
			return -errno;
		}
		if (!kernel->rings) {
			kernel->rings = ring_buffer__new(fd, kernel_on_record, kernel, NULL);
			if (!kernel->rings)
				return -errno;
		} else if (ring_buffer__add(kernel->rings, fd, kernel_on_record, kernel)) {
			return -errno;
		}
	}
	for (i = 0; i < slots; i++) {
		int *fd = &kernel->ring_fds[i % kernel->nrings];

		if (bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.rings), &i, fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* The object with the batched lane, or the small one without it, which has the same programs, maps and variables. */
static struct spantrace_bpf *kernel_open_object(bool small)
{
	struct spantrace_bpf *skel;
	size_t size;

	if (!small)
		return spantrace_bpf__open();
	skel = calloc(1, sizeof(*skel));
	if (!skel || spantrace_bpf__create_skeleton(skel)) {
		spantrace_bpf__destroy(skel);
		return NULL;
	}
	skel->skeleton->data = (void *)spantrace_small_bpf__elf_bytes(&size);
	skel->skeleton->data_sz = size;
	if (bpf_object__open_skeleton(skel->skeleton, NULL)) {
		spantrace_bpf__destroy(skel);
		return NULL;
	}
	return skel;
}

static int kernel_setup(struct kernel *kernel, const struct kernel_options *options, bool faults)
{
	struct spantrace_bpf *skel;
	long page = sysconf(_SC_PAGESIZE);
	int err;

	kernel->skel = kernel_open_object(kernel->small);
	if (!kernel->skel)
		return -errno;
	skel = kernel->skel;
	err = kernel_configure(kernel, options, faults);
	if (err)
		return err;
	err = spantrace_bpf__load(skel);
	if (err)
		return err;
	err = kernel_make_rings(kernel);
	if (err)
		return err;
	kernel->control =
		ring_buffer__new(bpf_map__fd(skel->maps.control), kernel_on_record, kernel, NULL);
	if (!kernel->control)
		return -errno;
	kernel->paths_bytes = PATHS_MAX * sizeof(struct wire_path);
	kernel->paths_bytes = (kernel->paths_bytes + page - 1) & ~(page - 1);
	kernel->paths = mmap(NULL, kernel->paths_bytes, PROT_READ, MAP_SHARED,
			     bpf_map__fd(skel->maps.paths), 0);
	if (kernel->paths == MAP_FAILED) {
		kernel->paths = NULL;
		return -errno;
	}
	err = kernel_async_map(kernel);
	if (err)
		return err;
	if (options->counts) {
		err = kernel_counts_map(kernel);
		if (err)
			return err;
	}
	if (options->rows) {
		err = kernel_rows_map(kernel);
		if (err)
			return err;
	}
	if (bpf_program__autoload(skel->progs.process_fork)) {
		skel->links.process_fork = bpf_program__attach(skel->progs.process_fork);
		if (!skel->links.process_fork)
			return -errno;
	}
	skel->links.process_exec = bpf_program__attach(skel->progs.process_exec);
	skel->links.process_exit = bpf_program__attach(skel->progs.process_exit);
	skel->links.collect_open = bpf_program__attach(skel->progs.collect_open);
	if (!skel->links.process_exec || !skel->links.process_exit || !skel->links.collect_open)
		return -errno;
	return options->cpu_exact ? kernel_attach_stays(skel, options->cpu_faults) : 0;
}

static int kernel_try(const struct kernel_options *options, bool faults, bool small,
		      struct kernel **out)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	int cpus = libbpf_num_possible_cpus();
	int err;

	if (!kernel)
		return -ENOMEM;
	kernel->nrings = cpus > 0 ? (u32)cpus : 1;
	kernel->ring_bytes = options->ring_bytes;
	kernel->small = small;
	kernel->batched = options->batched;
	err = kernel_setup(kernel, options, faults);
	if (err)
		kernel_free(&kernel);
	else
		*out = kernel;
	return err;
}

int kernel_new(const struct kernel_options *options, struct kernel **out, char *why, size_t len)
{
	bool faults = false;
	int err = -EOPNOTSUPP;

	libbpf_set_print(kernel_print);
	kernel_log[0] = '\0';
	/* These run on stacks of their own, which takes that none of them sleeps: bpf/guard.bpf.h. */
	if (options->batched) {
		err = kernel_try(options, faults, false, out);
		if (!err)
			log_info(
				"batched markers are traced: a text that is not in memory is shown as <unreadable>");
	}
	if (err) {
		faults = true;
		err = kernel_try(options, faults, true, out);
	}
	/* Older kernels allow sleepable programs only some kinds of maps. */
	if (err == -EINVAL) {
		faults = false;
		err = kernel_try(options, faults, true, out);
	}
	if (!err && !faults && (*out)->small)
		log_info(
			"this kernel cannot bring in pages: a text that is not in memory is shown as <unreadable>");
	if (err)
		snprintf(why, len, "the kernel refused the BPF programs: %s%s%s", strerror(-err),
			 kernel_log[0] ? ": " : "", kernel_log);
	return err;
}

void kernel_free(struct kernel **out)
{
	struct kernel *kernel = *out;
	u32 i;

	if (!kernel)
		return;
	*out = NULL;
	ring_buffer__free(kernel->control);
	ring_buffer__free(kernel->rings);
	for (i = 0; kernel->ring_fds && i < kernel->nrings; i++)
		cleanup_close(&kernel->ring_fds[i]);
	for (i = 0; kernel->ring_marks && i < kernel->nrings; i++)
		if (kernel->ring_marks[i])
			munmap(kernel->ring_marks[i], 2 * (size_t)sysconf(_SC_PAGESIZE));
	free(kernel->ring_fds);
	free(kernel->ring_marks);
	kernel_rows_unmap(kernel);
	kernel_async_unmap(kernel);
	if (kernel->paths)
		munmap((void *)kernel->paths, kernel->paths_bytes);
	kernel_counts_unmap(kernel);
	spantrace_bpf__destroy(kernel->skel);
	free(kernel);
}
