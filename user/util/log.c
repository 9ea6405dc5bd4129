/* SPDX-License-Identifier: MIT */
/* Prints messages to people; see log.h. */
#include "log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

enum log_level log_threshold = LOG_WARN;

void log_at(enum log_level level, const char *format, ...)
{
	static const char *const prefix[] = {"", "", "warning: ", "", "debug: "};
	char line[4096];
	va_list args;
	char *c;

	if (level > log_threshold)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	fprintf(stderr, "spantrace: %s%s\n", prefix[level], line);
}
