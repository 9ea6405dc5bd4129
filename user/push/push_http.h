/* SPDX-License-Identifier: MIT */
/* One POST at a time, by libcurl: who is trusted, how long it may take, and what the answer means. */
#ifndef SPANTRACE_PUSH_HTTP_H
#define SPANTRACE_PUSH_HTTP_H

#include "push.h"

struct push_http;

enum push_outcome {
	PUSH_TAKEN,   /* 2xx */
	PUSH_LATER,   /* no answer, 408, 429, 5xx */
	PUSH_REFUSED, /* any other answer */
	PUSH_STOPPED, /* there was no more time */
};

struct push_request {
	const char *path;
	const char *type;
	bool gzip;
	const char *body;
	size_t len;
	/* CLOCK_MONOTONIC when to give up; asked again after push_http_wake(). */
	u64 (*until)(void *context);
	void *context;
};

struct push_answer {
	long status;        /* 0: none came */
	u64 retry_after_ns; /* 0: the server does not say */
	char words[256];    /* what went wrong, for people */
	struct text_buf body;
};

/* Borrows OPTIONS. 0, or -errno with the message printed. */
int push_http_new(const struct push_options *options, struct push_http **out);
/* Before the rest; opens files that a child would have too. 0 or -ENOMEM. */
int push_http_start(struct push_http *http);
enum push_outcome push_http_post(struct push_http *http, const struct push_request *request,
				 struct push_answer *answer);
/* From any thread. */
void push_http_wake(struct push_http *http);
void push_http_free(struct push_http **http);

#endif
