/* SPDX-License-Identifier: MIT */
/* What the JSON of report, diff and aggregate has in common. */
#ifndef SPANTRACE_REPORT_JSON_H
#define SPANTRACE_REPORT_JSON_H

#include "../../exporters/jsonw.h"
#include "report_rows.h"

/* Opens the object and says what follows. */
void report_json_head(struct jsonw *w, const struct report_keys *keys, const char *counter);
void report_json_files(struct jsonw *w, const char *key, char *const *paths, size_t n);
/* "name", or "path". 0 or -ENOMEM. */
int report_json_key(struct jsonw *w, const struct report_keys *keys, u32 id);
void report_json_losses(struct jsonw *w, const struct report_rows *rows);

#endif
