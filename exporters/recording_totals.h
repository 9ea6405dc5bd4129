/* SPDX-License-Identifier: MIT */
/* What a recording tells beside its single spans: memory by thread and path, how it was counted, and whose threads they
 * are (../include/recording.h, TOTALS). Keeps what was told of each row, so that a file can be one of several and a
 * snapshot tells only what has changed. */
#ifndef SPANTRACE_RECORDING_TOTALS_H
#define SPANTRACE_RECORDING_TOTALS_H

#include "recording_encode.h"
#include "text.h"

/* What a file is of a trace. */
enum recording_extent {
	RECORDING_WHOLE,
	RECORDING_SO_FAR,  /* the file goes on: what its spans allocated is told at its end */
	RECORDING_STRETCH, /* one of several */
	RECORDING_LAST,    /* of the last seconds: what is in use, and no sums */
};

struct recording_totals;

int recording_totals_new(struct recording_totals **out);
void recording_totals_free(struct recording_totals **totals);
/* Another file begins: sums are those from here on. */
void recording_totals_restart(struct recording_totals *totals);

/* Each returns 0 or an error as in recording_encode.h. */

/* Tells the encoder the names that the items will need. */
int recording_totals_names(struct recording_encoder *encoder, const struct profile *profile);
/* Puts the items that tell of the rows of PROFILE from *ROW on, which moves, as long as B is shorter than FULL. */
int recording_totals_rows(struct recording_totals *totals, struct recording_encoder *encoder,
			  const struct profile *profile, enum recording_extent extent, size_t *row,
			  struct text_buf *b, size_t full);
/* … and of its threads. */
int recording_totals_processes(struct recording_encoder *encoder, const struct profile *profile,
			       size_t *row, struct text_buf *b, size_t full);
/* How memory was counted. */
void recording_totals_counting(const struct model_memory *memory, struct text_buf *b);

/* Numbers and texts at the end of B, as the format has them. */
void recording_put(struct text_buf *b, u64 value);
void recording_put_text(struct text_buf *b, const char *text);

#endif
