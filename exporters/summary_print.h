/* SPDX-License-Identifier: MIT */
/* What the parts of the summary share: text set into columns, and the parts that print events and memory. */
#ifndef SPANTRACE_SUMMARY_PRINT_H
#define SPANTRACE_SUMMARY_PRINT_H

#include "exporter.h"

#define SUMMARY_GAP      2  /* columns between columns */
#define SUMMARY_MIN_NAME 16 /* a name's column does not get narrower */

#define SUMMARY_BOLD   "\033[1m"
#define SUMMARY_YELLOW "\033[33m"
#define SUMMARY_PLAIN  "\033[0m"

/* STYLE where the options ask for colour. */
void summary_put_style(const struct export_options *o, FILE *out, const char *style);
void summary_put_spaces(FILE *out, unsigned n);
/* Safe text, cut with an ellipsis where it takes more than WIDTH columns; returns those it took. */
unsigned summary_put_cut(FILE *out, const char *text, unsigned width);
/* The same, filled up to WIDTH. */
void summary_put_padded(FILE *out, const char *text, unsigned width);
/* Text that fits, at the right of WIDTH columns. */
void summary_put_right(FILE *out, const char *text, unsigned width);
/* Any text, made safe. */
void summary_put_safe(FILE *out, const char *text);

/* What stands in the place of a span's name where there is none. */
#define SUMMARY_OUTSIDE "(outside spans)"

int summary_print_memory(struct exporter *e, const struct profile *profile);
int summary_print_events(struct exporter *e, const struct profile *profile);

#endif
