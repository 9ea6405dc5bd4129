/* SPDX-License-Identifier: MIT */
/* Prints messages to people; see log.h. */
#include "log.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum log_level log_threshold = LOG_WARN;
static const char *place;
static unsigned place_line;
static bool to_journal;

void log_set_place(const char *file, unsigned line)
{
	place = file;
	place_line = line;
}

void log_find_journal(void)
{
	/* Who runs the service says which file the journal's stream is; stderr may have been sent elsewhere since. */
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, inode;
	struct stat status;
	char end;

	to_journal = stream && sscanf(stream, "%llu:%llu%c", &dev, &inode, &end) == 2 &&
		     fstat(STDERR_FILENO, &status) == 0 && status.st_dev == dev &&
		     status.st_ino == inode;
}

void log_at(enum log_level level, const char *format, ...)
{
	static const char *const prefix[] = {"", "", "warning: ", "", "debug: "};
	static const int priority[] = {3, 5, 4, 6, 7}; /* syslog's */
	char line[4096];
	int used = 0;
	va_list args;
	char *c;

	if (level > log_threshold)
		return;
	if (place)
		used = snprintf(line, sizeof(line), "%s:%u: ", place, place_line);
	if (used < 0 || (size_t)used >= sizeof(line))
		used = 0;
	va_start(args, format);
	vsnprintf(line + used, sizeof(line) - (size_t)used, format, args);
	va_end(args);
	for (c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	if (to_journal)
		fprintf(stderr, "<%d>%s\n", priority[level], line);
	else
		fprintf(stderr, "spantrace: %s%s\n", prefix[level], line);
}
