/* SPDX-License-Identifier: MIT */
/* What usdt/spantrace.h leaves in an ELF file and user/elfnote.c reads.
 *
 * The markers themselves are ordinary <sys/sdt.h> notes in .note.stapsdt. What those cannot hold stands
 * in a second note section, one note for each site, directly after the site in the same basic block:
 *
 *   section  .note.spantrace   SHT_NOTE, not allocated: never loaded, kept by strip
 *   name     "spantrace"       type NOTE_SITE
 *   desc     u64 address       (8 bytes on 64-bit targets) of the marker's nop
 *            u32 line
 *            provider \0 name \0 file \0      name with its suffix: "job__enter"
 *            key \0 …          of each label in order of the marker's arguments, then an empty string
 *
 * A note belongs to the last site of the same provider and name at or below its address. A compiler
 * that merges the tails of two copies of a site leaves one of them without: it takes the note of
 * another site of its marker with as many arguments.
 *
 * Markers of the batched lane have no nop and no <sys/sdt.h> note, but one here:
 *
 *   type NOTE_BATCHED
 *   desc u64 address           of the code that writes the op
 *        u64 place             its place in the table of markers; how far from the table's begin: its number in ops
 *        provider \0 name \0 arguments \0
 *
 * and the marker that has the buffer fetched (include/batch.h), in each function that does so:
 *
 *   type NOTE_FETCH
 *   desc u64 address           of its nop; its one argument, the buffer's address, is the function's first
 *        u64 semaphore         of all batched markers of the binary
 *        u64 begin, u64 end    of the table of markers
 *        u32 clock             BATCH_CLOCK_*
 *
 * Labels are 8-byte arguments: a signed one ("-8@") is an integer, an unsigned one ("8@") the address
 * of a C string.
 */
#ifndef SPANTRACE_NOTE_H
#define SPANTRACE_NOTE_H

#define NOTE_SECTION ".note.spantrace"
#define NOTE_OWNER   "spantrace"
#define NOTE_SITE    1
#define NOTE_BATCHED 2
#define NOTE_FETCH   3

/* Arguments that stand before the labels, by suffix of the marker. */
#define NOTE_ARG_ID     0 /* __new, __enter, __exit, __close of an async span */
#define NOTE_ARG_PARENT 1 /* __new: id of the parent, 0: none named */
#define NOTE_ARG_VALUE  0 /* of an event with a value: its label's key is "value" */

#endif
