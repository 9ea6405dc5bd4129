/* SPDX-License-Identifier: MIT */
/* The metadata of an event file: one JSON object, which measureme does not always make valid. */
#ifndef SPANTRACE_MMPROFDATA_META_H
#define SPANTRACE_MMPROFDATA_META_H

#include <stdbool.h>

#include "../recording/replay.h"

struct mmp_meta {
	u64 start_time; /* ns since 1970 */
	u64 process_id;
	char *cmd; /* owned, as all texts; NULL: not there */
	char *counter;

	/* Of files that spantrace wrote. */
	char *version;
	char *kernel;
	char *clock;
	u64 start_ns; /* what times count from, on the trace's clock */
	u64 end_ns;
	u64 sample_ppb; /* as in struct profile */
	u64 finished;   /* 1: the writer came to its end */
	u64 losses[REPLAY_LOSSES];
};

/* Fills META, which starts as zeroes, from LENGTH bytes of TEXT, which end in a NUL; NAMES are those of the losses. 0,
 * -EINVAL when it is no such object, or not whole: what stood before the damage is taken. -ENOMEM. */
int mmp_meta_read(const char *text, size_t length, const struct model_loss names[REPLAY_LOSSES],
		  struct mmp_meta *meta);
void mmp_meta_free(struct mmp_meta *meta);

#endif
