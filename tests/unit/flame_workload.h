/* SPDX-License-Identifier: MIT */
/* The program that the files in tests/golden/tracing-flame were recorded from, by tracing-flame's main branch, once
 * with each option toggled: which spans it enters and leaves, on which thread, in which order. How long each took
 * stands in the files.
 */
#ifndef SPANTRACE_TEST_FLAME_WORKLOAD_H
#define SPANTRACE_TEST_FLAME_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "../../include/types.h"

#define FLAME_MODULE "seedsample"
#define FLAME_FILE   "src/lib.rs"
#define FLAME_DEPTH  3 /* spans open at most, one in another */

enum { MAIN, WORKER_A, UNNAMED, FLAME_THREADS };

enum {
	NO_SPAN,
	OUTER,
	INNER,
	INNERMOST,
	SPAWNER,
	ON_NAMED_THREAD,
	ON_UNNAMED_THREAD,
	WILL_PANIC,
	PANIC_CHILD,
	AFTER_PANIC,
	OOO_FIRST,
	OOO_SECOND,
	REENTERED,
	ASYNC_A,
	ASYNC_A_CHILD,
	ASYNC_B,
	ASYNC_B_CHILD,
	ZERO_LEN,
	WITH_EVENT,
	ODD_NAME,
	FLAME_SPANS,
};

struct flame_span {
	const char *name;
	u32 line;
	u32 parent;
	bool async; /* entered more than once, on several threads, or left out of order */
};

static const struct flame_span flame_spans[FLAME_SPANS] = {
	[OUTER] = {.name = "outer", .line = 7},
	[INNER] = {.name = "inner", .line = 8, .parent = OUTER},
	[INNERMOST] = {.name = "innermost", .line = 9, .parent = INNER},
	[SPAWNER] = {.name = "spawner", .line = 13, .async = true},
	[ON_NAMED_THREAD] = {.name = "on_named_thread",
			     .line = 15,
			     .parent = SPAWNER,
			     .async = true},
	[ON_UNNAMED_THREAD] = {.name = "on_unnamed_thread", .line = 16},
	[WILL_PANIC] = {.name = "will_panic", .line = 20},
	[PANIC_CHILD] = {.name = "panic_child", .line = 21, .parent = WILL_PANIC},
	[AFTER_PANIC] = {.name = "after_panic", .line = 22},
	[OOO_FIRST] = {.name = "ooo_first", .line = 25, .async = true},
	[OOO_SECOND] = {.name = "ooo_second", .line = 26, .parent = OOO_FIRST, .async = true},
	[REENTERED] = {.name = "reentered", .line = 31, .async = true},
	[ASYNC_A] = {.name = "async_a", .line = 41, .async = true},
	[ASYNC_A_CHILD] = {.name = "async_child", .line = 38, .parent = ASYNC_A, .async = true},
	[ASYNC_B] = {.name = "async_b", .line = 41, .async = true},
	[ASYNC_B_CHILD] = {.name = "async_child", .line = 38, .parent = ASYNC_B, .async = true},
	[ZERO_LEN] = {.name = "zero_len", .line = 45},
	[WITH_EVENT] = {.name = "with_event", .line = 46},
	[ODD_NAME] = {.name = "name with spaces; and semicolon", .line = 47},
};

enum flame_op { ENTER, EXIT, EXIT_BY_PANIC };

struct flame_step {
	u32 thread;
	enum flame_op op;
	u32 span;
};

/* A poll of a future is an enter and an exit; dropping it is one more of both. */
static const struct flame_step flame_steps[] = {
	{MAIN, ENTER, OUTER},
	{MAIN, ENTER, INNER},
	{MAIN, ENTER, INNERMOST},
	{MAIN, EXIT, INNERMOST},
	{MAIN, EXIT, INNER},
	{MAIN, EXIT, OUTER},

	{MAIN, ENTER, SPAWNER},
	{UNNAMED, ENTER, ON_UNNAMED_THREAD},
	{UNNAMED, EXIT, ON_UNNAMED_THREAD},
	{WORKER_A, ENTER, ON_NAMED_THREAD},
	{WORKER_A, EXIT, ON_NAMED_THREAD},
	{MAIN, EXIT, SPAWNER},

	{MAIN, ENTER, WILL_PANIC},
	{MAIN, ENTER, PANIC_CHILD},
	{MAIN, EXIT_BY_PANIC, PANIC_CHILD},
	{MAIN, EXIT_BY_PANIC, WILL_PANIC},
	{MAIN, ENTER, AFTER_PANIC},
	{MAIN, EXIT, AFTER_PANIC},

	{MAIN, ENTER, OOO_FIRST},
	{MAIN, ENTER, OOO_SECOND},
	{MAIN, EXIT, OOO_FIRST},
	{MAIN, EXIT, OOO_SECOND},

	{MAIN, ENTER, REENTERED},
	{MAIN, EXIT, REENTERED},
	{MAIN, ENTER, REENTERED},
	{MAIN, EXIT, REENTERED},
	{MAIN, ENTER, REENTERED},
	{MAIN, EXIT, REENTERED},
	{MAIN, ENTER, REENTERED},
	{MAIN, ENTER, REENTERED},
	{MAIN, EXIT, REENTERED},
	{MAIN, EXIT, REENTERED},

	{MAIN, ENTER, ASYNC_A},
	{MAIN, EXIT, ASYNC_A},
	{MAIN, ENTER, ASYNC_B},
	{MAIN, EXIT, ASYNC_B},
	{MAIN, ENTER, ASYNC_A},
	{MAIN, ENTER, ASYNC_A_CHILD},
	{MAIN, EXIT, ASYNC_A_CHILD},
	{MAIN, EXIT, ASYNC_A},
	{MAIN, ENTER, ASYNC_B},
	{MAIN, ENTER, ASYNC_B_CHILD},
	{MAIN, EXIT, ASYNC_B_CHILD},
	{MAIN, EXIT, ASYNC_B},
	{MAIN, ENTER, ASYNC_A},
	{MAIN, ENTER, ASYNC_A_CHILD},
	{MAIN, EXIT, ASYNC_A_CHILD},
	{MAIN, ENTER, ASYNC_A_CHILD},
	{MAIN, EXIT, ASYNC_A_CHILD},
	{MAIN, EXIT, ASYNC_A},
	{MAIN, ENTER, ASYNC_A},
	{MAIN, EXIT, ASYNC_A},
	{MAIN, ENTER, ASYNC_B},
	{MAIN, ENTER, ASYNC_B_CHILD},
	{MAIN, EXIT, ASYNC_B_CHILD},
	{MAIN, ENTER, ASYNC_B_CHILD},
	{MAIN, EXIT, ASYNC_B_CHILD},
	{MAIN, EXIT, ASYNC_B},
	{MAIN, ENTER, ASYNC_B},
	{MAIN, EXIT, ASYNC_B},

	{MAIN, ENTER, ZERO_LEN},
	{MAIN, EXIT, ZERO_LEN},
	{MAIN, ENTER, ZERO_LEN},
	{MAIN, EXIT, ZERO_LEN},
	{MAIN, ENTER, ZERO_LEN},
	{MAIN, EXIT, ZERO_LEN},
	{MAIN, ENTER, WITH_EVENT},
	{MAIN, EXIT, WITH_EVENT},
	{MAIN, ENTER, ODD_NAME},
	{MAIN, EXIT, ODD_NAME},
};

#define FLAME_STEPS (sizeof(flame_steps) / sizeof(*flame_steps))

#endif
