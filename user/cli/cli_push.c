/* SPDX-License-Identifier: MIT */
/* The options about delivery to servers: their values, and which of them go together. What a URL, a file or a header may
 * hold, push.h checks. */
#define _GNU_SOURCE 1 /* asprintf */
#include <errno.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "../util/units.h"
#include "cli_impl.h"

#define SPOOL_MIN 65536u

int cli_value_url(const char **url, const char *option, const char *text)
{
	if (!*text) {
		log_error("%s: no URL; write http://HOST:PORT", option);
		return -EINVAL;
	}
	*url = text;
	return 0;
}

int cli_value_otlp(struct options *o, const char *text)
{
	struct options_output output;
	AUTO_FREE char *whole = NULL;
	int err;

	if (asprintf(&whole, "otlp:%s", text) < 0)
		return -ENOMEM;
	err = cli_parse_output(whole, &output);
	if (!err && !output.is_url) {
		log_error("--otlp: \"%s\" is no URL; write http://HOST:4318", text);
		err = -EINVAL;
	}
	output.path = text;
	return err ? err : cli_add_output(o, &output);
}

int cli_value_app(struct options *o, const char *text)
{
	if (!*text) {
		log_error("--app: the name is empty");
		return -EINVAL;
	}
	o->app = text;
	return 0;
}

int cli_value_tag(struct options *o, const char *text)
{
	if (*text == '=' || !strchr(text, '=')) {
		log_error("--tag: \"%s\" is not understood; write KEY=VALUE", text);
		return -EINVAL;
	}
	if (GROW(o->tags, o->ntags))
		return -ENOMEM;
	o->tags[o->ntags++] = text;
	return 0;
}

int cli_value_push_header(struct options *o, const char *text)
{
	if (GROW(o->push_headers, o->push.nheaders))
		return -ENOMEM;
	o->push_headers[o->push.nheaders++] = text;
	return 0;
}

int cli_value_spool_size(struct options *o, const char *text)
{
	if (units_parse_size(text, &o->push.spool_bytes) || o->push.spool_bytes < SPOOL_MIN) {
		log_error("--spool-size: \"%s\" is not a size of 64K or more; write 256M", text);
		return -EINVAL;
	}
	return 0;
}

/* An option that says how a server is reached; NULL: none was given. */
static const char *given(const struct options *o)
{
	const struct push_access *push = &o->push;

	return push->spool           ? "--spool"
	       : push->spool_bytes   ? "--spool-size"
	       : push->user          ? "--push-user"
	       : push->password_file ? "--push-password-file"
	       : push->token_file    ? "--push-token-file"
	       : push->tenant        ? "--push-tenant"
	       : push->nheaders      ? "--push-header"
	       : push->ca_file       ? "--push-ca"
	       : push->timeout_ns    ? "--push-timeout"
	       : o->ntags            ? "--tag"
	       : o->app              ? "--app"
				     : NULL;
}

static bool has_url(const struct options *o)
{
	for (size_t i = 0; i < o->noutputs; i++)
		if (o->outputs[i].is_url)
			return true;
	return false;
}

int cli_settle_push(struct options *o)
{
	const char *option = given(o);

	if (option && !o->pyroscope && !has_url(o)) {
		log_error("%s: there is no server to push to; give --pyroscope URL or --otlp URL",
			  option);
		return -EINVAL;
	}
	if (o->push.spool_bytes && !o->push.spool) {
		log_error("--spool-size needs --spool DIR");
		return -EINVAL;
	}
	if (o->push.password_file && !o->push.user) {
		log_error("--push-password-file needs --push-user NAME");
		return -EINVAL;
	}
	if (o->pyroscope && o->interval_ns && o->interval_ns < PUSH_INTERVAL_MIN_NS) {
		log_error("--interval: --pyroscope needs 1s at least; 10s suit most");
		return -EINVAL;
	}
	return 0;
}
