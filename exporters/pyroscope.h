/* SPDX-License-Identifier: MIT */
/* Profiles as Pyroscope's Push API takes them: message push.v1.PushRequest, of one series with one profile of one family. A
 * family goes under the name that Grafana's own profile types have: wall, process_cpu, memory. */
#ifndef SPANTRACE_PYROSCOPE_H
#define SPANTRACE_PYROSCOPE_H

#include "pprof_encode.h"

#define PYROSCOPE_PATH "/push.v1.PusherService/Push"
#define PYROSCOPE_TYPE "application/proto"

/* What the server refuses is larger; these stay below it. */
#define PYROSCOPE_SAMPLES_MAX 16000u
#define PYROSCOPE_BYTES_MAX   (1900u << 10)

struct pyroscope_label {
	const char *name;
	const char *value;
};

/* Adds the request to OUT: FAMILY of PROFILE, of whose threads nothing is told, under N LABELS. ID is the profile's own, a
 * UUID in text. *NSAMPLES is how many samples it has, *BYTES the profile's size. 0 or -ENOMEM. */
int pyroscope_encode(const struct profile *profile, enum pprof_family family,
		     const struct pyroscope_label *labels, size_t n, const char *id,
		     struct text_buf *out, size_t *nsamples, size_t *bytes);

#endif
