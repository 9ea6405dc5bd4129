/* SPDX-License-Identifier: MIT */
/* Who we are to a server: the headers of a request, made of options, files and the environment. */
#ifndef SPANTRACE_PUSH_ACCESS_H
#define SPANTRACE_PUSH_ACCESS_H

#include "push.h"

/* Where a secret comes from. */
#define PUSH_TOKEN_VARIABLE    "SPANTRACE_PUSH_TOKEN"
#define PUSH_PASSWORD_VARIABLE "SPANTRACE_PUSH_PASSWORD"

/* Of one request. Starts as zeroes. */
struct push_headers {
	char **lines; /* "Name: value" */
	size_t n;
	char **secrets; /* values that no message may show */
	size_t nsecrets;
};

/* 0, or -errno with WHY (of SIZE bytes) a sentence that holds no secret. */
int push_headers_make(const struct push_access *access, struct push_headers *out, char *why,
		      size_t size);
void push_headers_free(struct push_headers *headers);
#define AUTO_HEADERS CLEANUP(push_headers_free) struct push_headers

/* Makes a server's words fit for a message, in place: one line, no control characters, no secret. */
void push_headers_clean(const struct push_headers *headers, char *words);

#endif
