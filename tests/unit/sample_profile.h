/* SPDX-License-Identifier: MIT */
/* A small profile made by hand, with every kind of row; the exporters' tests know its numbers.
 *
 *   traced for 10 s, from 1 s to 11 s
 *   web-100     seen 10 s, 4 s inside spans
 *     app:outer          4 finished (1 abandoned), 4 s busy, 3 s of them self, 2 s on CPU
 *       app:inner        10 finished, 1 s busy
 *   worker-101  seen 4 s, 1.5 s inside spans
 *     app:outer          1 finished, 1 open, 1 s busy
 *     app:job GET /cart  async: 1 finished, 3 s wall, 0.5 s busy
 */
#ifndef SPANTRACE_SAMPLE_PROFILE_H
#define SPANTRACE_SAMPLE_PROFILE_H

#include "../../exporters/exporter.h"
#include "../../user/util/histogram.h"

enum { SAMPLE_OUTER, SAMPLE_INNER, SAMPLE_WORKER_OUTER, SAMPLE_JOB, SAMPLE_NROWS };
enum { SAMPLE_ROOT_PATH, SAMPLE_OUTER_PATH, SAMPLE_INNER_PATH, SAMPLE_JOB_PATH, SAMPLE_NPATHS };

/* The parts may be changed before the profile is used: it points to them. */
struct sample {
	struct profile profile;
	struct model_def outer, inner, job, tick, bytes;
	struct model_path paths[SAMPLE_NPATHS];
	struct model_thread web, worker;
	struct model_thread_row threads[2];
	struct model_row rows[SAMPLE_NROWS];
	struct histogram *durations[SAMPLE_NROWS];
	struct model_event_row events[2];
	struct model_loss losses[2];
	struct model_refused refused[1];
};

struct sample *sample_new(void);
void sample_free(struct sample *s);

/* What format NAME makes of PROFILE, NUL-terminated, to be freed; fails the test on an error. */
char *sample_export(const char *name, const struct profile *profile,
		    const struct export_options *options);
/* The same for options that may not work: the exporter's own result in *ERR, NULL when it
 * failed. */
char *sample_try_export(const char *name, const struct profile *profile,
			const struct export_options *options, int *err);

#endif
