/* SPDX-License-Identifier: MIT */
/* Labels in the loader: the keys of each site, the texts that names on the wire stand for. See trace.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "trace.h"
#include "trace_impl.h"

int trace_add_site(struct trace *trace, u32 number, const char *const *keys, u32 n, u32 strings)
{
	AUTO_FREE struct trace_site *site = calloc(1, sizeof(*site));
	u32 i;

	if (!site || intmap_find(&trace->sites, number))
		return site ? 0 : -ENOMEM;
	site->n = n < LABELS_MAX ? n : LABELS_MAX;
	site->strings = strings;
	for (i = 0; i < site->n; i++) {
		site->keys[i] = strpool_add(trace->strings, keys[i], strlen(keys[i]));
		if (!site->keys[i])
			return -ENOMEM;
	}
	if (intmap_set(&trace->sites, number, site))
		return -ENOMEM;
	(void)TAKE_PTR(site);
	return 0;
}

void trace_split_by(struct trace *trace, const char *const *keys, size_t n)
{
	trace->by = keys;
	trace->nby = n < MODEL_MAX_LABELS ? n : MODEL_MAX_LABELS;
}

void trace_ask_more(struct trace *trace, void (*more)(void *context), void *context)
{
	trace->more = more;
	trace->more_context = context;
}

void trace_add_text(struct trace *trace, const struct wire_string *record)
{
	size_t size = record->length < STRING_MAX - 1 ? record->length : STRING_MAX - 1;
	size_t length = strnlen(record->text, size);
	char *text;

	if (intmap_find(&trace->texts, record->name))
		return;
	text = strpool_add(trace->strings, record->text, length);
	if (!text || intmap_set(&trace->texts, record->name, text))
		trace->no_memory++;
}

const char *trace_text(struct trace *trace, u64 name)
{
	void **found;

	switch (name) {
	case WIRE_STRING_NULL:
		return "<null>";
	case WIRE_STRING_UNREADABLE:
		return "<unreadable>";
	case WIRE_STRING_LOST:
		return "<lost>";
	case WIRE_STRING_OTHER:
		return "(other names)";
	}
	found = intmap_find(&trace->texts, name);
	if (!found && trace->more) {
		trace->more(trace->more_context);
		found = intmap_find(&trace->texts, name);
	}
	return found ? *found : "<lost>";
}

int trace_name_def(struct trace *trace, u32 def, const char *prefix)
{
	if (!*prefix || intmap_find(&trace->prefixes, def))
		return 0;
	prefix = strpool_add(trace->strings, prefix, strlen(prefix));
	if (!prefix || intmap_set(&trace->prefixes, def, (void *)prefix))
		return -ENOMEM;
	return 0;
}

const char *trace_own_name(struct trace *trace, u32 def, u64 name)
{
	const char *text = trace_text(trace, name);
	void **prefix = intmap_find(&trace->prefixes, def);
	AUTO_FREE char *whole = NULL;
	int length;

	if (!prefix)
		return trace_keep_text(trace, text, strlen(text));
	length = asprintf(&whole, "%s%s", (const char *)*prefix, text);
	if (length < 0) {
		whole = NULL;
		return NULL;
	}
	return trace_keep_text(trace, whole, (size_t)length);
}

u32 trace_labels(struct trace *trace, u32 number, const u64 values[LABELS_MAX],
		 struct model_label labels[MODEL_MAX_LABELS])
{
	void **found = intmap_find(&trace->sites, number);
	const struct trace_site *site;
	u32 i;

	if (!found)
		return 0;
	site = *found;
	for (i = 0; i < site->n; i++)
		labels[i] = (struct model_label){
			.key = site->keys[i],
			.text = site->strings >> i & 1 ? trace_text(trace, values[i]) : NULL,
			.number = (s64)values[i],
		};
	return site->n;
}

static const char *const id_keys[IDS] = {"trace_id", "span_id"};

u8 trace_id_number(const char *key)
{
	for (u8 i = 0; i < IDS; i++)
		if (strcmp(key, id_keys[i]) == 0)
			return i + 1;
	return 0;
}

u32 trace_inherited(struct trace *trace, const struct wire_ids *ids, struct model_label labels[IDS])
{
	u32 n = 0;

	for (u32 i = 0; i < IDS; i++) {
		if (!(ids->kinds & WIRE_ID(i)))
			continue;
		labels[n++] = (struct model_label){
			.key = id_keys[i],
			.text = ids->kinds & WIRE_ID_TEXT(i) ? trace_text(trace, ids->values[i])
							     : NULL,
			.number = (s64)ids->values[i],
		};
	}
	return n;
}
