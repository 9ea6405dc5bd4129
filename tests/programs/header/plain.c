/* SPDX-License-Identifier: MIT */
/* Every macro without labels, in C.
 *
 * What tests/unit/test_header.sh expects is in each source's own comment: after `markers:` each
 * marker, the size of its arguments (negative: signed), `semaphore` if it has one and its keys; after
 * `trace:` the markers in the order in which a run fires them, with the arguments' values.
 *
 * markers:
 *   app:run__enter
 *   app:run__exit
 *   app:job__new 8 8
 *   app:job__enter 8
 *   app:job__exit 8
 *   app:job__close 8
 *   app:tick
 *   app:level -8 keys value
 *   app:block__enter
 *   app:block__exit
 *
 * trace:
 *   app:run__enter
 *   app:block__enter
 *   app:job__new 7 0
 *   app:job__new 8 7
 *   app:job__enter 8
 *   app:tick
 *   app:level -3
 *   app:level 65535
 *   app:job__exit 8
 *   app:job__close 8
 *   app:job__close 18446744073709551615
 *   app:block__exit
 *   app:run__exit
 */
#include <spantrace.h>

int main(int argc, char **argv)
{
	unsigned long long id = (unsigned long long)argc + 6;
	signed char minus_one = (signed char)-argc;
	unsigned short most = (unsigned short)(65534 + argc);

	(void)argv;
	SPAN_ENTER(app, run);
	{
		SPAN_SCOPE(app, block);
		SPAN_NEW(app, job, id);
		SPAN_NEW_UNDER(app, job, id + 1, id);
		SPAN_ENTER_ID(app, job, id + 1);
		SPAN_EVENT(app, tick);
		SPAN_EVENT_VALUE(app, level, -3);
		SPAN_EVENT_VALUE(app, level, most);
		SPAN_EXIT_ID(app, job, id + 1);
		SPAN_CLOSE(app, job, id + 1);
		SPAN_CLOSE(app, job, minus_one);
	}
	SPAN_EXIT(app, run);
	return 0;
}
