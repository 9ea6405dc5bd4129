/* SPDX-License-Identifier: MIT */
/* See ../include/recording.h for the format. */
#include "replay_impl.h"

#include <errno.h>
#include <string.h>

#include "../include/recording.h"

static bool recording_is(const u8 *first, size_t n)
{
	return n >= 8 && memcmp(first, RECORDING_MAGIC, 8) == 0;
}

static int recording_open(struct replay *replay)
{
	(void)replay;
	return -ENOSYS;
}

static int recording_run(struct replay *replay)
{
	(void)replay;
	return -ENOSYS;
}

static void recording_free(struct replay *replay)
{
	(void)replay;
}

const struct replay_format replay_recording = {
	.name = "recording",
	.is = recording_is,
	.open = recording_open,
	.run = recording_run,
	.free = recording_free,
};
