/* SPDX-License-Identifier: MIT */
/* Labels in C: every kind of value, one to four of them, and arguments that are evaluated only
 * while someone looks (the program fails if they are when nobody does).
 *
 * markers:
 *   app:one__enter -8 semaphore keys n
 *   app:one__exit
 *   app:two__enter -8 8 semaphore keys n text
 *   app:two__exit
 *   app:three__new 8 8 -8 -8 -8 semaphore keys a b c
 *   app:four -8 8 -8 8 semaphore keys e uc flag literal
 *   app:small -8 -8 -8 -8 semaphore keys sh us sc c
 *   app:large -8 -8 -8 -8 semaphore keys l ul ll u
 *   app:odd -8 8 8 -8 semaphore keys bits array ptr v
 *   app:written 8 semaphore keys text
 *
 * trace:
 *   app:one__enter 1
 *   app:two__enter 2 "abc"
 *   app:three__new 9 0 -1 -2 -3
 *   app:four 3 "ab" 1 "lit"
 *   app:small -2 65535 -1 120
 *   app:large -5 6 -7 4000000000
 *   app:odd 17 "arr" "arr" 4
 *   app:written "yes"
 *   app:two__exit
 *   app:one__exit
 */
#include <spantrace.h>

enum kind { NONE, SOME = 3 };

struct record {
	unsigned bits : 5;
	signed char array[8];
};

static int evaluated;

static int watched(int value)
{
	evaluated++;
	return value;
}

int main(int argc, char **argv)
{
	struct record r = {17, "arr"};
	const char *text = "abc";
	enum kind kind = argc ? SOME : NONE;
	unsigned char uc[4] = "ab";
	_Bool flag = argc > 0;
	short sh = -2;
	unsigned short us = 65535;
	signed char sc = -1;
	char c = 'x';
	long l = -5;
	const unsigned long ul = 6;
	long long ll = -7;
	unsigned u = 4000000000u;
	volatile int v = 4;
	char written[4];

	(void)argv;
	{
		SPAN_SCOPE_ARGS(app, one, n, watched(argc));
		SPAN_SCOPE_ARGS(app, two, n, 2, text, text);
		SPAN_NEW_ARGS(app, three, argc + 8, a, -argc, b, -2, c, -3);
		SPAN_EVENT_ARGS(app, four, e, kind, uc, uc, flag, flag, literal, "lit");
		SPAN_EVENT_ARGS(app, small, sh, sh, us, us, sc, sc, c, c);
		SPAN_EVENT_ARGS(app, large, l, l, ul, ul, ll, ll, u, u);
		SPAN_EVENT_ARGS(app, odd, bits, r.bits, array, r.array, ptr, &r.array[0], v, v);
		/* Only the tracer reads this one: the stores must be made all the same. */
		written[0] = 'y';
		written[1] = 'e';
		written[2] = 's';
		written[3] = '\0';
		SPAN_EVENT_ARGS(app, written, text, written);
	}
	return evaluated;
}
