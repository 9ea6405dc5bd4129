/* SPDX-License-Identifier: MIT */
/* See report_options.h. */
#include "report_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/log.h"

int report_take_by(enum report_by *out, const char *text)
{
	static const char *const names[] = {"name", "path", "thread", "process"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*out = (enum report_by)i;
			return 0;
		}
	}
	log_error("--by: \"%s\" is none of name, path, thread, process", text);
	return -EINVAL;
}

int report_take_top(u64 *out, const char *text)
{
	char *end;
	u64 n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || !n) {
		log_error("--top: \"%s\" is not a number of items; write 10", text);
		return -EINVAL;
	}
	*out = n;
	return 0;
}

int report_take_percent(double *out, const char *option, double most, const char *text)
{
	char *end;
	double percent;

	errno = 0;
	percent = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || errno || (*end && strcmp(end, "%") != 0) ||
	    !(percent <= most)) {
		log_error("%s: \"%s\" is not a percentage; write 5%% or 2.5%%", option, text);
		return -EINVAL;
	}
	*out = percent;
	return 0;
}

int report_finish(const char *name, int err)
{
	if (err == -ENOMEM)
		log_error("%s: out of memory", name);
	if (!err && (fflush(stdout) || ferror(stdout))) {
		err = -errno;
		log_error("%s: cannot write to stdout: %s", name, strerror(-err));
	}
	return err;
}
