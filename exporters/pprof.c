/* SPDX-License-Identifier: MIT */
/* Profiles for pprof and everything that reads its files: gzip of the message that pprof_encode.c makes. One file with all
 * sample types, or with `split=1` one for each family of them, as tracing-prof writes. */
#include "formats.h"

#include <errno.h>

#include "gzip.h"
#include "pprof_encode.h"

static int pprof_finish(struct exporter *e, const struct profile *profile)
{
	enum pprof_family family = e->options.split ? (enum pprof_family)e->file : PPROF_ALL;
	AUTO_TEXT message = {0}, packed = {0};
	size_t nsamples;
	int err = pprof_encode(profile, family, PPROF_LABELS, &message, &nsamples);

	if (!err && !nsamples && e->options.interval_ns)
		return -ENODATA;
	if (!err)
		err = gzip_add(&packed, message.data, message.len);
	if (!err)
		fwrite(packed.data, 1, packed.len, e->out);
	return err;
}

static const char *pprof_file(const struct exporter *e, u32 metrics, u32 file)
{
	if (!e->options.split)
		return file ? NULL : pprof_family_name(PPROF_ALL);
	if (file >= PPROF_FAMILIES)
		return NULL;
	return pprof_family_measured(metrics, (enum pprof_family)file)
		       ? pprof_family_name((enum pprof_family)file)
		       : "";
}

static const char *const pprof_keys[] = {"split", NULL};

const struct exporter_ops exporter_pprof = {
	.name = "pprof",
	.extension = ".pb.gz",
	.keys = pprof_keys,
	.binary = true,
	.file = pprof_file,
	.finish = pprof_finish,
};
