/* SPDX-License-Identifier: MIT */
/* What a flight recorder keeps in memory: every NAMES block, and the SPANS blocks of the last seconds. A block is as long
 * as recording_encode.h makes it, a second or RECORDING_BLOCK_FULL, so somewhat more than was asked for is kept. */
#ifndef SPANTRACE_RECORDING_FLIGHT_H
#define SPANTRACE_RECORDING_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/recording.h"

struct recording_flight;

int recording_flight_new(u64 last_ns, u64 last_bytes, struct recording_flight **out);
void recording_flight_free(struct recording_flight **flight);
/* Keeps a copy of a NAMES or SPANS block. 0 or -ENOMEM. */
int recording_flight_add(struct recording_flight *flight,
			 const struct recording_block_header *header);
/* It is NOW_NS: what ended too long ago goes. */
void recording_flight_pass(struct recording_flight *flight, u64 now_ns);
/* Hands FN each block, names first; stops at what it returns other than 0, and returns that. FN may write to
 * the header. */
int recording_flight_each(struct recording_flight *flight,
			  int (*fn)(void *context, struct recording_block_header *header),
			  void *context);
/* Whether anything went, and when what is left begins (UINT64_MAX: nothing is left). */
bool recording_flight_start(const struct recording_flight *flight, u64 *start_ns);
/* Spans and events of the last seconds that went because there are too many for the memory. */
u64 recording_flight_squeezed(const struct recording_flight *flight);

#endif
