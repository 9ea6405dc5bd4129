/* SPDX-License-Identifier: MIT */
/* What the page of the format `html` shows, as data: text that HTML cannot take for its own, whatever names hold. */
#ifndef SPANTRACE_HTML_DATA_H
#define SPANTRACE_HTML_DATA_H

#include "timeline.h"

/* The totals as JSON: run, tree of spans, stacks by every value that was measured, events, losses, tracks of the timeline.
 * Without '<'. 0 or -ENOMEM. */
int html_write_totals(const struct profile *profile, const struct timeline *timeline,
		      const struct export_options *options, FILE *out);

/* The items of all lanes in base64: for each the start, less the one before it on its lane; the length, shifted left by
 * one, with bit 0 for several spans together; the label; for those also how many, their busy time and the longest; all of
 * these varints. Of events that stand alone, in place of these last, their value: 0 for none, else one more than twice it
 * or, of a negative one, twice what is below it. If CPU time was measured, then a byte, but for events: the share of busy time on the CPU in 1/255. */
void html_write_items(const struct timeline *timeline, bool cpu, FILE *out);

#endif
