/* SPDX-License-Identifier: MIT */
/* See overhead.h. */
#include "overhead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../exporters/figures.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "calibrate.h"
#include "overhead_impl.h"

#define SECOND     1000000000ULL
#define LOOK_NS    (SECOND / 2)
#define CPU_MIN_NS (SECOND / 50) /* of a process, before it is judged */
#define NAME_LEN   256
#define SHOWN      10

/* Without a limit: fewer hits a second are not looked at; more of the targets' CPU time than this share is said. */
#define QUIET_HITS 20000
#define WARN_PPB   (PPB / 10)

int overhead_new(struct kernel *kernel, struct trace *trace, struct attach_set *probes,
		 const struct overhead_options *options, struct overhead **out)
{
	CLEANUP(overhead_free) struct overhead *o = calloc(1, sizeof(*o));
	int err;

	if (!o)
		return -ENOMEM;
	o->kernel = kernel;
	o->trace = trace;
	o->probes = probes;
	o->options = *options;
	if (options->limit_ppb) {
		err = attach_divide(probes);
		if (err)
			return err;
	}
	if (options->metered) {
		o->hits = calloc(DEFS_MAX, sizeof(*o->hits));
		if (!o->hits)
			return -ENOMEM;
		o->hit_ns = calibrate_hit(kernel, options->uprobe_multi);
	}
	*out = TAKE_PTR(o);
	return 0;
}

void overhead_free(struct overhead **out)
{
	struct overhead *o = *out;

	if (!o)
		return;
	*out = NULL;
	free(o->meters);
	free(o->processes);
	free(o->shed);
	free(o->hits);
	free(o);
}

void overhead_name(const struct overhead *o, u32 def, char *out, size_t len)
{
	const struct model_def *found = trace_def(o->trace, def);

	snprintf(out, len, "%s:%s", found ? found->provider : "?", found ? found->name : "?");
}

/* CPU time of all threads of process PID so far, those that have ended too; 0 where there is no such process. */
static u64 cpu_of(pid_t pid)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &now))
		return 0;
	return (u64)now.tv_sec * SECOND + (u64)now.tv_nsec;
}

static int compare_processes(const void *a, const void *b)
{
	const struct overhead_process *x = a, *y = b;

	return (x->serial > y->serial) - (x->serial < y->serial);
}

static int compare_meters(const void *a, const void *b)
{
	const struct overhead_meter *x = a, *y = b;

	if (x->key.process != y->key.process)
		return x->key.process > y->key.process ? 1 : -1;
	return (x->key.def > y->key.def) - (x->key.def < y->key.def);
}

/* What one look at the kernel's tables adds to the sorted ones; new entries stand behind the first OLD. */
struct look {
	struct overhead *o;
	size_t old_processes, old_meters;
	u64 now_ns;
};

static void look_process(void *context, pid_t pid, u32 serial)
{
	struct look *look = context;
	struct overhead *o = look->o;
	struct overhead_process key = {.serial = serial}, *found = NULL;

	if (look->old_processes)
		found = bsearch(&key, o->processes, look->old_processes, sizeof(key),
				compare_processes);
	if (!found) {
		if (GROW(o->processes, o->nprocesses))
			return;
		found = &o->processes[o->nprocesses++];
		*found = (struct overhead_process){
			.serial = serial,
			.pid = pid,
			.cpu_ns = cpu_of(pid),
			.since_ns = look->now_ns,
		};
	}
	found->seen = true;
}

static bool look_meter(void *context, const struct wire_meter_key *key, u64 hits)
{
	struct look *look = context;
	struct overhead *o = look->o;
	struct overhead_meter wanted = {.key = *key}, *found = NULL;
	struct overhead_process process = {.serial = key->process};

	if (look->old_meters)
		found = bsearch(&wanted, o->meters, look->old_meters, sizeof(wanted),
				compare_meters);
	/* Of an image that has ended: it is not judged any more. */
	if (!o->nprocesses ||
	    !bsearch(&process, o->processes, o->nprocesses, sizeof(process), compare_processes)) {
		o->hits[key->def % DEFS_MAX] += hits;
		return true;
	}
	if (!found) {
		if (GROW(o->meters, o->nmeters))
			return false;
		found = &o->meters[o->nmeters++];
		*found = wanted;
	}
	found->hits = hits;
	found->seen = true;
	return false;
}

/* Leaves those out that were not seen this time, and sorts the rest. */
static void settle_processes(struct overhead *o)
{
	size_t i, n = 0;

	for (i = 0; i < o->nprocesses; i++) {
		if (!o->processes[i].seen)
			continue;
		o->processes[n] = o->processes[i];
		o->processes[n++].seen = false;
	}
	o->nprocesses = n;
	if (n)
		qsort(o->processes, n, sizeof(*o->processes), compare_processes);
}

static void settle_meters(struct overhead *o)
{
	size_t i, n = 0;

	for (i = 0; i < o->nmeters; i++) {
		if (!o->meters[i].seen)
			continue;
		o->meters[n] = o->meters[i];
		o->meters[n++].seen = false;
	}
	o->nmeters = n;
	if (n)
		qsort(o->meters, n, sizeof(*o->meters), compare_meters);
}

static void look_at_hits(struct overhead *o, u64 now_ns)
{
	struct look look = {.o = o, .old_processes = o->nprocesses, .now_ns = now_ns};

	kernel_walk_processes(o->kernel, look_process, &look);
	settle_processes(o);
	look.old_meters = o->nmeters;
	kernel_walk_meters(o->kernel, look_meter, &look);
	settle_meters(o);
}

/* The meters of one process. */
struct range {
	struct overhead_meter *first;
	size_t n;
};

static struct range meters_of(const struct overhead *o, u32 process)
{
	struct range range = {.first = o->meters};
	size_t low = 0, high = o->nmeters;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->meters[middle].key.process < process)
			low = middle + 1;
		else
			high = middle;
	}
	range.first += low;
	while (low + range.n < o->nmeters && range.first[range.n].key.process == process)
		range.n++;
	return range;
}

static struct overhead_meter *hottest(const struct overhead *o, struct range range)
{
	struct overhead_meter *most = NULL;
	size_t i;

	for (i = 0; i < range.n; i++) {
		struct overhead_meter *meter = &range.first[i];

		if (!overhead_can_shed(o, meter->key.def) || meter->hits == meter->base)
			continue;
		if (!most || meter->hits - meter->base > most->hits - most->base)
			most = meter;
	}
	return most;
}

static u64 share_of(u64 ns, u32 ppb)
{
	return (u64)((double)ns * ppb / PPB);
}

static void say_shed(const struct overhead *o, const struct overhead_process *process,
		     const struct overhead_meter *meter, u64 cpu_ns, u64 window_ns)
{
	u64 hits = meter->hits - meter->base;
	char name[NAME_LEN], rate[FIGURES_SIZE], share[FIGURES_SIZE], limit[FIGURES_SIZE];
	size_t i;

	for (i = 0; i < o->nshed; i++)
		if (o->shed[i].def == meter->key.def)
			return; /* said */
	overhead_name(o, meter->key.def, name, sizeof(name));
	log_warn(
		"%s: %s hits a second take %s of the CPU time of process %d, and --max-overhead is %s: its probes are taken out, and come back now and then",
		name, figures_count(rate, (u64)((double)hits * SECOND / (double)window_ns)),
		figures_share(share, hits * o->hit_ns, cpu_ns), process->pid,
		figures_sample(limit, o->options.limit_ppb));
}

/* What is left of REST without OWN: a tenth of ALL at least, because costs are estimated. */
static u64 without(u64 rest, u64 own, u64 all)
{
	return rest > own + all / 10 ? rest - own : all / 10;
}

/* Sheds what is too much of one process. */
static void judge(struct overhead *o, struct overhead_process *process, u64 now_ns)
{
	struct range range = meters_of(o, process->serial);
	u64 cpu_now = cpu_of(process->pid), window = now_ns - process->since_ns;
	u64 cpu, rest, cost = 0;
	size_t i;

	if (window && cpu_now < process->cpu_ns + CPU_MIN_NS)
		return;
	/* What came before the first look is not judged. */
	cpu = rest = cpu_now - process->cpu_ns;
	/* Those that are on their way out already take nothing of the limit. */
	for (i = 0; i < range.n; i++) {
		u64 own = (range.first[i].hits - range.first[i].base) * o->hit_ns;

		if (overhead_can_shed(o, range.first[i].key.def))
			cost += own;
		else
			rest = without(rest, own, cpu);
	}
	while (window && cost > share_of(rest, o->options.limit_ppb)) {
		struct overhead_meter *most = hottest(o, range);
		u64 own, limit;

		if (!most)
			break;
		own = (most->hits - most->base) * o->hit_ns;
		cost -= own;
		rest = without(rest, own, cpu);
		limit = share_of(rest, o->options.limit_ppb);
		say_shed(o, process, most, cpu, window);
		/* It may have what the others leave, and a tenth of all in any case: else it would never be seen. */
		overhead_shed(o, most->key.def, own,
			      limit > cost + limit / 10 ? limit - cost : limit / 10, window,
			      now_ns);
	}
	for (i = 0; i < range.n; i++)
		range.first[i].base = range.first[i].hits;
	process->cpu_ns = cpu_now;
	process->since_ns = now_ns;
}

struct cpu_sum {
	u64 ns;
};

static void add_cpu(void *context, pid_t pid, u32 serial)
{
	struct cpu_sum *sum = context;

	(void)serial;
	sum->ns += cpu_of(pid);
}

struct def_count {
	const struct model_def *def;
	u64 hits;
};

static int compare_counts(const void *a, const void *b)
{
	const struct def_count *x = a, *y = b;

	return (x->hits < y->hits) - (x->hits > y->hits);
}

/* Names the hottest definitions of the trace so far: *TEXT for people and *FIRST of them. */
static void name_hottest(struct overhead *o, u64 now_ns, char *text, size_t len, char *first)
{
	AUTO_FREE struct def_count *counts = calloc(DEFS_MAX, sizeof(*counts));
	struct profile profile = {0};
	size_t i, used = 0;

	*text = *first = '\0';
	if (!counts || trace_profile(o->trace, now_ns, &profile))
		return;
	for (i = 0; i < profile.nrows; i++) {
		const struct model_def *def = profile.rows[i].path->def;

		if (!def)
			continue;
		counts[def->id % DEFS_MAX].def = def;
		counts[def->id % DEFS_MAX].hits += 2 * profile.rows[i].count;
	}
	for (i = 0; i < profile.nevents; i++) {
		const struct model_def *def = profile.events[i].def;

		counts[def->id % DEFS_MAX].def = def;
		counts[def->id % DEFS_MAX].hits += profile.events[i].count;
	}
	qsort(counts, DEFS_MAX, sizeof(*counts), compare_counts);
	for (i = 0; i < 3 && counts[i].hits && used < len; i++) {
		const struct model_def *def = counts[i].def;
		char hits[FIGURES_SIZE];

		if (!i)
			snprintf(first, NAME_LEN, "%s:%s", def->provider, def->name);
		used += (size_t)snprintf(text + used, len - used, "%s%s:%s (%s hits)",
					 i ? ", " : "", def->provider, def->name,
					 figures_count(hits, counts[i].hits));
	}
}

/* Nobody has set a limit: says it once when the probes take much. Spans and events that were recorded are what there is
 * to count by then. */
void overhead_watch(struct overhead *o, u64 now_ns)
{
	char names[1024], first[NAME_LEN], share[FIGURES_SIZE];
	struct trace_counts counts;
	struct cpu_sum cpu = {0};
	u64 hits, used, cost, window = now_ns - o->looked_ns;
	bool had = o->looked_ns;

	if (o->warned || o->options.limit_ppb || (had && window < SECOND))
		return;
	trace_counts(o->trace, &counts);
	hits = 2 * counts.spans + counts.events - o->records;
	o->records += hits;
	o->looked_ns = now_ns;
	if (hits < QUIET_HITS || !had) {
		o->cpu_ns = 0;
		return;
	}
	kernel_walk_processes(o->kernel, add_cpu, &cpu);
	used = cpu.ns - o->cpu_ns;
	had = o->cpu_ns && cpu.ns > o->cpu_ns;
	o->cpu_ns = cpu.ns;
	if (!had)
		return;
	if (!o->hit_ns)
		o->hit_ns = calibrate_hit(o->kernel, o->options.uprobe_multi);
	cost = hits * o->hit_ns;
	/* An estimate may be a little above all there was. Far above, the hits were of processes that have ended, and whose time
	 * is not in USED. */
	if (cost <= share_of(used, WARN_PPB) || cost > 2 * used)
		return;
	if (cost > used)
		cost = used;
	o->warned = true;
	name_hottest(o, now_ns, names, sizeof(names), first);
	log_warn(
		"the probes take about %s of the targets' CPU time; most of it: %s; leave some out with -x '%s', or set a limit with --max-overhead 5%%",
		figures_share(share, cost, used), names, first);
}

void overhead_tick(struct overhead *o, u64 now_ns)
{
	size_t i;

	/* No process can spend more than all: what the estimate has above that is its error. */
	if (!o->options.limit_ppb || o->options.limit_ppb == PPB)
		return;
	overhead_move(o, now_ns);
	if (now_ns - o->looked_ns < LOOK_NS)
		return;
	o->looked_ns = now_ns;
	look_at_hits(o, now_ns);
	for (i = 0; i < o->nprocesses; i++)
		judge(o, &o->processes[i], now_ns);
}

void overhead_end(struct overhead *o, struct plan *plan, u64 begin_ns, u64 now_ns)
{
	size_t i;

	if (o->options.metered)
		look_at_hits(o, now_ns);
	for (i = 0; i < o->nshed; i++) {
		struct overhead_shed *shed = &o->shed[i];
		char name[NAME_LEN], why[256], a[FIGURES_SIZE], b[FIGURES_SIZE], c[FIGURES_SIZE];

		if (shed->state == SHED_OUT)
			shed->out_ns += now_ns - shed->changed_ns;
		overhead_name(o, shed->def, name, sizeof(name));
		snprintf(why, sizeof(why),
			 "taken out for --max-overhead %s: its probes stood for %s of %s",
			 figures_sample(a, o->options.limit_ppb),
			 figures_time(b, now_ns - begin_ns - shed->out_ns),
			 figures_time(c, now_ns - begin_ns));
		plan_refuse_def(plan, name, why);
	}
}

void overhead_print(const struct overhead *o, FILE *out)
{
	AUTO_FREE struct def_count *counts = calloc(DEFS_MAX, sizeof(*counts));
	char name[NAME_LEN], hits[FIGURES_SIZE], time[FIGURES_SIZE];
	size_t i;

	if (!o->options.metered || !counts)
		return;
	for (i = 0; i < DEFS_MAX; i++) {
		counts[i].def = trace_def(o->trace, (u32)i);
		counts[i].hits = o->hits[i];
	}
	for (i = 0; i < o->nmeters; i++)
		counts[o->meters[i].key.def % DEFS_MAX].hits += o->meters[i].hits;
	qsort(counts, DEFS_MAX, sizeof(*counts), compare_counts);
	fprintf(out, "  a hit          %s, measured at the start\n", figures_time(time, o->hit_ns));
	for (i = 0; i < SHOWN && counts[i].hits && counts[i].def; i++) {
		snprintf(name, sizeof(name), "%s:%s", counts[i].def->provider, counts[i].def->name);
		fprintf(out, "  %-14s %14s hits   %8s in all\n", name,
			figures_count(hits, counts[i].hits),
			figures_time(time, counts[i].hits * o->hit_ns));
	}
}
