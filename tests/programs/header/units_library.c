/* SPDX-License-Identifier: MIT */
/* See units_main.c.
 *
 * markers:
 *   app:shared__enter -8 semaphore keys where
 *   app:shared__exit
 *   app:plain__enter
 *   app:plain__exit
 *   app:inl -8 semaphore keys where
 */
#include "units.h"

void units_library(int x)
{
	SPAN_SCOPE_ARGS(app, shared, where, x);
	SPAN_SCOPE(app, plain);

	units_inline(x);
}
