/* SPDX-License-Identifier: MIT */
/* Everything that was seen and did not become a span, by cause: names that stay, and a line that says
 * what to do about each. */
#ifndef SPANTRACE_LOSSES_H
#define SPANTRACE_LOSSES_H

#include "../../include/model.h"
#include "../../include/wire.h"

/* Causes that only the loader sees, after those of the wire. */
enum {
	LOSS_MISSED = LOSS_KINDS,
	LOSS_DAMAGED,
	LOSS_NO_MEMORY,
	LOSS_MAPPINGS,
	LOSS_THREADS,
	LOSS_ROWS,
	LOSS_CAUSES,
};

/* Names and texts, with counts of 0. */
void losses_init(struct model_loss losses[LOSS_CAUSES]);
/* All causes together, but what --sample left out: that was asked for. */
u64 losses_sum(const struct model_loss losses[LOSS_CAUSES]);

#endif
