/* SPDX-License-Identifier: MIT */
/* See flamesvg.h. */
#include "flamesvg.h"

#include <string.h>

#include "hash.h"

#define FRAME_HEIGHT 17
#define GAP          0.6 /* between siblings wide enough to spare it */
#define COLUMN       7.2 /* what a character takes, for most fonts */
#define TEXT_INSET   3

#define HUES   12
#define SHADES 4

static const char script[] =
#include "exporters/flamegraph.js.h"
	;

static const char style[] =
#include "exporters/flamegraph.css.h"
	;

static size_t provider_length(const char *label)
{
	const char *colons = strstr(label, "::");

	return colons ? (size_t)(colons - label) : strlen(label);
}

void flamesvg_see(struct flamesvg_providers *providers, const char *label)
{
	size_t len = provider_length(label);

	if (!providers->first)
		providers->first = label;
	if (provider_length(providers->first) != len || memcmp(providers->first, label, len) != 0)
		providers->several = true;
}

/* Of several providers each has three hues beside each other, so that what belongs together looks so; one of them, or where
 * there is one provider any, and a shade of it for each name. */
static void add_class(struct text_buf *b, const char *label, bool several)
{
	u64 name = hash_bytes(label, strlen(label)), shade = name % SHADES, hue = name / SHADES;

	if (several)
		hue = hash_bytes(label, provider_length(label)) % HUES + hue % 3;
	text_add_str(b, "c");
	hue %= HUES;
	text_add_u64(b, hue * SHADES + shade);
}

static void add_rule(struct text_buf *b, const char *class, unsigned n, unsigned hue,
		     unsigned saturation, unsigned lightness)
{
	text_add_str(b, ".spantrace .");
	text_add_str(b, class);
	text_add_u64(b, n);
	text_add_str(b, "{fill:hsl(");
	text_add_u64(b, hue);
	text_add_str(b, ",");
	text_add_u64(b, saturation);
	text_add_str(b, "%,");
	text_add_u64(b, lightness);
	text_add_str(b, "%)}\n");
}

static void add_palette(struct text_buf *b, bool dark)
{
	for (unsigned i = 0; i < HUES * SHADES; i++)
		add_rule(b, "c", i, (i / SHADES * 360 / HUES + 20) % 360, dark ? 38 : 66,
			 dark ? 31 + i % SHADES * 3 : 70 + i % SHADES * 4);
	/* From grey to the hottest. */
	for (unsigned i = 0; i < FLAMESVG_HEATS; i++)
		add_rule(b, "h", i, 52 - 4 * i, i ? 40 + 5 * i : 4, dark ? 24 + 2 * i : 92 - 4 * i);
	/* Blue: less; red: more. */
	for (unsigned i = 0; i < FLAMESVG_CHANGES; i++) {
		unsigned middle = FLAMESVG_CHANGES / 2, far = i < middle ? middle - i : i - middle;

		add_rule(b, "d", i, i < middle ? 212 : 8,
			 far ? (dark ? 30 + 7 * far : 40 + 10 * far) : 4,
			 dark ? 26 + 4 * far : 91 - 6 * far);
	}
}

void flamesvg_open(struct text_buf *b, const struct flamesvg_page *page)
{
	text_add_str(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	text_add_str(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"spantrace\"");
	svg_add_number(b, " viewBox=\"0 0 ", FLAMESVG_WIDTH);
	svg_add_number(b, " ", page->height);
	svg_add_number(b, "\" width=\"", FLAMESVG_WIDTH);
	svg_add_number(b, "\" height=\"", page->height);
	svg_add_number(b, "\" data-pad=\"", FLAMESVG_PAD);
	svg_add_number(b, "\" data-row=\"", FLAMESVG_ROW);
	svg_add_number(b, "\" data-top=\"", page->top);
	svg_add_number(b, "\" data-foot=\"", FLAMESVG_FOOT);
	text_add_str(b, "\"");
	text_add_str(b, page->attributes);
	text_add_str(b, ">\n<title>");
	svg_add_text(b, page->title, FLAMESVG_MAX_NAME);
	text_add_str(b, "</title>\n<style>\n");
	text_add_str(b, style);
	add_palette(b, false);
	text_add_str(b, "@media (prefers-color-scheme: dark) {\n");
	add_palette(b, true);
	text_add_str(b, "}\n</style>\n<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n");
	text_add_str(b, "<g class=\"graph\">\n");
}

void flamesvg_open_note(struct text_buf *b, const struct flamesvg_page *page)
{
	text_add_str(b, "</g>\n");
	svg_add_number(b, "<text class=\"note\" x=\"", FLAMESVG_PAD);
	svg_add_number(b, "\" y=\"", page->height - 10);
	text_add_str(b, "\">");
}

void flamesvg_close(struct text_buf *b, const struct flamesvg_page *page)
{
	unsigned columns = (unsigned)(FLAMESVG_INNER / COLUMN);

	text_add_str(b, "<g class=\"head\">\n<rect class=\"bg\" width=\"100%\"");
	svg_add_number(b, " height=\"", FLAMESVG_TOP - 4);
	svg_add_number(b, "\"/>\n<text class=\"title\" x=\"", FLAMESVG_PAD);
	text_add_str(b, "\" y=\"28\">");
	svg_add_cut(b, page->title, columns * 12 / 17);
	svg_add_number(b, "</text>\n<text class=\"sub\" x=\"", FLAMESVG_PAD);
	text_add_str(b, "\" y=\"48\">");
	svg_add_cut(b, page->subtitle, columns);
	svg_add_number(b, "</text>\n<text class=\"detail\" x=\"", FLAMESVG_PAD);
	text_add_str(b, "\" y=\"66\"></text>\n</g>\n<script><![CDATA[\n");
	text_add_str(b, script);
	text_add_str(b, "]]></script>\n</svg>\n");
}

/* A name without its provider, where the whole does not fit. */
static const char *short_label(const char *label, unsigned columns)
{
	const char *colons = strstr(label, "::");

	return colons && label[text_fit(label, columns)] ? colons + 2 : label;
}

void flamesvg_box(struct text_buf *b, const char *label, const char *kind,
		  const struct flamesvg_providers *providers, double x, double y, double width)
{
	unsigned columns =
		width > 2 * TEXT_INSET ? (unsigned)((width - 2 * TEXT_INSET) / COLUMN) : 0;

	text_add_str(b, "<rect class=\"");
	if (kind)
		text_add_str(b, kind);
	else
		add_class(b, label, providers->several);
	svg_add_number(b, "\" x=\"", x);
	svg_add_number(b, "\" y=\"", y);
	svg_add_number(b, "\" width=\"", width > 4 * GAP ? width - GAP : width);
	svg_add_number(b, "\" height=\"", FRAME_HEIGHT);
	text_add_str(b, "\"/>");
	if (columns >= 3) {
		svg_add_number(b, "<text x=\"", x + TEXT_INSET);
		svg_add_number(b, "\" y=\"", y + 13);
		text_add_str(b, "\">");
		svg_add_cut(b, short_label(label, columns), columns);
		text_add_str(b, "</text>");
	}
}
