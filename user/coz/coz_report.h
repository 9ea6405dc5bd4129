/* SPDX-License-Identifier: MIT */
/* What a profile says, for people (table), for programs (JSON) and as a picture (SVG, HTML). */
#ifndef SPANTRACE_COZ_REPORT_H
#define SPANTRACE_COZ_REPORT_H

#include "../../exporters/text.h"
#include "coz_profile.h"

#define COZ_SHOWN 10 /* lines for each point, where --top says nothing else */

/* Each prints at most TOP lines for a point, all for 0. 0 or -ENOMEM. */
int coz_print(const struct coz_profile *profile, u64 top, FILE *out);
int coz_print_json(const struct coz_profile *profile, FILE *out);
/* A picture as an SVG document; with HTML, a page around it that has the table too. Points without experiments are left
 * out. 0 or -ENOMEM. */
int coz_draw(const struct coz_profile *profile, u64 top, bool html, FILE *out);

/* "throughput", "latency" */
const char *coz_point_kind_name(enum coz_point_kind kind);

#endif
