/* SPDX-License-Identifier: MIT */
/* Options that report, diff and aggregate share: each takes the text of one. 0, or -EINVAL with the message printed. */
#ifndef SPANTRACE_REPORT_OPTIONS_H
#define SPANTRACE_REPORT_OPTIONS_H

#include "report_keys.h"

#define REPORT_OPTION_BY                                                                 \
	{                                                                                \
		'b', "by", "KEY", "add up by name (default), path, thread or process", 0 \
	}
#define REPORT_OPTION_TOP                                    \
	{                                                    \
		'n', "top", "N", "the first N items only", 0 \
	}

int report_take_by(enum report_by *out, const char *text);
int report_take_top(u64 *out, const char *text);
/* "5", "2.5%": 0 to MOST percent. */
int report_take_percent(double *out, const char *option, double most, const char *text);
/* The end of the command NAME: says what -ENOMEM is, and whether stdout took everything. ERR, or an error of that. */
int report_finish(const char *name, int err);

#endif
