/* SPDX-License-Identifier: MIT */
/* See mmprofdata_forward.h. */
#include "mmprofdata_forward.h"

#include <errno.h>
#include <stdlib.h>

#include "../util/ahead.h"
#include "../util/cleanup.h"

#define BATCH 2048u

struct batch {
	struct mmp_nested *items; /* room for BATCH, or for as many as the file has */
	u32 n;
	int err;
	bool last;
};

struct mmp_forward {
	struct ahead *ahead;
	bool ended; /* the last batch was used */

	/* Of whoever makes batches. */
	struct mmp_file *file;
	struct mmp_nest *nest;
	u64 at;
	struct batch batches[AHEAD_BATCHES];
};

static int forward_one(struct mmp_forward *f, u64 at, struct mmp_nested *out)
{
	u64 value = 0;
	int err = mmp_nest_get(f->nest, at, out);

	out->has_value = false;
	if (err || !f->file->own || out->event.value2 != MMP_INSTANT || !out->path)
		return err;
	err = mmp_file_value_behind(f->file, out->number, &out->event, &value);
	out->has_value = err > 0;
	out->value = value;
	return err < 0 ? err : 0;
}

static int batch_room(struct batch *batch, u64 most)
{
	if (!batch->items)
		batch->items = calloc(most < BATCH ? most + 1 : BATCH, sizeof(*batch->items));
	return batch->items ? 0 : -ENOMEM;
}

static bool forward_make(void *context, u32 place)
{
	struct mmp_forward *f = context;
	struct batch *batch = &f->batches[place];
	u64 end = f->file->nevents;

	batch->err = batch_room(batch, end);
	for (batch->n = 0; !batch->err && batch->n < BATCH && f->at < end; batch->n++)
		batch->err = forward_one(f, f->at++, &batch->items[batch->n]);
	batch->last = batch->err || f->at == end;
	return !batch->last;
}

int mmp_forward_new(struct mmp_file *file, struct mmp_nest *nest, struct mmp_forward **out)
{
	CLEANUP(mmp_forward_free) struct mmp_forward *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->file = file;
	f->nest = nest;
	if (ahead_new(forward_make, f, &f->ahead))
		return -ENOMEM;
	*out = TAKE_PTR(f);
	return 0;
}

void mmp_forward_free(struct mmp_forward **out)
{
	struct mmp_forward *f = *out;

	if (!f)
		return;
	*out = NULL;
	ahead_free(&f->ahead);
	for (u32 i = 0; i < AHEAD_BATCHES; i++)
		free(f->batches[i].items);
	free(f);
}

int mmp_forward_next(struct mmp_forward *f, const struct mmp_nested **items, u32 *n)
{
	const struct batch *batch;

	if (f->ended)
		return 0;
	batch = &f->batches[ahead_next(f->ahead)];
	f->ended = batch->last;
	*items = batch->items;
	*n = batch->n;
	return batch->err ? batch->err : 1;
}
