/* SPDX-License-Identifier: MIT */
/* See losses.h. */
#include "losses.h"

static const struct model_loss causes[LOSS_CAUSES] = {
	[LOSS_RING_FULL] =
		{"ring_full",
		 "the ring was full when a span ended; --ring-size, or fewer spans by -P or -x", 0},
	[LOSS_CONTROL_FULL] = {"control_ring_full",
			       "the start or end of a thread or process was not told", 0},
	[LOSS_ORPHAN_EXIT] = {"orphan_exit",
			      "an exit without its enter; most often open already at the attach",
			      0},
	[LOSS_ORPHAN_ENTER] = {"orphan_enter",
			       "an async span entered whose beginning was before the attach", 0},
	[LOSS_TOO_DEEP] = {"too_deep", "more than 256 spans open on one thread", 0},
	[LOSS_NO_STATE] = {"no_thread_state", "the kernel had no memory for a thread's stack", 0},
	[LOSS_PATHS_FULL] = {"paths_full",
			     "more than 131072 paths; kept under spantrace:(other paths)", 0},
	[LOSS_ASYNC_FULL] = {"async_full", "more than 1048576 async spans alive", 0},
	[LOSS_ID_REUSED] = {"id_reused",
			    "an async span began with an id that lived; the earlier is abandoned",
			    0},
	[LOSS_UNKNOWN_PARENT] = {"unknown_parent",
				 "the parent named does not live; it stands under its thread's", 0},
	[LOSS_UNREADABLE_ARG] =
		{"unreadable_argument",
		 "an id was on a page that is not there, or a text at no good address", 0},
	[LOSS_STRINGS_FULL] = {"strings_full",
			       "a label's text could not be kept: too many different ones", 0},
	[LOSS_NAMES_FULL] = {"names_full",
			     "more than 16384 names of spans; kept under \"(other names)\"", 0},
	[LOSS_ALLOC_ROWS] = {"alloc_no_row",
			     "an allocation whose path had no room in the kernel; --rows", 0},
	[LOSS_HEAP_FULL] =
		{"heap_full",
		 "a block that could not be followed, in no inuse_ number; --heap-objects", 0},
	[LOSS_HEAP_UNSEEN] =
		{"heap_unseen",
		 "a block of an operator new, where no return may be probed; in no inuse_ number",
		 0},
	[LOSS_UNSAMPLED] = {"unsampled", "left out by --sample, as asked", 0},
	[LOSS_SHED] = {"shed",
		       "left out by --max-overhead; what came while no probes stood is not counted",
		       0},
	[LOSS_BATCH_OPS] =
		{"batch_lost",
		 "enters, exits and events of the batched lane that could not be fetched", 0},
	[LOSS_BATCH_DAMAGED] = {"batch_damaged",
				"a buffer or an op of the batched lane that makes no sense", 0},
	[LOSS_BATCH_SOURCES] =
		{"batch_sources",
		 "a buffer of a thread that uses the batched lane of more than 4 binaries", 0},
	[LOSS_MISSED] = {"missed_hits", "a hit while another was handled on that CPU", 0},
	[LOSS_DAMAGED] = {"damaged", "a record that makes no sense; please report it", 0},
	[LOSS_MAPPINGS] = {"mappings_lost",
			   "new mappings were not told; programs that ended soon may be missing",
			   0},
	[LOSS_THREADS] = {"threads_full",
			  "more than 131072 threads; kept under one called (other threads)", 0},
	[LOSS_ROWS] = {"rows_full", "more than 524288 rows of thread, path and labels; kept in one",
		       0},
	[LOSS_NO_MEMORY] = {"no_memory", "spantrace itself had no memory", 0},
};

void losses_init(struct model_loss losses[LOSS_CAUSES])
{
	int i;

	for (i = 0; i < LOSS_CAUSES; i++)
		losses[i] = causes[i];
}

u64 losses_sum(const struct model_loss losses[LOSS_CAUSES])
{
	u64 sum = 0;
	int i;

	for (i = 0; i < LOSS_CAUSES; i++)
		if (i != LOSS_UNSAMPLED)
			sum += losses[i].count;
	return sum;
}
