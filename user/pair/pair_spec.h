/* SPDX-License-Identifier: MIT */
/* A pair of markers that the user names: --span NAME=START..END[,END…][@ARG].
 *
 * START and END are provider:name. NAME is a name, under START's provider, or provider:name. With
 * @ARG the span is async and that argument of its markers, counted from 0 and written `@0` or
 * `@arg0`, is its id; without, it is a thread span.
 */
#ifndef SPANTRACE_PAIR_SPEC_H
#define SPANTRACE_PAIR_SPEC_H

#include <stddef.h>

struct pair_name {
	const char *provider;
	const char *name;
};

struct pair_spec {
	struct pair_name label;
	struct pair_name start;
	struct pair_name *ends;
	size_t nends;
	int id_arg; /* -1: a thread span */
	char *text; /* owns the names above */
};

/* On failure, *OUT is left alone and WHY (of LEN bytes) holds a sentence that names the offending
 * part. 0, -EINVAL or -ENOMEM. */
int pair_spec_new(const char *text, struct pair_spec **out, char *why, size_t len);
void pair_spec_free(struct pair_spec **spec);

#endif
