/* SPDX-License-Identifier: MIT */
/* Numbers as people read them: three significant digits and a unit. The same in every locale. */
#ifndef SPANTRACE_UNITS_H
#define SPANTRACE_UNITS_H

#include "exporter.h"

#define UNITS_SIZE 40

/* Each writes into BUF and returns it. */
const char *units_time(char buf[UNITS_SIZE], u64 ns);               /* "12.3 ms" */
const char *units_bytes(char buf[UNITS_SIZE], u64 bytes);           /* "1.50 MiB" */
const char *units_count(char buf[UNITS_SIZE], u64 count);           /* "1,234,567" */
const char *units_signed(char buf[UNITS_SIZE], s64 value);          /* "-1,234" */
const char *units_share(char buf[UNITS_SIZE], u64 part, u64 whole); /* "12.3 %" */
const char *units_value(char buf[UNITS_SIZE], enum export_value value, u64 amount);

#endif
