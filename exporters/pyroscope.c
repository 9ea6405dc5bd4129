/* SPDX-License-Identifier: MIT */
/* See pyroscope.h. The messages are grafana/pyroscope's api/push/v1/push.proto. */
#include "pyroscope.h"

#include <errno.h>

#include "protobuf.h"

/* Fields of the messages. */
enum { REQUEST_SERIES = 1 };
enum { SERIES_LABEL = 1, SERIES_SAMPLE };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { SAMPLE_PROFILE = 1, SAMPLE_ID };

static const char *const names[PPROF_FAMILIES] = {
	[PPROF_WALL] = "wall",
	[PPROF_CPU] = "process_cpu",
	[PPROF_ALLOC] = "memory",
	[PPROF_HEAP] = "memory",
};

static void put_label(struct text_buf *out, const char *name, const char *value)
{
	size_t at = protobuf_open(out, SERIES_LABEL);

	protobuf_string(out, LABEL_NAME, name);
	protobuf_string(out, LABEL_VALUE, value);
	protobuf_close(out, at);
}

int pyroscope_encode(const struct profile *profile, enum pprof_family family,
		     const struct pyroscope_label *labels, size_t n, const char *id,
		     struct text_buf *out, size_t *nsamples, size_t *bytes)
{
	size_t series = protobuf_open(out, REQUEST_SERIES), sample, raw, before;
	int err;

	put_label(out, "__name__", names[family]);
	for (size_t i = 0; i < n; i++)
		if (*labels[i].value) /* servers take that for none */
			put_label(out, labels[i].name, labels[i].value);
	sample = protobuf_open(out, SERIES_SAMPLE);
	raw = protobuf_open(out, SAMPLE_PROFILE);
	before = out->len;
	err = pprof_encode(profile, family, 0, out, nsamples);
	*bytes = out->len - before;
	protobuf_close(out, raw);
	protobuf_string(out, SAMPLE_ID, id);
	protobuf_close(out, sample);
	protobuf_close(out, series);
	return err || out->failed ? -ENOMEM : 0;
}
