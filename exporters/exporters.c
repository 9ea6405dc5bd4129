/* SPDX-License-Identifier: MIT */
/* The table of formats, and how a name or a path finds its own. A new format is its file and a line
 * here. */
#include "formats.h"

#include <string.h>

/* In the order that help prints them. */
const struct exporter_ops *const exporters_all[] = {
	&exporter_summary,
	&exporter_json,
	&exporter_folded,
	&exporter_flamegraph,
	&exporter_flamechart,
	&exporter_html,
	&exporter_chrome,
	&exporter_perfetto,
	&exporter_recording,
	&exporter_mm_profdata,
	&exporter_pprof,
	&exporter_otlp,
	NULL,
};

static size_t matched(const char *path, const char *ending)
{
	size_t plen = strlen(path), elen = strlen(ending);

	return plen >= elen && !strcmp(path + plen - elen, ending) ? elen : 0;
}

const struct exporter_ops *exporter_by_name(const char *name)
{
	for (size_t i = 0; exporters_all[i]; i++) {
		if (!strcmp(exporters_all[i]->name, name))
			return exporters_all[i];
	}
	return NULL;
}

void export_options_settle(const struct exporter_ops *ops, struct export_options *o,
			   const char *path, bool is_url)
{
	if (ops == &exporter_otlp && o->encoding == EXPORT_ENCODING_BY_PATH)
		o->encoding = is_url || matched(path, ".pb") ? EXPORT_ENCODING_PROTOBUF
							     : EXPORT_ENCODING_JSON;
}

const struct exporter_ops *exporter_by_path(const char *path)
{
	const struct exporter_ops *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; exporters_all[i]; i++) {
		const char *extension = exporters_all[i]->extension;
		size_t len = extension ? matched(path, extension) : 0;

		if (len > longest) {
			longest = len;
			best = exporters_all[i];
		}
	}
	return best;
}
