/* SPDX-License-Identifier: MIT */
/* The format `html`: one page that shows a run and needs nothing else, no network and no viewer. The data stand in it as
 * text that no browser runs; its policy lets the page's own scripts run, by their hashes, and nothing else load.
 */
#include <errno.h>

#include "formats.h"
#include "html_data.h"
#include "svg.h"

#define ITEMS_MAX (1u << 20)

struct asset {
	const char *text;
	const char *hash;
};

static const struct asset style = {
#include "exporters/html.css.h"
	,
#include "exporters/html.css.sha256.h"
};

/* In the order that they run. */
static const struct asset scripts[] = {
	{
#include "exporters/html_base.js.h"
		,
#include "exporters/html_base.js.sha256.h"
	},
	{
#include "exporters/html_spans.js.h"
		,
#include "exporters/html_spans.js.sha256.h"
	},
	{
#include "exporters/html_flame.js.h"
		,
#include "exporters/html_flame.js.sha256.h"
	},
	{
#include "exporters/html_timeline.js.h"
		,
#include "exporters/html_timeline.js.sha256.h"
	},
	{
#include "exporters/html_page.js.h"
		,
#include "exporters/html_page.js.sha256.h"
	},
};

#define NSCRIPTS (sizeof(scripts) / sizeof(*scripts))

static void write_head(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
	      "form-action 'none'; style-src '",
	      out);
	fputs(style.hash, out);
	fputs("'; script-src", out);
	for (size_t i = 0; i < NSCRIPTS; i++)
		fprintf(out, " '%s'", scripts[i].hash);
	fputs("\">\n<meta name=\"viewport\" content=\"width=device-width\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
	      out);
	fputs(title, out);
	fputs("</title>\n<style>", out);
	fputs(style.text, out);
	fputs("</style>\n</head>\n<body>\n<noscript>This page shows its data by script.</noscript>\n",
	      out);
}

static int write_page(struct exporter *e, const struct profile *profile, const char *title)
{
	const struct timeline *timeline = e->state;
	int err;

	write_head(e->out, title);
	fputs("<script type=\"application/json\" id=\"totals\">", e->out);
	err = html_write_totals(profile, timeline, &e->options, e->out);
	fputs("</script>\n<script type=\"text/plain\" id=\"items\">", e->out);
	html_write_items(timeline, profile->metrics & METRIC_CPU, e->out);
	fputs("</script>\n", e->out);
	for (size_t i = 0; i < NSCRIPTS; i++)
		fprintf(e->out, "<script>%s</script>\n", scripts[i].text);
	fputs("</body>\n</html>\n", e->out);
	return err;
}

static int html_begin(struct exporter *e, const struct profile *run)
{
	struct timeline *timeline;
	int err;

	/* What the timeline can tell of a span besides its times. */
	e->options.value = run->metrics & METRIC_CPU ? EXPORT_CPU : EXPORT_BUSY;
	err = timeline_new(&e->options, ITEMS_MAX, &timeline);
	if (!err)
		e->state = timeline;
	return err;
}

static int html_span(struct exporter *e, const struct model_span *span)
{
	return timeline_add(e->state, span);
}

static int html_event(struct exporter *e, const struct model_event *event)
{
	return timeline_add_event(e->state, event);
}

static int html_finish(struct exporter *e, const struct profile *profile)
{
	AUTO_TEXT title = {0};
	int err = timeline_finish(e->state, profile, ITEMS_MAX);

	if (err)
		return err;
	svg_add_text(&title,
		     *e->options.title ? e->options.title
		     : profile->target ? profile->target
				       : "spantrace",
		     200);
	return title.failed ? -ENOMEM : write_page(e, profile, title.data);
}

static void html_free(struct exporter *e)
{
	struct timeline *timeline = e->state;

	if (timeline)
		timeline_free(&timeline);
	e->state = NULL;
}

static const char *const html_keys[] = {
	"module_path",
	"file_and_line",
	"title",
	NULL,
};

const struct exporter_ops exporter_html = {
	.name = "html",
	.extension = ".html",
	.keys = html_keys,
	.begin = html_begin,
	.span = html_span,
	.event = html_event,
	.finish = html_finish,
	.free = html_free,
};
