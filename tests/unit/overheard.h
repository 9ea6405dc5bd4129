/* SPDX-License-Identifier: MIT */
/* A world for tests of user/session/overhead: processes with CPU times, hits that the kernel counted, and probes that can be
 * taken out, all told by the test. Its functions stand in for those of user/kernel and user/attach (--wrap in tests.mk).
 * Comes behind <cmocka.h>; one file of a program includes it. */
#ifndef SPANTRACE_TEST_OVERHEARD_H
#define SPANTRACE_TEST_OVERHEARD_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../user/attach/attach_parts.h"
#include "../../user/session/overhead_impl.h"

#define MS      1000000ull
#define SEC     (1000 * MS)
#define HIT_NS  100
#define PERCENT (PPB / 100)
#define DEFS    4
#define KNOWN   8
/* Of a process of the test, told from real ones by where it stands. */
#define FAKE_CLOCK (-100000)

struct heard_process {
	pid_t pid;
	u32 serial;
	u64 cpu_ns;
};

struct heard_meter {
	struct wire_meter_key key;
	u64 hits;
	bool forgotten; /* once the walk has said so */
};

static struct heard {
	struct overhead o;
	struct heard_process processes[KNOWN];
	size_t nprocesses;
	struct heard_meter meters[KNOWN];
	size_t nmeters;
	bool shed[DEFS], out[DEFS];
	unsigned times_shed[DEFS], forgotten[DEFS];
	bool no_part[DEFS]; /* its probes cannot be taken out */
	int shed_err;
	struct trace_counts counts;
	u64 now_ns;
} heard;

/* --- what stands in ------------------------------------------------------------------------- */

void __wrap_kernel_walk_processes(const struct kernel *kernel, kernel_process_fn fn, void *context);
void __wrap_kernel_walk_processes(const struct kernel *kernel, kernel_process_fn fn, void *context)
{
	size_t i;

	(void)kernel;
	for (i = 0; i < heard.nprocesses; i++)
		fn(context, heard.processes[i].pid, heard.processes[i].serial);
}

int __wrap_kernel_walk_meters(struct kernel *kernel, kernel_meter_fn fn, void *context);
int __wrap_kernel_walk_meters(struct kernel *kernel, kernel_meter_fn fn, void *context)
{
	size_t i;

	(void)kernel;
	for (i = 0; i < heard.nmeters; i++)
		if (!heard.meters[i].forgotten)
			heard.meters[i].forgotten =
				fn(context, &heard.meters[i].key, heard.meters[i].hits);
	return 0;
}

int __wrap_kernel_shed(struct kernel *kernel, u32 def, bool shed);
int __wrap_kernel_shed(struct kernel *kernel, u32 def, bool shed)
{
	(void)kernel;
	if (heard.shed_err)
		return heard.shed_err;
	heard.shed[def] = shed;
	heard.times_shed[def] += shed;
	return 0;
}

int __wrap_kernel_forget(struct kernel *kernel, u32 def);
int __wrap_kernel_forget(struct kernel *kernel, u32 def)
{
	(void)kernel;
	assert_true(heard.out[def]); /* its probes first */
	heard.forgotten[def]++;
	return 0;
}

struct attach_parts *__wrap_attach_parts_of(struct attach_set *set);
struct attach_parts *__wrap_attach_parts_of(struct attach_set *set)
{
	(void)set;
	return (struct attach_parts *)&heard;
}

bool __wrap_attach_parts_has(const struct attach_parts *parts, u32 def);
bool __wrap_attach_parts_has(const struct attach_parts *parts, u32 def)
{
	(void)parts;
	return !heard.no_part[def];
}

void __wrap_attach_parts_pause(struct attach_parts *parts, u32 def);
void __wrap_attach_parts_pause(struct attach_parts *parts, u32 def)
{
	(void)parts;
	heard.out[def] = true;
}

int __wrap_attach_parts_resume(struct attach_parts *parts, u32 def);
int __wrap_attach_parts_resume(struct attach_parts *parts, u32 def)
{
	(void)parts;
	heard.out[def] = false;
	return 0;
}

void __wrap_trace_counts(const struct trace *trace, struct trace_counts *out);
void __wrap_trace_counts(const struct trace *trace, struct trace_counts *out)
{
	(void)trace;
	*out = heard.counts;
}

int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *clock);
int __wrap_clock_getcpuclockid(pid_t pid, clockid_t *clock)
{
	size_t i;

	for (i = 0; i < heard.nprocesses; i++) {
		if (heard.processes[i].pid == pid) {
			*clock = FAKE_CLOCK - (clockid_t)i;
			return 0;
		}
	}
	return ESRCH;
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	u64 ns;

	if (clock > FAKE_CLOCK || clock <= FAKE_CLOCK - KNOWN)
		return __real_clock_gettime(clock, out);
	ns = heard.processes[FAKE_CLOCK - clock].cpu_ns;
	*out = (struct timespec){(time_t)(ns / SEC), (long)(ns % SEC)};
	return 0;
}

/* --- the test's side ------------------------------------------------------------------------ */

static inline int heard_setup(void **state)
{
	static const char *const names[DEFS] = {"hot", "warm", "calm", "tick"};
	u32 i, id;

	heard = (struct heard){.now_ns = 1000 * SEC};
	heard.o.hit_ns = HIT_NS;
	heard.o.options.metered = true;
	heard.o.hits = calloc(DEFS_MAX, sizeof(*heard.o.hits));
	if (!heard.o.hits || trace_new(NULL, 0, METRIC_WALL, &heard.o.trace))
		return -1;
	for (i = 0; i < DEFS; i++) {
		const struct model_def def = {
			.kind = i < 3 ? MODEL_THREAD_SPAN : MODEL_EVENT,
			.provider = "app",
			.name = names[i],
		};

		if (trace_add_def(heard.o.trace, &def, &id) || id != i)
			return -1;
	}
	*state = &heard;
	return 0;
}

static inline int heard_teardown(void **state)
{
	(void)state;
	trace_free(&heard.o.trace);
	free(heard.o.meters);
	free(heard.o.processes);
	free(heard.o.shed);
	free(heard.o.hits);
	return 0;
}

/* A process that has used no CPU yet. Serials need not be in order. */
static inline struct heard_process *add_process(pid_t pid, u32 serial)
{
	assert_true(heard.nprocesses < KNOWN);
	heard.processes[heard.nprocesses] = (struct heard_process){.pid = pid, .serial = serial};
	return &heard.processes[heard.nprocesses++];
}

static inline struct heard_meter *add_meter(u32 process, u32 def)
{
	assert_true(heard.nmeters < KNOWN);
	heard.meters[heard.nmeters] = (struct heard_meter){.key = {.process = process, .def = def}};
	return &heard.meters[heard.nmeters++];
}

/* NS later there is a look, if it is time for one. */
static inline void later(u64 ns)
{
	heard.now_ns += ns;
	overhead_tick(&heard.o, heard.now_ns);
}

#endif
