/* SPDX-License-Identifier: MIT */
/* What the header's macros leave in a function, one function a macro: tests/live/test_instructions.py counts its
 * instructions, and those of the programs that are loaded for them. It waits for the end of its input. */
#include <stdio.h>

#include "spantrace.h"

void thread_span(void);
void scope(void);
void event(void);
void event_value(long value);
void async_span(long id);

void thread_span(void)
{
	SPAN_ENTER(inlined, span);
	SPAN_EXIT(inlined, span);
}

void scope(void)
{
	SPAN_SCOPE(inlined, scope);
}

void event(void)
{
	SPAN_EVENT(inlined, event);
}

void event_value(long value)
{
	SPAN_EVENT_VALUE(inlined, value, value);
}

void async_span(long id)
{
	SPAN_NEW(inlined, job, id);
	SPAN_ENTER_ID(inlined, job, id);
	SPAN_EXIT_ID(inlined, job, id);
	SPAN_CLOSE(inlined, job, id);
}

int main(void)
{
	return getchar() != EOF;
}
