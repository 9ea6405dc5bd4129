/* SPDX-License-Identifier: MIT */
/* Outputs that go to a server: -o otlp:http://HOST:PORT. The format makes whole requests, push/ delivers them.
 *
 * A trace never waits for a server. An export does: there is nothing to be late for, and a recording may hold more than a
 * queue. But it waits for no server that does not answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../push/push.h"
#include "../util/log.h"
#include "../util/varint.h"
#include "outputs_impl.h"

#define TRACES_PATH "/v1/traces"
/* An export goes on once no more than that waits. */
#define PATIENT_BYTES (PUSH_QUEUE_BYTES / 4)
#define PATIENT_US    5000u

/* Waits until at most MOST bytes wait, for as long as the server answers. */
static void wait_for(const struct output_push *to, u64 most)
{
	struct push_counts counts;
	struct timespec now;
	u64 now_ns;

	for (;; usleep(PATIENT_US)) {
		push_count(to->push, &counts);
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ns = (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
		if (counts.queued_bytes <= most && (most || !counts.queued))
			return;
		if (counts.failing_since_ns && now_ns - counts.failing_since_ns > to->wait_ns)
			return;
	}
}

/* Only the first error ends the output; what push/ drops it counts and says itself. */
static int send_request(void *context, struct text_buf *request)
{
	struct output_push *to = context;
	int err;

	if (to->patient)
		wait_for(to, PATIENT_BYTES);
	err = push_enqueue(to->push, to->path, to->type, request);
	return err == -EMSGSIZE ? 0 : err;
}

/* --- what a server left out ----------------------------------------------------------------------------- */

/* A field of a protobuf message: a number, or bytes. False: there is none, or it makes no sense. */
static bool next_field(const u8 **at, const u8 *end, u64 *field, u64 *number, const u8 **bytes)
{
	u64 tag;

	*bytes = NULL;
	if (*at >= end || !varint_get(at, end, &tag) || !varint_get(at, end, number))
		return false;
	*field = tag >> 3;
	if ((tag & 7) == 0)
		return true;
	if ((tag & 7) != 2 || *number > (u64)(end - *at))
		return false;
	*bytes = *at;
	*at += *number;
	return true;
}

/* ExportTraceServiceResponse: partial_success = 1 {rejected_spans = 1, error_message = 2}. */
static u64 left_out_protobuf(const u8 *at, const u8 *end, char *why, size_t size)
{
	u64 field, number, rejected = 0;
	const u8 *part, *part_end, *bytes;

	while (next_field(&at, end, &field, &number, &part)) {
		if (field != 1 || !part)
			continue;
		part_end = part + number;
		while (next_field(&part, part_end, &field, &number, &bytes)) {
			if (field == 1 && !bytes)
				rejected = number;
			if (field == 2 && bytes)
				snprintf(why, size, "%.*s", (int)(number < size ? number : size),
					 (const char *)bytes);
		}
	}
	return rejected;
}

/* The same as JSON, of which the two values are all that matters. BODY ends in NUL. */
static u64 left_out_json(const char *body, char *why, size_t size)
{
	const char *spans = strstr(body, "\"rejectedSpans\"");
	const char *words = strstr(body, "\"errorMessage\"");

	if (words) {
		words += strcspn(words, ":");
		words += strspn(words, ": \"");
		snprintf(why, size, "%.*s", (int)strcspn(words, "\""), words);
	}
	if (!spans)
		return 0;
	spans += strcspn(spans, ":");
	return strtoull(spans + strspn(spans, ": \""), NULL, 10);
}

u64 output_push_left_out(const char *body, size_t len, char *why, size_t size)
{
	*why = '\0';
	if (len && *body == '{')
		return left_out_json(body, why, size);
	return left_out_protobuf((const u8 *)body, (const u8 *)body + len, why, size);
}

/* --- all of it ------------------------------------------------------------------------------------------ */

int output_push_open(struct output *output, const struct push_access *access, u64 wait_ns,
		     bool patient)
{
	struct exporter *exporter = &output->exporter;
	bool json = exporter->options.encoding == EXPORT_ENCODING_JSON;
	size_t len = strlen(output->path), cut = strlen(TRACES_PATH);
	bool whole = len > cut && strcmp(output->path + len - cut, TRACES_PATH) == 0;
	const struct push_options options = {
		.name = exporter->ops->name,
		.url = output->path,
		.access = access,
		.gzip = true,
		.left_out = output_push_left_out,
	};
	int err = push_new(&options, &output->to.push);

	if (err)
		return err;
	output->to.path = whole ? "" : TRACES_PATH;
	output->to.type = json ? "application/json" : "application/x-protobuf";
	output->to.wait_ns = wait_ns;
	output->to.patient = patient;
	exporter->send = send_request;
	exporter->send_to = &output->to;
	return 0;
}

int output_push_finish(struct output *output)
{
	struct output_push *to = &output->to;
	struct push_counts counts;

	if (to->patient)
		wait_for(to, 0);
	push_close(to->push, to->wait_ns);
	push_count(to->push, &counts);
	if (!counts.refused && !counts.dropped && !counts.left_out)
		return 0;
	log_error(
		"%s: of %llu requests to %s %llu were sent, %llu refused, %llu dropped, %llu kept; the server left out %llu spans",
		output->exporter.ops->name,
		(unsigned long long)(counts.sent + counts.refused + counts.dropped +
				     counts.spooled),
		output->path, (unsigned long long)counts.sent, (unsigned long long)counts.refused,
		(unsigned long long)counts.dropped, (unsigned long long)counts.spooled,
		(unsigned long long)counts.left_out);
	return -EIO;
}
