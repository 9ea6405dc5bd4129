/* SPDX-License-Identifier: MIT */
/* See jsonw_model.h. */
#include "jsonw_model.h"

#include <string.h>

void jsonw_thread_ids(struct jsonw *w, const struct model_thread *thread)
{
	jsonw_u64(w, "pid", thread->pid);
	if (thread->nspid && thread->nspid != thread->pid)
		jsonw_u64(w, "nspid", thread->nspid);
	jsonw_u64(w, "tid", thread->tid);
}

void jsonw_thread(struct jsonw *w, const struct model_thread *thread)
{
	char comm[MODEL_COMM_LEN + 1] = {0};

	memcpy(comm, thread->comm, MODEL_COMM_LEN);
	jsonw_thread_ids(w, thread);
	jsonw_string(w, "comm", comm);
}

int jsonw_path(struct jsonw *w, struct chain *c, const struct model_path *path)
{
	int err;

	for (c->n = 0; path && path->def; path = path->parent) {
		err = chain_push(c, path);
		if (err)
			return err;
	}
	jsonw_array(w, "path", JSONW_INLINE);
	while ((path = chain_pop(c)))
		jsonw_string_pair(w, NULL, path->def->provider,
				  path->name ? path->name : path->def->name);
	jsonw_end(w);
	return 0;
}

void jsonw_labels(struct jsonw *w, const struct model_label *labels, u32 n)
{
	jsonw_object(w, "labels", JSONW_INLINE);
	for (u32 i = 0; i < n; i++) {
		if (labels[i].text)
			jsonw_string(w, labels[i].key, labels[i].text);
		else
			jsonw_s64(w, labels[i].key, labels[i].number);
	}
	jsonw_end(w);
}
