/* SPDX-License-Identifier: MIT */
/* Definitions that are shed: out of the kernel, and back. */
#include <string.h>

#include "../../exporters/figures.h"
#include "../attach/attach_parts.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "overhead_impl.h"

#define SECOND       1000000000ULL
#define ENDS_NS      (SECOND / 10) /* for open spans to end */
#define PAUSE_MIN_NS SECOND
#define PAUSE_MAX_NS (60 * SECOND)
#define AGAIN_NS     (2 * SECOND) /* shed again that soon: it is as hot as it was */

static struct overhead_shed *find(const struct overhead *o, u32 def)
{
	size_t i;

	for (i = 0; i < o->nshed; i++)
		if (o->shed[i].def == def)
			return &o->shed[i];
	return NULL;
}

bool overhead_can_shed(const struct overhead *o, u32 def)
{
	const struct overhead_shed *shed = find(o, def);

	return !shed || shed->state == SHED_STANDS;
}

/* So long that what it took is, on average over the pause too, what it may take. */
static u64 pause_of(u64 cost_ns, u64 allowed_ns, u64 window_ns)
{
	double pause = (double)window_ns * (double)cost_ns / (double)(allowed_ns ? allowed_ns : 1);

	if (pause > (double)PAUSE_MAX_NS)
		return PAUSE_MAX_NS;
	return pause < (double)PAUSE_MIN_NS ? PAUSE_MIN_NS : (u64)pause;
}

void overhead_shed(struct overhead *o, u32 def, u64 cost_ns, u64 allowed_ns, u64 window_ns,
		   u64 now_ns)
{
	struct overhead_shed *shed = find(o, def);
	u64 pause_ns = pause_of(cost_ns, allowed_ns, window_ns);

	if (!shed) {
		if (GROW(o->shed, o->nshed))
			return;
		shed = &o->shed[o->nshed++];
		*shed = (struct overhead_shed){.def = def};
	} else if (now_ns - shed->changed_ns < AGAIN_NS && pause_ns < 2 * shed->pause_ns) {
		pause_ns = 2 * shed->pause_ns;
	}
	if (kernel_shed(o->kernel, def, true))
		return;
	shed->state = SHED_ENDS;
	shed->changed_ns = now_ns;
	shed->pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
	shed->times++;
}

static void take_out(struct overhead *o, struct overhead_shed *shed, u64 now_ns)
{
	struct attach_parts *parts = attach_parts_of(o->probes);
	char name[256], pause[FIGURES_SIZE];

	/* One of too many definitions keeps its probes, and is left out at its hits. */
	if (parts && attach_parts_has(parts, shed->def)) {
		attach_parts_pause(parts, shed->def);
		kernel_forget(o->kernel, shed->def);
	}
	shed->state = SHED_OUT;
	shed->changed_ns = now_ns;
	overhead_name(o, shed->def, name, sizeof(name));
	log_info("%s: its probes are out, for %s", name, figures_time(pause, shed->pause_ns));
}

static void put_back(struct overhead *o, struct overhead_shed *shed, u64 now_ns)
{
	struct attach_parts *parts = attach_parts_of(o->probes);
	char name[256];
	int err = parts ? attach_parts_resume(parts, shed->def) : 0;

	overhead_name(o, shed->def, name, sizeof(name));
	if (err)
		log_warn("%s: not all of its probes can be put back: %s", name, strerror(-err));
	kernel_shed(o->kernel, shed->def, false);
	shed->out_ns += now_ns - shed->changed_ns;
	shed->state = SHED_STANDS;
	shed->changed_ns = now_ns;
	log_info("%s: its probes stand again", name);
}

void overhead_move(struct overhead *o, u64 now_ns)
{
	size_t i;

	for (i = 0; i < o->nshed; i++) {
		struct overhead_shed *shed = &o->shed[i];
		u64 since = now_ns - shed->changed_ns;

		if (shed->state == SHED_ENDS && since >= ENDS_NS)
			take_out(o, shed, now_ns);
		else if (shed->state == SHED_OUT && since >= shed->pause_ns)
			put_back(o, shed, now_ns);
	}
}
