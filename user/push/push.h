/* SPDX-License-Identifier: MIT */
/* Delivery to a server by HTTP, on a thread of its own, so that tracing never waits for it.
 *
 *   push_enqueue ▸ queue (bounded) ▸ thread: gzip ▸ POST ─ 2xx ─▸ sent
 *                                      ▲              ├ no answer, 408, 429, 5xx ─▸ again later ─▸ spool, where there is one
 *                                      └── spool ◂────┘                    other ─▸ refused, with the server's words
 *
 * One for each destination: a server that is down keeps no other from its data. What does not fit in the queue or the spool
 * pushes out the oldest; everything that is not delivered is counted, and said.
 */
#ifndef SPANTRACE_PUSH_H
#define SPANTRACE_PUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "../../exporters/text.h"
#include "../../include/types.h"

struct push;

#define PUSH_TIMEOUT_NS  30000000000ull
#define PUSH_WAIT_NS     5000000000ull
#define PUSH_QUEUE_BYTES (32ull << 20)
#define PUSH_SPOOL_BYTES (256ull << 20)
/* Nothing larger is taken, or read back from a spool. */
#define PUSH_BODY_MAX (16u << 20)

/* How every destination is reached: the options --push-… and --spool. Secrets stand in files, or in the environment:
 * SPANTRACE_PUSH_TOKEN, SPANTRACE_PUSH_PASSWORD. Files are read again for each request, so that what they hold can
 * change. */
struct push_access {
	const char *user;           /* basic authentication; NULL: none */
	const char *password_file;  /* NULL: of the environment */
	const char *token_file;     /* bearer token; NULL: of the environment, if it is there */
	const char *tenant;         /* X-Scope-OrgID */
	const char *const *headers; /* "NAME:VALUE", or "NAME:@FILE" */
	size_t nheaders;
	const char *ca_file; /* trusted in place of the system's certificates */
	const char *spool;   /* a folder; NULL: none */
	u64 spool_bytes;     /* of each destination; 0: PUSH_SPOOL_BYTES */
	u64 timeout_ns;      /* for one request; 0: PUSH_TIMEOUT_NS */
};

struct push_options {
	const char *name; /* of the destination, in messages and in the spool: "pyroscope" */
	const char *
		url; /* http:// or https://, with or without a path; paths of push_enqueue() go behind it */
	const struct push_access *access;
	bool gzip;       /* bodies travel with Content-Encoding: gzip */
	u64 queue_bytes; /* 0: PUSH_QUEUE_BYTES */
	/* What the body of a 2xx answer says: how many things in the push the server left out, with its words in WHY; NULL:
	 * nothing. Called on the thread. */
	u64 (*left_out)(const char *body, size_t len, char *why, size_t size);
	/* 0: half a second, a minute. Between tries: twice as long each time, and of that a random part. */
	u64 retry_min_ns, retry_max_ns;
};

/* Since push_new(). Every push that was enqueued, or found in the spool, is in one of the first five. */
struct push_counts {
	u64 queued;  /* in memory, or on its way */
	u64 spooled; /* in the spool */
	u64 sent;
	u64 refused;  /* by the server, for good */
	u64 dropped;  /* pushed out at a bound, or nobody took it until the end */
	u64 found;    /* in the spool at the beginning */
	u64 left_out; /* parts of those sent that the server did not take */
	u64 retries;  /* requests that failed and were, or will be, done again */
	u64 queued_bytes;
	u64 spooled_bytes;
	u64 sent_bytes; /* as they travelled */
	u64 failing_since_ns; /* CLOCK_MONOTONIC; 0: the last request was answered with anything but "later" */
	long status;     /* HTTP, of the last answer; 0: none came */
	char words[256]; /* what went wrong last; empty: nothing yet */
};

/* Checks all that can be checked without the server, and takes what an earlier run left in the spool. Strings are
 * borrowed. 0, or -errno with the message printed. */
int push_new(const struct push_options *options, struct push **out);
/* Starts the thread, after the last fork(): a child would have its sockets too. Without it the first of the others below
 * does so. 0, or -errno with the message printed. */
int push_start(struct push *push);
/* Queues a POST of BODY to PATH ("/v1/traces"), of Content-Type TYPE; both are copied, BODY is emptied. Does not wait.
 * 0; or -ENOMEM, -EMSGSIZE: not queued, counted as dropped. */
int push_enqueue(struct push *push, const char *path, const char *type, struct text_buf *body);
/* Delivers what waits, for at most WAIT_NS; the rest goes to the spool, or is dropped and said. Nothing can be enqueued
 * behind it. */
void push_close(struct push *push, u64 wait_ns);
/* From any thread. */
void push_count(struct push *push, struct push_counts *out);
/* What wants a close and had none is closed without waiting. */
void push_free(struct push **push);

#endif
