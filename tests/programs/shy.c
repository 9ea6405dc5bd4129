/* SPDX-License-Identifier: MIT */
/* spantrace on a kernel that kills a process under seccomp at a probe on a function's return, as Linux 6.11 to 6.13 did:
 * what asks the kernel is wrapped at the link (tests.mk), all else is as it is. */
#include <stdbool.h>

#include "../../user/main.c"

bool __wrap_features_returns_pass_seccomp(void);

bool __wrap_features_returns_pass_seccomp(void)
{
	return false;
}
