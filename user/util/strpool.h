/* SPDX-License-Identifier: MIT */
/* Many small strings with one owner: they do not move, and all end together. */
#ifndef SPANTRACE_STRPOOL_H
#define SPANTRACE_STRPOOL_H

#include <stddef.h>

struct strpool;

int strpool_new(struct strpool **out);
void strpool_free(struct strpool **pool);
/* A NUL-terminated copy of LEN bytes of TEXT, the caller's to change within its length until the
 * pool ends; NULL when there is no memory. */
char *strpool_add(struct strpool *pool, const char *text, size_t len);
/* The same for text from a file that nobody vouches for: white space becomes a space, any other
 * control character '?', so that it cannot drive the terminal on which it is shown. */
char *strpool_add_printable(struct strpool *pool, const char *text, size_t len);

#endif
