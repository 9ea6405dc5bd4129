/* SPDX-License-Identifier: MIT */
/* Spans with labels of every kind.
 *
 *   labels N
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spantrace.h"

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 60;
	char kind[16], task[16], name[32], huge[1000];
	char empty[1] = "";
	const char *odd[4] = {empty, NULL, (const char *)16, huge};

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	for (int i = 0; i < n; i++) {
		snprintf(kind, sizeof(kind), "kind %d", i % 3);
		snprintf(task, sizeof(task), "task %d", i % 2);
		snprintf(name, sizeof(name), "number %d", i);

		SPAN_ENTER_ARGS(labels, work, kind, kind, turn, i % 4 - 2, pair, i, again, kind);
		SPAN_ENTER(labels, inner);
		SPAN_EXIT(labels, inner);
		SPAN_EXIT(labels, work);

		SPAN_NEW_ARGS(labels, job, (unsigned long)i + 1, task, task);
		SPAN_ENTER_ID(labels, job, (unsigned long)i + 1);
		SPAN_EXIT_ID(labels, job, (unsigned long)i + 1);
		SPAN_CLOSE(labels, job, (unsigned long)i + 1);

		SPAN_ENTER_ARGS(labels, strange, odd, odd[i % 4]);
		SPAN_EXIT(labels, strange);

		SPAN_ENTER_ARGS(labels, named, name, name);
		SPAN_EXIT(labels, named);
	}
	return 0;
}
