/* SPDX-License-Identifier: MIT */
/* The container of an event file: its three streams out of their pages, its events by number, its strings by id. See
 * include/mmprofdata.h. Whatever the file says, memory stays bounded and what is damaged is counted. */
#ifndef SPANTRACE_MMPROFDATA_FILE_H
#define SPANTRACE_MMPROFDATA_FILE_H

#include "../../exporters/text.h"
#include "../../include/mmprofdata.h"
#include "../util/blockcache.h"

/* A piece of a stream: LENGTH bytes at OFFSET of the file are those at POSITION of the stream. */
struct mmp_run {
	u64 offset;
	u64 position;
	u64 length;
};

/* The pages of one tag. Those of a file with very many small ones are copied to a scratch area. */
struct mmp_pages {
	struct mmp_run *runs;
	size_t nruns;
	u64 length;
	struct blockcache *copy;  /* NULL: not copied */
	struct blockcache *cache; /* to read at any place; NULL with COPY */
	struct mmp_file *file;
};

struct mmp_file {
	int fd; /* borrowed */
	bool old;
	bool own; /* spantrace wrote it; set by who reads the metadata */
	u64 nevents;
	u64 damaged;   /* pages and headers that are not as they should be */
	u64 cut_bytes; /* at the end of the file, of a page that is not whole */
	u64 unknown;   /* ids that lead nowhere */
	struct mmp_pages pages[MMP_STREAMS];
	struct blockcache *index; /* virtual id ▸ address + 1 */
};

/* FD is a file that begins with MMP_MAGIC and VERSION. 0 or -errno; damage is no error. */
int mmp_file_new(int fd, u32 version, struct mmp_file **out);
void mmp_file_free(struct mmp_file **file);
/* Event NUMBER, below file->nevents. 0 or -errno. */
int mmp_file_event(struct mmp_file *file, u64 number, struct mmp_event *event);
/* Whether NUMBER is an event with a value of our own files: an instant that an integer event follows. VALUE is that
 * integer's. 1, 0 or -errno. */
int mmp_file_value_behind(struct mmp_file *file, u64 number, const struct mmp_event *instant,
			  u64 *value);
/* Adds the text of string ID to OUT: "<unknown>" where there is none. It is cut at MMP_TEXT_MAX. 0 or -errno. */
int mmp_file_text(struct mmp_file *file, u64 id, struct text_buf *out);

#define MMP_TEXT_MAX (64u << 10)

#endif
