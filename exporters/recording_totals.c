/* SPDX-License-Identifier: MIT */
/* See recording_totals.h. */
#include "recording_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../user/util/intmap.h"
#include "../user/util/varint.h"

#define NUMBERS RECORDING_ROW_NUMBERS
#define SUMS \
	RECORDING_ROW_INUSE_OBJECTS /* numbers below it are sums, the others how much there is */

struct kept {
	u64 now[SUMS];    /* of the whole trace */
	u64 before[SUMS]; /* of that, what earlier files have told */
	u64 told[NUMBERS];
};

struct recording_totals {
	struct intmap rows; /* thread's serial, path's id ▸ struct kept */
};

void recording_put(struct text_buf *b, u64 value)
{
	u8 bytes[VARINT_MAX];

	text_add(b, (const char *)bytes, (size_t)(varint_put(bytes, value) - bytes));
}

void recording_put_text(struct text_buf *b, const char *text)
{
	size_t length = strnlen(text, RECORDING_TEXT_MAX);

	recording_put(b, length);
	text_add(b, text, length);
}

static void put_numbers(struct text_buf *b, const u64 *numbers, size_t n)
{
	u64 mask = 0;
	size_t i;

	for (i = 0; i < n; i++)
		mask |= (u64) !!numbers[i] << i;
	recording_put(b, mask);
	for (i = 0; i < n; i++)
		if (numbers[i])
			recording_put(b, numbers[i]);
}

int recording_totals_new(struct recording_totals **out)
{
	struct recording_totals *totals = calloc(1, sizeof(*totals));

	if (!totals)
		return -ENOMEM;
	*out = totals;
	return 0;
}

void recording_totals_free(struct recording_totals **out)
{
	struct recording_totals *totals = *out;
	size_t i;

	if (!totals)
		return;
	*out = NULL;
	for (i = 0; i < totals->rows.capacity; i++)
		free(totals->rows.slots[i].value);
	intmap_free(&totals->rows);
	free(totals);
}

void recording_totals_restart(struct recording_totals *totals)
{
	size_t i;

	for (i = 0; i < totals->rows.capacity; i++) {
		struct kept *kept = totals->rows.slots[i].value;

		if (!kept)
			continue;
		memcpy(kept->before, kept->now, sizeof(kept->before));
		memset(kept->told, 0, sizeof(kept->told));
	}
}

static bool has_memory(const struct profile *profile)
{
	return profile->metrics & (METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP);
}

int recording_totals_names(struct recording_encoder *encoder, const struct profile *profile)
{
	char comm[MODEL_COMM_LEN + 1] = "";
	u32 number;
	int err = 0;
	size_t i;

	for (i = 0; i < profile->nthreads && !err; i++) {
		memcpy(comm, profile->threads[i].thread->process_comm, MODEL_COMM_LEN);
		if (comm[0])
			err = recording_encode_text(encoder, comm, &number);
	}
	for (i = 0; has_memory(profile) && i < profile->nrows && !err; i++) {
		err = recording_encode_thread(encoder, profile->rows[i].thread, &number);
		if (!err)
			err = recording_encode_path(encoder, profile->rows[i].path, &number);
	}
	return err;
}

/* Adds the numbers of ROW: rows that labels tell apart are one here. */
static void add_row(const struct model_row *row, u64 numbers[NUMBERS])
{
	numbers[RECORDING_ROW_ALLOC_OBJECTS] += row->alloc_objects;
	numbers[RECORDING_ROW_ALLOC_BYTES] += row->alloc_bytes;
	numbers[RECORDING_ROW_MAP_CALLS] += row->map_calls;
	numbers[RECORDING_ROW_MAP_BYTES] += row->map_bytes;
	numbers[RECORDING_ROW_UNMAP_CALLS] += row->unmap_calls;
	numbers[RECORDING_ROW_UNMAP_BYTES] += row->unmap_bytes;
	numbers[RECORDING_ROW_INUSE_OBJECTS] += row->inuse_objects;
	numbers[RECORDING_ROW_INUSE_BYTES] += row->inuse_bytes;
	numbers[RECORDING_ROW_LEAK_OBJECTS] += row->leak_objects;
	numbers[RECORDING_ROW_LEAK_BYTES] += row->leak_bytes;
	if (row->leak_oldest_ns > numbers[RECORDING_ROW_LEAK_OLDEST_NS])
		numbers[RECORDING_ROW_LEAK_OLDEST_NS] = row->leak_oldest_ns;
}

/* What was kept of ROW, made of NUMBERS if it is new and there are any. 0 or -ENOMEM; *OUT is NULL where there is nothing
 * to tell. */
static int find_kept(struct recording_totals *totals, const struct model_row *row,
		     const u64 numbers[NUMBERS], struct kept **out)
{
	u64 key = (u64)row->thread->serial << 32 | row->path->id, any = 0;
	void **found = intmap_find(&totals->rows, key);
	struct kept *kept = found ? *found : NULL;
	int i;

	*out = kept;
	for (i = 0; i < NUMBERS; i++)
		any |= numbers[i];
	if (kept || !any)
		return 0;
	kept = calloc(1, sizeof(*kept));
	if (!kept || intmap_set(&totals->rows, key, kept)) {
		free(kept);
		return -ENOMEM;
	}
	*out = kept;
	return 0;
}

/* Makes of NUMBERS, of the whole trace, those of the file. False: they are told already. */
static bool settle_row(struct kept *kept, const struct model_row *row, enum recording_extent extent,
		       u64 numbers[NUMBERS])
{
	int i;

	for (i = 0; i < SUMS; i++) {
		kept->now[i] = numbers[i];
		numbers[i] -= kept->before[i];
		if (extent == RECORDING_LAST)
			numbers[i] = 0;
	}
	if (extent != RECORDING_WHOLE && row->path->def)
		numbers[RECORDING_ROW_ALLOC_OBJECTS] = numbers[RECORDING_ROW_ALLOC_BYTES] = 0;
	if (memcmp(kept->told, numbers, sizeof(kept->told)) == 0)
		return false;
	memcpy(kept->told, numbers, sizeof(kept->told));
	return true;
}

static int put_row(struct recording_encoder *encoder, const struct model_row *row,
		   const u64 numbers[NUMBERS], struct text_buf *b)
{
	u32 thread, path;
	int err = recording_encode_thread(encoder, row->thread, &thread);

	if (!err)
		err = recording_encode_path(encoder, row->path, &path);
	if (err)
		return err;
	recording_put(b, RECORDING_MEMORY);
	recording_put(b, thread);
	recording_put(b, path);
	put_numbers(b, numbers, NUMBERS);
	return 0;
}

int recording_totals_rows(struct recording_totals *totals, struct recording_encoder *encoder,
			  const struct profile *profile, enum recording_extent extent, size_t *row,
			  struct text_buf *b, size_t full)
{
	int err = 0;

	if (!has_memory(profile))
		*row = profile->nrows;
	while (*row < profile->nrows && b->len < full && !err) {
		const struct model_row *first = &profile->rows[*row];
		u64 numbers[NUMBERS] = {0};
		struct kept *kept;

		do
			add_row(&profile->rows[(*row)++], numbers);
		while (*row < profile->nrows && profile->rows[*row].thread == first->thread &&
		       profile->rows[*row].path == first->path);
		err = find_kept(totals, first, numbers, &kept);
		/* A flight recorder's files are told from nothing, each. */
		if (!err && kept && extent == RECORDING_LAST)
			memset(kept->told, 0, sizeof(kept->told));
		if (!err && kept && settle_row(kept, first, extent, numbers))
			err = put_row(encoder, first, numbers, b);
	}
	return err;
}

int recording_totals_processes(struct recording_encoder *encoder, const struct profile *profile,
			       size_t *row, struct text_buf *b, size_t full)
{
	char comm[MODEL_COMM_LEN + 1] = "";
	int err = 0;

	for (; *row < profile->nthreads && b->len < full && !err; (*row)++) {
		const struct model_thread *thread = profile->threads[*row].thread;
		u32 number, text;

		if (!thread->process_comm[0] && !thread->nspid)
			continue;
		memcpy(comm, thread->process_comm, MODEL_COMM_LEN);
		err = recording_encode_thread(encoder, thread, &number);
		if (!err)
			err = recording_encode_text(encoder, comm[0] ? comm : NULL, &text);
		if (err)
			break;
		recording_put(b, RECORDING_PROCESS);
		recording_put(b, number);
		recording_put(b, thread->nspid);
		recording_put(b, text);
	}
	return err;
}

void recording_totals_counting(const struct model_memory *memory, struct text_buf *b)
{
	const u64 numbers[RECORDING_COUNTED_NUMBERS] = {
		[RECORDING_COUNTED_PROCESSES] = memory->processes,
		[RECORDING_COUNTED_FUNCTIONS] = memory->functions,
		[RECORDING_COUNTED_LATE] = memory->late,
		[RECORDING_COUNTED_ENTRIES] = memory->entries,
		[RECORDING_COUNTED_SAMPLE] = memory->sample,
		[RECORDING_COUNTED_LEAKS_NS] = memory->leaks_ns,
	};

	recording_put(b, RECORDING_COUNTING);
	put_numbers(b, numbers, RECORDING_COUNTED_NUMBERS);
}
