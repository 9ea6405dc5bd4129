/* SPDX-License-Identifier: MIT */
/* Parts of the model in the words of the JSON schema, the same for totals and for single spans. */
#ifndef SPANTRACE_JSONW_MODEL_H
#define SPANTRACE_JSONW_MODEL_H

#include "../include/model.h"
#include "chain.h"
#include "jsonw.h"

/* "pid" and "tid" of THREAD, and "nspid" where that is another number than pid. */
void jsonw_thread_ids(struct jsonw *w, const struct model_thread *thread);
/* The same and "comm". */
void jsonw_thread(struct jsonw *w, const struct model_thread *thread);
/* "path": an array of its frames, the outermost first. C is scratch. 0 or -ENOMEM. */
int jsonw_path(struct jsonw *w, struct chain *c, const struct model_path *path);
/* "labels": an object of N. */
void jsonw_labels(struct jsonw *w, const struct model_label *labels, u32 n);

#endif
