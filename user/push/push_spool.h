/* SPDX-License-Identifier: MIT */
/* What could not be delivered yet, as files of a folder: a file is complete from the moment that it has its name, and names
 * are in the order of time, also from one run to the next.
 *
 *   DIR/NAME-00001731234567890123456.push   a line each: "spantrace-push 1", path, type, "gzip" or "plain", length, CRC-32
 *                                           of the body in hex; then the body
 *   DIR/NAME.lock                           held by the run that uses them
 *
 * Files of other names are left alone. What a file says is not trusted.
 */
#ifndef SPANTRACE_PUSH_SPOOL_H
#define SPANTRACE_PUSH_SPOOL_H

#include "push.h"

struct push_spool;

/* One push, wherever it stands. */
struct push_item {
	struct push_item *next;
	u64 serial; /* greater than those before it */
	size_t len; /* of the body; of the file, where it is spooled */
	bool spooled;
	bool gzip; /* the body is packed */
	char *path;
	char *type;
	struct text_buf body; /* the first three are not there while it is spooled */
};

void push_item_free(struct push_item *item);

/* Makes DIR where it is missing, and takes it for NAME. 0, or -errno with the message printed. */
int push_spool_new(const char *dir, const char *name, struct push_spool **out);
void push_spool_free(struct push_spool **spool);
/* What stands there, the oldest first, as a list; at most MAX. 0 or -errno. */
int push_spool_list(struct push_spool *spool, size_t max, struct push_item **out);
/* What the file of ITEM takes at most. */
size_t push_spool_size(const struct push_item *item);
/* Writes ITEM, which gives up its memory. 0 or -errno. */
int push_spool_put(struct push_spool *spool, struct push_item *item);
/* Reads a spooled item into COPY. -EBADMSG: it is damaged. */
int push_spool_get(struct push_spool *spool, const struct push_item *item, struct push_item *copy);
void push_spool_drop(struct push_spool *spool, const struct push_item *item);

#endif
