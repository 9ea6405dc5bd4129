/* SPDX-License-Identifier: MIT */
/* See push_http.h. */
#include "push_http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../include/version.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "push_access.h"

#define MS              1000000ULL
#define SECOND          1000000000ULL
#define CONNECT_MS      10000L
#define ANSWER_KEEP     65536u     /* of a body */
#define ANSWER_MAX      (1u << 20) /* what is longer is no answer */
#define RETRY_AFTER_MAX 300        /* seconds: a server is not to keep us from trying for ever */

struct push_http {
	const struct push_options *options;
	char *base; /* the URL without a slash at its end */
	CURLM *multi;
	CURL *easy;
	struct push_answer *answer; /* the current one */
	size_t got;                 /* of its body */
	char error[CURL_ERROR_SIZE];
};

/* What cannot be said of a URL on a command line, and how it is said instead. */
static const char *url_flaw(CURLU *url)
{
	char *part = NULL;
	const char *flaw = NULL;

	if (curl_url_get(url, CURLUPART_SCHEME, &part, 0) ||
	    (strcmp(part, "http") != 0 && strcmp(part, "https") != 0))
		flaw = "begins with http:// or https://";
	curl_free(part);
	part = NULL;
	if (!flaw && (!curl_url_get(url, CURLUPART_USER, &part, 0) ||
		      !curl_url_get(url, CURLUPART_PASSWORD, &part, 0)))
		flaw = "names no user: give --push-user NAME and --push-password-file FILE";
	curl_free(part);
	part = NULL;
	if (!flaw && (!curl_url_get(url, CURLUPART_QUERY, &part, 0) ||
		      !curl_url_get(url, CURLUPART_FRAGMENT, &part, 0)))
		flaw = "has no ? or #: give what the server wants to know by --push-header";
	curl_free(part);
	return flaw;
}

/* What goes there stays on this machine. */
static bool is_local(CURLU *url)
{
	char *host = NULL;
	bool local = !curl_url_get(url, CURLUPART_HOST, &host, 0) &&
		     (strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
		      strcmp(host, "[::1]") == 0);

	curl_free(host);
	return local;
}

static int check_url(const struct push_options *options, char **base)
{
	CURLU *url = curl_url();
	const char *flaw = NULL;
	AUTO_HEADERS headers = {0};
	char why[256];
	size_t len;
	int err = url ? 0 : -ENOMEM;

	if (url && curl_url_set(url, CURLUPART_URL, options->url, 0))
		flaw = "is not a URL: write http://HOST:PORT";
	else if (url)
		flaw = url_flaw(url);
	if (flaw) {
		/* Not the URL itself: it could hold a password. */
		log_error("--%s: the URL %s", options->name, flaw);
		err = -EINVAL;
	}
	if (!err) {
		err = push_headers_make(options->access, &headers, why, sizeof(why));
		if (err)
			log_error("--%s: %s", options->name, why);
	}
	if (!err && headers.nsecrets && strncasecmp(options->url, "https:", 6) != 0 &&
	    !is_local(url))
		log_warn(
			"--%s: %s is not encrypted, and the token or password goes there in clear text; use https",
			options->name, options->url);
	curl_url_cleanup(url);
	if (err)
		return err;
	len = strlen(options->url);
	while (len && options->url[len - 1] == '/')
		len--;
	*base = strndup(options->url, len);
	return *base ? 0 : -ENOMEM;
}

static size_t take_body(char *bytes, size_t one, size_t n, void *context)
{
	struct push_http *http = context;
	struct text_buf *body = &http->answer->body;
	size_t room = ANSWER_KEEP - body->len;

	(void)one;
	text_add(body, bytes, n < room ? n : room);
	http->got += n;
	return http->got > ANSWER_MAX ? 0 : n;
}

static int check_ca(const struct push_options *options)
{
	const char *file = options->access->ca_file;
	int err = file && access(file, R_OK) ? -errno : 0;

	if (err)
		log_error("--push-ca: cannot read %s: %s", file, strerror(-err));
	return err;
}

int push_http_new(const struct push_options *options, struct push_http **out)
{
	CLEANUP(push_http_free) struct push_http *http = calloc(1, sizeof(*http));
	int err;

	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT)) {
		free(TAKE_PTR(http));
		return -ENOMEM;
	}
	http->options = options;
	err = check_url(options, &http->base);
	if (!err)
		err = check_ca(options);
	if (err)
		return err;
	*out = TAKE_PTR(http);
	return 0;
}

int push_http_start(struct push_http *http)
{
	http->multi = curl_multi_init();
	http->easy = curl_easy_init();
	return http->multi && http->easy ? 0 : -ENOMEM;
}

void push_http_free(struct push_http **out)
{
	struct push_http *http = *out;

	if (!http)
		return;
	*out = NULL;
	curl_easy_cleanup(http->easy);
	curl_multi_cleanup(http->multi);
	curl_global_cleanup();
	free(http->base);
	free(http);
}

void push_http_wake(struct push_http *http)
{
	curl_multi_wakeup(http->multi);
}

static int set_up(struct push_http *http, const struct push_request *request, const char *url,
		  struct curl_slist *headers)
{
	const struct push_access *access = http->options->access;
	u64 timeout = access->timeout_ns ? access->timeout_ns : PUSH_TIMEOUT_NS;
	CURL *easy = http->easy;
	CURLcode bad = CURLE_OK;

	curl_easy_reset(easy);
	http->error[0] = '\0';
	http->got = 0;
#define SET(option, value) bad |= curl_easy_setopt(easy, CURLOPT_##option, value)
	SET(URL, url);
	SET(PROTOCOLS_STR, "http,https");
	SET(POSTFIELDS, request->body);
	SET(POSTFIELDSIZE_LARGE, (curl_off_t)request->len);
	SET(HTTPHEADER, headers);
	SET(USERAGENT, "spantrace/" SPANTRACE_VERSION);
	SET(ACCEPT_ENCODING, "");
	SET(WRITEFUNCTION, take_body);
	SET(WRITEDATA, http);
	SET(ERRORBUFFER, http->error);
	SET(NOSIGNAL, 1L);
	SET(QUICK_EXIT, 1L); /* a slow name server does not hold up our end */
	SET(CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(TIMEOUT_MS, (long)(timeout / MS));
	if (access->ca_file)
		SET(CAINFO, access->ca_file);
#undef SET
	return bad ? -EINVAL : 0;
}

/* The headers as libcurl wants them. NULL: no memory. */
static struct curl_slist *list_headers(const struct push_request *request,
				       const struct push_headers *own)
{
	struct curl_slist *list = NULL, *longer;
	char type[256];

	snprintf(type, sizeof(type), "Content-Type: %s", request->type);
	for (size_t i = 0; i < own->n + 3; i++) {
		const char *line = i == 0 ? type : i == 1 ? "Expect:" : "Content-Encoding: gzip";

		if (i >= 3)
			line = own->lines[i - 3];
		else if (i == 2 && !request->gzip)
			continue;
		longer = curl_slist_append(list, line);
		if (!longer) {
			curl_slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * SECOND + (u64)now.tv_nsec;
}

/* False: there was no more time. */
static bool transfer(struct push_http *http, const struct push_request *request, CURLcode *result)
{
	int running = 1, left;
	CURLMsg *message;

	*result = CURLE_FAILED_INIT;
	if (curl_multi_add_handle(http->multi, http->easy))
		return true;
	while (running) {
		u64 now = now_ns(), until = request->until(request->context);
		u64 wait = until > now ? (until - now) / MS + 1 : 0;

		if (!wait || curl_multi_perform(http->multi, &running))
			break;
		if (running)
			curl_multi_poll(http->multi, NULL, 0, wait < 1000 ? (int)wait : 1000, NULL);
	}
	while ((message = curl_multi_info_read(http->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			*result = message->data.result;
	curl_multi_remove_handle(http->multi, http->easy);
	return !running;
}

static enum push_outcome judge(struct push_http *http, const struct push_request *request,
			       CURLcode result, const struct push_headers *own)
{
	struct push_answer *answer = http->answer;
	curl_off_t sent = 0, after = 0;

	curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &answer->status);
	curl_easy_getinfo(http->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &after);
	if (after > 0)
		answer->retry_after_ns =
			(u64)(after < RETRY_AFTER_MAX ? after : RETRY_AFTER_MAX) * SECOND;
	/* It has said that it took all; what else it wanted to say is lost. */
	if (answer->status / 100 == 2 && (size_t)sent >= request->len)
		return PUSH_TAKEN;
	if (answer->status < 300) {
		snprintf(answer->words, sizeof(answer->words), "%s",
			 http->error[0] ? http->error
			 : result       ? curl_easy_strerror(result)
					: "it did not take all of the request");
		push_headers_clean(own, answer->words);
		return PUSH_LATER;
	}
	/* Before it is cut, lest a part of a secret stays. */
	if (answer->body.len)
		push_headers_clean(own, answer->body.data);
	snprintf(answer->words, sizeof(answer->words), "HTTP %ld%s%s", answer->status,
		 answer->body.len ? ": " : "", answer->body.len ? answer->body.data : "");
	if (answer->status == 408 || answer->status == 429 || answer->status >= 500)
		return PUSH_LATER;
	return PUSH_REFUSED;
}

enum push_outcome push_http_post(struct push_http *http, const struct push_request *request,
				 struct push_answer *answer)
{
	AUTO_HEADERS own = {0};
	AUTO_FREE char *url = NULL;
	struct curl_slist *headers = NULL;
	enum push_outcome outcome = PUSH_LATER;
	CURLcode result;
	int err;

	http->answer = answer;
	answer->status = 0;
	answer->retry_after_ns = 0;
	text_cut(&answer->body, 0);
	err = push_headers_make(http->options->access, &own, answer->words, sizeof(answer->words));
	if (err)
		return PUSH_LATER;
	headers = list_headers(request, &own);
	if (!headers || asprintf(&url, "%s%s", http->base, request->path) < 0 ||
	    set_up(http, request, url, headers))
		snprintf(answer->words, sizeof(answer->words), "the request cannot be made");
	else if (!transfer(http, request, &result))
		outcome = PUSH_STOPPED;
	else
		outcome = judge(http, request, result, &own);
	curl_slist_free_all(headers);
	return outcome;
}
