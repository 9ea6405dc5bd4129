/* SPDX-License-Identifier: MIT */
/* Beside probes of the program's own. With _SDT_HAS_SEMAPHORES those have the semaphores that the
 * program defines; without (OWN_SEMAPHORES not defined) they have none. The macros do not care.
 *
 * markers:
 *   app:block__enter
 *   app:block__exit
 *   app:labelled__enter -8 semaphore keys n
 *   app:labelled__exit
 *   own:probe -4
 */
#ifdef OWN_SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__extension__ unsigned short own_probe_semaphore __attribute__((section(".probes")));
#endif
#include <spantrace.h>

int main(int argc, char **argv)
{
	SPAN_SCOPE(app, block);
	SPAN_SCOPE_ARGS(app, labelled, n, argc);

	(void)argv;
	DTRACE_PROBE1(own, probe, argc);
	return 0;
}
