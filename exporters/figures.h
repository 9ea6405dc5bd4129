/* SPDX-License-Identifier: MIT */
/* Numbers as people read them: three significant digits and a unit. The same in every locale. */
#ifndef SPANTRACE_FIGURES_H
#define SPANTRACE_FIGURES_H

#include "exporter.h"

#define FIGURES_SIZE 40

/* Each writes into BUF and returns it. */
const char *figures_time(char buf[FIGURES_SIZE], u64 ns);               /* "12.3 ms" */
const char *figures_bytes(char buf[FIGURES_SIZE], u64 bytes);           /* "1.50 MiB" */
const char *figures_count(char buf[FIGURES_SIZE], u64 count);           /* "1,234,567" */
const char *figures_signed(char buf[FIGURES_SIZE], s64 value);          /* "-1,234" */
const char *figures_share(char buf[FIGURES_SIZE], u64 part, u64 whole); /* "12.3 %" */
const char *figures_sample(char buf[FIGURES_SIZE], u32 ppb); /* "0.5 %": profile.sample_ppb */
const char *figures_value(char buf[FIGURES_SIZE], enum export_value value, u64 amount);

#endif
