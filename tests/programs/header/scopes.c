/* SPDX-License-Identifier: MIT */
/* SPAN_SCOPE in C: every way out of a block, names that repeat, places where it can stand.
 *
 * markers:
 *   app:f__enter
 *   app:f__exit
 *   app:same__enter
 *   app:same__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:sw__enter
 *   app:sw__exit
 *   app:jump__enter
 *   app:jump__exit
 *   app:inl__enter
 *   app:inl__exit
 *   app:tail__enter
 *   app:tail__exit
 *   app:wrap__enter
 *   app:wrap__exit
 *   mine:made__enter
 *   mine:made__exit
 *   app_a:b__enter
 *   app_a:b__exit
 *   app:a_b__enter
 *   app:a_b__exit
 *
 * trace:
 *   app:f__enter
 *   app:same__enter
 *   app:same__enter
 *   app:same__exit
 *   app:same__exit
 *   app:f__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:loop__enter
 *   app:loop__exit
 *   app:sw__enter
 *   app:sw__exit
 *   app:jump__enter
 *   app:jump__exit
 *   app:inl__enter
 *   app:inl__exit
 *   app:tail__enter
 *   app:wrap__enter
 *   app:wrap__exit
 *   app:tail__exit
 *   mine:made__enter
 *   mine:made__exit
 *   app_a:b__enter
 *   app:a_b__enter
 *   app:a_b__exit
 *   app_a:b__exit
 */
#include <spantrace.h>

#define PROVIDER      mine
#define MY_SPAN(name) SPAN_SCOPE(PROVIDER, name)

__attribute__((noinline)) static int f(int x)
{
	SPAN_SCOPE(app, f);
	SPAN_SCOPE(app, same);
	SPAN_SCOPE(app, same);
	if (x & 1)
		return x * 3;
	return x + 1;
}

static int loop(int x)
{
	int i;

	for (i = 0; i < 10; i++) {
		SPAN_SCOPE(app, loop);
		if (i == x)
			break;
		if (i == 1)
			continue;
	}
	return i;
}

static int sw(int x)
{
	switch (x) {
	case 1: {
		SPAN_SCOPE(app, sw);
		break;
	}
	default:
		return 1;
	}
	return 0;
}

static int jump(int x)
{
	{
		SPAN_SCOPE(app, jump);
		if (x)
			goto out;
		x = 5;
	}
out:
	return x;
}

static inline int inl(int x)
{
	SPAN_SCOPE(app, inl);
	return x;
}

__attribute__((noinline)) static int wrap(int x)
{
	SPAN_SCOPE(app, wrap);
	return x;
}

__attribute__((noinline)) static int tail(int x)
{
	SPAN_SCOPE(app, tail);
	return wrap(x);
}

static void made(void)
{
	MY_SPAN(made);
}

/* Names that are the same once provider and name are joined with '_'. */
static void alike(void)
{
	SPAN_SCOPE(app_a, b);
	SPAN_SCOPE(app, a_b);
}

int main(int argc, char **argv)
{
	int sum;

	(void)argv;
	sum = f(argc) + loop(argc + 1) + sw(argc) + jump(argc) + inl(argc) + tail(argc);
	made();
	alike();
	return sum == 3 + 2 + 0 + 1 + 1 + 1 ? 0 : 1;
}
