/* SPDX-License-Identifier: MIT */
/* The format of measureme's event files (".mm_profdata"): what exporters/mm_profdata writes and user/mmprofdata_read
 * reads. Read in measureme 12.0.3 and 10.1.3 (https://github.com/rust-lang/measureme: serialization.rs, raw_event.rs,
 * stringtable.rs, event_id.rs) and checked with its crates. All integers are little-endian.
 *
 *   file    = "MMPD", u32 version, page, page, …
 *   page    = u8 tag, u32 size, that many bytes; no padding, kinds mixed in any order
 *   stream  = the pages of one tag, joined: "MMES" (events), "MMSD" (strings) or "MMSI" (index), u32 version, contents
 *   event   = kind, id, u32 thread, u32 low half of value 1, u32 low half of value 2, u32 upper 16 bits of both.
 *             Value 2 says what it is: MMP_INSTANT (at value 1), MMP_INTEGER (value 1), else an interval from value 1 to
 *             value 2, in ns since the start_time of the metadata. Events stand in the order of their ends.
 *   string  = UTF-8 bytes and references (MMP_REFERENCE, an id), then MMP_TERMINATOR
 *   id      = up to MMP_VIRTUAL_MAX: virtual, found in the index; MMP_METADATA: so is that; MMP_INVALID: none; from
 *             MMP_FIRST_REGULAR on: the address of a string in its stream, whose 8 bytes of header count
 *   index   = entries of an id and an address; of two for one id the later counts
 *   event id, once it is text = label, then 0x1e and an argument as often as needed; none of them empty, and no control
 *             characters but white space
 *   metadata, once it is text = JSON: start_time (ns since 1970), process_id, cmd, counter { name, units }
 *
 * Version 9 has 64-bit ids and addresses, version 8 had 32-bit ones; nothing else changed.
 *
 * What spantrace writes is a version 9 file with these customs; "spantrace" in its metadata says so, and only then does
 * the reader take them for more than kinds and arguments:
 *   thread span    interval; kind: the provider; label "provider:name", or the name alone for a kind of MMP_KINDS
 *   async span     interval of kind AsyncSpan on a lane, a thread id from MMP_LANE_FIRST up that belongs to no thread, so
 *                  that intervals of one thread id never overlap; first argument "id=N"
 *   segment        interval of kind AsyncSegment on the thread where it ran; first argument "id=N"
 *   event          instant; one with a value is followed by an integer event with the same kind, id and thread
 *   thread         instant of kind Thread, label its name; arguments pid=, tid=, and at the end of the file start=, end=,
 *                  inside=: its times on the trace's clock and the time it spent inside spans. Of several the last counts
 *   label          argument KEY=VALUE; text that reads as a number, or begins with a quote, stands in quotes
 *   flags          arguments "abandoned" and "open"
 *   what the form cannot say else: arguments #thread=ID, #under=PATH, #busy=NS, #self=NS, #value=N; where #self is
 *                  missing it follows from the nesting. PATH is frames joined by ';', outermost first, '@' before an async
 *                  span's, '\' before these three where they are part of a name
 */
#ifndef SPANTRACE_MMPROFDATA_H
#define SPANTRACE_MMPROFDATA_H

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "types.h"

#define MMP_VERSION     9
#define MMP_VERSION_OLD 8

#define MMP_MAGIC       0x44504d4du /* "MMPD" */
#define MMP_HEADER_SIZE 8u          /* of the file and of each stream */
#define MMP_PAGE_HEADER 5u
#define MMP_PAGE_MAX    (256u << 10) /* as written; a reader takes any size */

enum mmp_stream {
	MMP_EVENTS = 0,
	MMP_STRINGS = 1,
	MMP_INDEX = 2,
	MMP_STREAMS = 3,
};

#define MMP_MAGIC_EVENTS  0x53454d4du /* "MMES" */
#define MMP_MAGIC_STRINGS 0x44534d4du /* "MMSD" */
#define MMP_MAGIC_INDEX   0x49534d4du /* "MMSI" */

#define MMP_EVENT_SIZE     32u
#define MMP_EVENT_SIZE_OLD 24u

#define MMP_INSTANT   0xffffffffffffull
#define MMP_INTEGER   0xfffffffffffeull
#define MMP_TIME_MAX  0xfffffffffffdull /* 3.26 days in ns */
#define MMP_VALUE_MAX 0xffffffffffffull

#define MMP_VIRTUAL_MAX   100000000u
#define MMP_METADATA      100000001u
#define MMP_INVALID       100000002u
#define MMP_FIRST_REGULAR 100000003u

#define MMP_TERMINATOR 0xff
#define MMP_REFERENCE  0xfe
#define MMP_SEPARATOR  0x1e

#define MMP_LANE_FIRST 0x80000000u
/* Thread ids of threads whose own is taken: the kernel used it again. */
#define MMP_EXTRA_FIRST 0x40000000u

#define MMP_KIND_ASYNC   "AsyncSpan"
#define MMP_KIND_SEGMENT "AsyncSegment"
#define MMP_KIND_THREAD  "Thread"
#define MMP_NO_COMM      "(no name)" /* of a thread; labels are never empty */

/* What measureme's own tools know. */
#define MMP_KIND_GENERIC   "GenericActivity"
#define MMP_KIND_QUERY     "Query"
#define MMP_KIND_LOAD      "IncrementalLoadResult"
#define MMP_KIND_HASHING   "IncrementalResultHashing"
#define MMP_KIND_BLOCKED   "QueryBlocked"
#define MMP_KIND_HIT       "QueryCacheHit"
#define MMP_KIND_HIT_COUNT "QueryCacheHitCount"
#define MMP_KIND_ARTIFACT  "ArtifactSize"
#define MMP_KINDS                                                                            \
	MMP_KIND_GENERIC, MMP_KIND_QUERY, MMP_KIND_LOAD, MMP_KIND_HASHING, MMP_KIND_BLOCKED, \
		MMP_KIND_HIT, MMP_KIND_HIT_COUNT, MMP_KIND_ARTIFACT

/* An event, whatever the version. */
struct mmp_event {
	u64 kind;
	u64 id;
	u32 thread;
	u64 value1;
	u64 value2;
};

static inline bool mmp_is_interval(const struct mmp_event *event)
{
	return event->value2 <= MMP_TIME_MAX;
}

static inline u32 mmp_get32(const u8 *at)
{
	u32 value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline u64 mmp_get64(const u8 *at)
{
	return mmp_get32(at) | (u64)mmp_get32(at + 4) << 32;
}

static inline void mmp_put32(u8 *at, u32 value)
{
	at[0] = (u8)value;
	at[1] = (u8)(value >> 8);
	at[2] = (u8)(value >> 16);
	at[3] = (u8)(value >> 24);
}

static inline void mmp_put64(u8 *at, u64 value)
{
	mmp_put32(at, (u32)value);
	mmp_put32(at + 4, (u32)(value >> 32));
}

static inline void mmp_event_get(const u8 *at, bool old, struct mmp_event *event)
{
	u32 upper;

	if (old) {
		event->kind = mmp_get32(at);
		event->id = mmp_get32(at + 4);
		at += 8;
	} else {
		event->kind = mmp_get64(at);
		event->id = mmp_get64(at + 8);
		at += 16;
	}
	event->thread = mmp_get32(at);
	upper = mmp_get32(at + 12);
	event->value1 = mmp_get32(at + 4) | (u64)(upper & 0xffff0000) << 16;
	event->value2 = mmp_get32(at + 8) | (u64)(upper & 0xffff) << 32;
}

static inline void mmp_event_put(u8 at[MMP_EVENT_SIZE], const struct mmp_event *event)
{
	mmp_put64(at, event->kind);
	mmp_put64(at + 8, event->id);
	mmp_put32(at + 16, event->thread);
	mmp_put32(at + 20, (u32)event->value1);
	mmp_put32(at + 24, (u32)event->value2);
	mmp_put32(at + 28,
		  (u32)(event->value1 >> 16 & 0xffff0000) | (u32)(event->value2 >> 32 & 0xffff));
}

#endif
