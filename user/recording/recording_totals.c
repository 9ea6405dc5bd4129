/* SPDX-License-Identifier: MIT */
/* TOTALS blocks of a recording: what no single span tells. See recording_read.h. */
#include <errno.h>
#include <string.h>

#include "recording_read.h"

static int read_memory(struct recording_reader *r, struct recording_bytes *b)
{
	u64 numbers[RECORDING_ROW_NUMBERS];
	struct recording_thread *thread;
	struct model_row row = {0};
	u32 thread_ref, path_ref;
	int err;

	if (!bytes_get_u32(b, &thread_ref) || !bytes_get_u32(b, &path_ref) ||
	    !bytes_get_set(b, numbers, RECORDING_ROW_NUMBERS))
		return -EBADMSG;
	thread = recording_name(&r->names.threads, thread_ref);
	row.path =
		path_ref ? recording_name(&r->names.paths, path_ref) : trace_root(r->replay->trace);
	if (!thread || !row.path) {
		r->replay->own[REPLAY_UNKNOWN_NAMES]++;
		return 0;
	}
	err = recording_use_thread(r, thread, &row.thread);
	if (err || !row.thread)
		return err;
	row.alloc_objects = numbers[RECORDING_ROW_ALLOC_OBJECTS];
	row.alloc_bytes = numbers[RECORDING_ROW_ALLOC_BYTES];
	row.map_calls = numbers[RECORDING_ROW_MAP_CALLS];
	row.map_bytes = numbers[RECORDING_ROW_MAP_BYTES];
	row.unmap_calls = numbers[RECORDING_ROW_UNMAP_CALLS];
	row.unmap_bytes = numbers[RECORDING_ROW_UNMAP_BYTES];
	row.inuse_objects = numbers[RECORDING_ROW_INUSE_OBJECTS];
	row.inuse_bytes = numbers[RECORDING_ROW_INUSE_BYTES];
	row.leak_objects = numbers[RECORDING_ROW_LEAK_OBJECTS];
	row.leak_bytes = numbers[RECORDING_ROW_LEAK_BYTES];
	row.leak_oldest_ns = numbers[RECORDING_ROW_LEAK_OLDEST_NS];
	return replay_take_memory(r->replay, &row);
}

static int read_counting(struct recording_reader *r, struct recording_bytes *b)
{
	u64 numbers[RECORDING_COUNTED_NUMBERS];
	struct model_memory memory;

	if (!bytes_get_set(b, numbers, RECORDING_COUNTED_NUMBERS))
		return -EBADMSG;
	memory = (struct model_memory){
		.processes = numbers[RECORDING_COUNTED_PROCESSES],
		.functions = numbers[RECORDING_COUNTED_FUNCTIONS],
		.late = numbers[RECORDING_COUNTED_LATE],
		.entries = numbers[RECORDING_COUNTED_ENTRIES],
		.sample = numbers[RECORDING_COUNTED_SAMPLE],
		.leaks_ns = numbers[RECORDING_COUNTED_LEAKS_NS],
		.markers = numbers[RECORDING_COUNTED_MARKERS],
	};
	replay_take_counting(r->replay, &memory);
	return 0;
}

static int read_process(struct recording_reader *r, struct recording_bytes *b)
{
	const struct model_thread *model;
	struct recording_thread *thread;
	u32 number, nspid, ref;
	const char *comm;

	if (!bytes_get_u32(b, &number) || !bytes_get_u32(b, &nspid) || !bytes_get_u32(b, &ref))
		return -EBADMSG;
	thread = recording_name(&r->names.threads, number);
	comm = recording_name(&r->names.texts, ref);
	if (!thread || recording_is_shared(&r->names, thread))
		return 0;
	thread->values.nspid = nspid;
	memset(thread->values.process_comm, 0, MODEL_COMM_LEN);
	if (comm)
		memcpy(thread->values.process_comm, comm, strnlen(comm, MODEL_COMM_LEN - 1));
	thread->asked = false;
	return recording_use_thread(r, thread, &model);
}

int recording_read_totals(struct recording_reader *r, struct recording_bytes bytes)
{
	u64 time_ns;
	int err = 0;

	while (!err && bytes.at < bytes.end) {
		switch (*bytes.at++) {
		case RECORDING_MEMORY:
			err = read_memory(r, &bytes);
			break;
		case RECORDING_COUNTING:
			err = read_counting(r, &bytes);
			break;
		case RECORDING_SNAPSHOT:
			if (!bytes_get(&bytes, &time_ns))
				return -EBADMSG;
			replay_take_snapshot(r->replay, time_ns);
			break;
		case RECORDING_PROCESS:
			err = read_process(r, &bytes);
			break;
		default:
			err = -EBADMSG;
		}
	}
	return err;
}
