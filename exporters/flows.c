/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing and deletion without marks: what stands behind a freed slot moves into it where it
 * may. See flows.h. */
#include "flows.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

static bool is_of(const struct flow *flow, const struct model_span *span)
{
	return flow->id == span->id && flow->def == span->path->def &&
	       flow->pid == span->thread->pid;
}

static size_t home_of(const struct flows *flows, u64 id, const struct model_def *def, u32 pid)
{
	return hash_mix(hash_mix(id + pid) + (u64)(uintptr_t)def) & (flows->nslots - 1);
}

/* The slot that holds SPAN's, or the free one where it belongs. */
static struct flow *find(const struct flows *flows, const struct model_span *span)
{
	size_t at = home_of(flows, span->id, span->path->def, span->thread->pid);

	while (flows->slots[at].number && !is_of(&flows->slots[at], span))
		at = (at + 1) & (flows->nslots - 1);
	return &flows->slots[at];
}

static bool widen(struct flows *flows)
{
	struct flows wide = {.nslots = flows->nslots ? flows->nslots * 2 : 64};
	size_t i;

	wide.slots = calloc(wide.nslots, sizeof(*wide.slots));
	if (!wide.slots)
		return false;
	for (i = 0; i < flows->nslots; i++) {
		const struct flow *flow = &flows->slots[i];
		size_t at = home_of(&wide, flow->id, flow->def, flow->pid);

		if (!flow->number)
			continue;
		while (wide.slots[at].number)
			at = (at + 1) & (wide.nslots - 1);
		wide.slots[at] = *flow;
	}
	free(flows->slots);
	flows->slots = wide.slots;
	flows->nslots = wide.nslots;
	return true;
}

struct flow *flows_take(struct flows *flows, const struct model_span *span)
{
	struct flow *flow;

	if (!flows->nslots && !widen(flows))
		return NULL;
	flow = find(flows, span);
	if (flow->number)
		return flow;
	if (flows->count == FLOWS_MAX) {
		memset(flows->slots, 0, flows->nslots * sizeof(*flows->slots));
		flows->count = 0;
		flow = find(flows, span);
	} else if ((flows->count + 1) * 2 > flows->nslots) {
		if (!widen(flows))
			return NULL;
		flow = find(flows, span);
	}
	*flow = (struct flow){
		.number = ++flows->last_number,
		.id = span->id,
		.def = span->path->def,
		.pid = span->thread->pid,
	};
	flows->count++;
	return flow;
}

struct flow *flows_find(const struct flows *flows, const struct model_span *span)
{
	struct flow *flow = flows->nslots ? find(flows, span) : NULL;

	return flow && flow->number ? flow : NULL;
}

void flows_drop(struct flows *flows, const struct model_span *span)
{
	size_t mask = flows->nslots - 1, hole, at;

	if (!flows->nslots)
		return;
	hole = (size_t)(find(flows, span) - flows->slots);
	if (!flows->slots[hole].number)
		return;
	for (at = (hole + 1) & mask; flows->slots[at].number; at = (at + 1) & mask) {
		const struct flow *flow = &flows->slots[at];
		size_t home = home_of(flows, flow->id, flow->def, flow->pid);

		/* It may stand in the hole if that lies between its home and itself. */
		if (((hole - home) & mask) < ((at - home) & mask)) {
			flows->slots[hole] = *flow;
			hole = at;
		}
	}
	flows->slots[hole] = (struct flow){0};
	flows->count--;
}

void flows_free(struct flows *flows)
{
	free(flows->slots);
	*flows = (struct flows){0};
}
