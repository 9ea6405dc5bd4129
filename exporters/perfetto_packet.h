/* SPDX-License-Identifier: MIT */
/* Perfetto's trace format, as much of it as spans need: a file is a row of packets, each with a track event, the
 * description of a track, or what they share. Names are told once and are numbers from then on ("interned").
 *
 * Field numbers are those of Perfetto's trace_packet.proto, track_event.proto and their neighbours. */
#ifndef SPANTRACE_PERFETTO_PACKET_H
#define SPANTRACE_PERFETTO_PACKET_H

#include <stdio.h>

#include "../include/model.h"
#include "pairmap.h"
#include "protobuf.h"

enum perfetto_event {
	PERFETTO_BEGIN = 1,
	PERFETTO_END = 2,
	PERFETTO_INSTANT = 3,
	PERFETTO_COUNTER = 4,
};

/* Units of counters. */
enum perfetto_unit {
	PERFETTO_NO_UNIT = 0,
	PERFETTO_NS = 1,
	PERFETTO_BYTES = 3,
	PERFETTO_THREAD_TIME =
		-1, /* what slices take their time on the CPU from; it has a name already */
};

struct perfetto_file {
	FILE *out;
	struct text_buf buf;      /* whole packets, and the one that is built */
	struct text_buf interned; /* what that one tells by name for the first time */
	struct pairmap names;     /* two pointers ▸ number */
	struct pairmap strings;   /* pointer, sort ▸ number */
	u64 last_uuid;
	size_t packet, event; /* where they were opened */
	int error;            /* of the first that found no memory */
};

/* Describes a track, new or with another name (NULL or empty: none), and its uuid from p->last_uuid. */
struct perfetto_track {
	u64 uuid, parent; /* parent 0: none */
	const char *name;
	u32 pid, tid; /* of a process's or thread's own track; tid 0: not a thread's */
	bool is_process, is_thread, is_counter;
	enum perfetto_unit unit;
};

/* For the beginning of a file: the clocks, and what holds for all packets. */
void perfetto_file_begin(struct perfetto_file *p, FILE *out, const struct profile *run);
void perfetto_file_free(struct perfetto_file *p);
/* 0, or -errno of the first thing that did not work. */
int perfetto_file_flush(struct perfetto_file *p);
/* The same, when there is enough. */
int perfetto_file_settle(struct perfetto_file *p);

void perfetto_describe(struct perfetto_file *p, const struct perfetto_track *track);

/* What the events of a kind on a track begin with, and what a name takes in them: encoded once, for slices that say
 * nothing else, as most do. */
struct perfetto_piece {
	u8 bytes[40];
	u8 len;
};

/* Events of TYPE on TRACK; EXTRA: the counter whose value comes with each, 0: none. */
void perfetto_piece_head(struct perfetto_piece *piece, enum perfetto_event type, u64 track,
			 u64 extra);
/* The name of PATH and its category, which an event has told before. */
void perfetto_piece_name(struct perfetto_file *p, struct perfetto_piece *piece,
			 const struct model_path *path);
/* A whole event. VALUE: of the head's counter; NULL: it has none. NAME: NULL at an end. */
void perfetto_event_plain(struct perfetto_file *p, const struct perfetto_piece *head, u64 time,
			  const u64 *value, const struct perfetto_piece *name);

/* An event on TRACK, between begin and end, and what it says. */
void perfetto_event_begin(struct perfetto_file *p, enum perfetto_event type, u64 track, u64 time);
void perfetto_event_end(struct perfetto_file *p);
/* The name of PATH, which is TEXT; and its provider as the category. */
void perfetto_event_name(struct perfetto_file *p, const struct model_path *path, const char *text);
void perfetto_event_text(struct perfetto_file *p, const char *name); /* not interned */
void perfetto_event_value(struct perfetto_file *p, s64 value);       /* of a counter */
/* Another counter has VALUE at that time. */
void perfetto_event_extra(struct perfetto_file *p, u64 track, u64 value);
void perfetto_event_flow(struct perfetto_file *p, u64 number);
/* Arguments. KEY lives as long as the file; so does the text of a label. */
void perfetto_event_number(struct perfetto_file *p, const char *key, u64 value);
void perfetto_event_string(struct perfetto_file *p, const char *key, const char *text);
void perfetto_event_label(struct perfetto_file *p, const struct model_label *label);

#endif
