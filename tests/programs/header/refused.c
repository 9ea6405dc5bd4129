/* SPDX-License-Identifier: MIT */
/* What must not compile, one CASE at a time, each with a part of the message that says so. Compiled
 * as C and as C++.
 *
 * refused:
 *   1 a label.{1,2}s value is an integer or a C string
 *   2 a label.{1,2}s value is an integer or a C string
 *   3 labels are one to four pairs
 *   4 labels are one to four pairs
 *   5 does not give a valid preprocessing token|pasting formed
 */
#include <spantrace.h>

int main(void)
{
	static const double fraction = 1.5;
	static const int number = 5;
	const int *pointer = &number;

	(void)fraction;
	(void)pointer;
#if CASE == 1
	SPAN_EVENT_ARGS(app, bad, value, fraction);
#elif CASE == 2
	SPAN_EVENT_ARGS(app, bad, value, pointer);
#elif CASE == 3
	SPAN_EVENT_ARGS(app, bad, value);
#elif CASE == 4
	SPAN_EVENT_ARGS(app, bad, a, 1, b, 2, c, 3, d, 4, e, 5);
#elif CASE == 5
	SPAN_EVENT("app", bad);
#endif
	return 0;
}
