/* SPDX-License-Identifier: MIT */
/* See push_retry.h. */
#include "push_retry.h"

u64 push_retry_ns(u32 failures, u64 min_ns, u64 max_ns, u32 random)
{
	u64 wait = min_ns < max_ns ? min_ns : max_ns;

	while (--failures && wait < max_ns)
		wait = wait < max_ns - wait ? wait * 2 : max_ns;
	wait -= wait / 2;
	return wait + (u64)((double)wait * ((double)random / 4294967295.0));
}
