/* SPDX-License-Identifier: MIT */
/* What units_*.c share: a marker in an inline function, and each other. */
#ifndef UNITS_H
#define UNITS_H

#include <spantrace.h>

void units_other(int x);
void units_library(int x);

static inline void units_inline(int x)
{
	SPAN_EVENT_ARGS(app, inl, where, x);
}

#endif
