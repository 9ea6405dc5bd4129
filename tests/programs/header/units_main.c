/* SPDX-License-Identifier: MIT */
/* The same markers in two files and a shared library (units_other.c, units_library.c): one semaphore
 * for each marker in each binary, and no clash.
 *
 * markers:
 *   app:shared__enter -8 semaphore keys where
 *   app:shared__exit
 *   app:plain__enter
 *   app:plain__exit
 *   app:inl -8 semaphore keys where
 */
#include "units.h"

int main(int argc, char **argv)
{
	SPAN_SCOPE_ARGS(app, shared, where, argc);
	SPAN_SCOPE(app, plain);

	(void)argv;
	units_inline(argc);
	units_other(argc);
	units_library(argc);
	return 0;
}
