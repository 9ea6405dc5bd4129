/* SPDX-License-Identifier: MIT */
/* What flame graphs and flame charts share: the page around the frames, and a frame's box, text and colour. The contract
 * with flamegraph.js: frames stand in g.graph, each `<g data-v="weight"><title>name NEWLINE figures</title><rect y= …/>
 * [<text>]</g>`; a graph's depth first, a chart's in any order and with data-s, where on the axis they start. */
#ifndef SPANTRACE_FLAMESVG_H
#define SPANTRACE_FLAMESVG_H

#include "svg.h"

#define FLAMESVG_WIDTH    1200
#define FLAMESVG_PAD      10
#define FLAMESVG_TOP      74 /* above the frames: title, subtitle, details */
#define FLAMESVG_FOOT     30 /* below them: the note */
#define FLAMESVG_ROW      18
#define FLAMESVG_INNER    (FLAMESVG_WIDTH - 2 * FLAMESVG_PAD)
#define FLAMESVG_MAX_NAME 1024 /* code points of a name in its tooltip */

/* Classes of how much of a frame, or how great a change, beside those by name: SHADES from none to all; for changes the
 * middle one is none, less stands below. */
#define FLAMESVG_HEATS   10
#define FLAMESVG_CHANGES 9

struct flamesvg_page {
	const char *title;
	const char *subtitle;   /* safe text */
	const char *attributes; /* of the svg element, with a space in front; or "" */
	double top;             /* where the first row begins */
	double height;
};

/* All up to the first frame, and all after the last; a note stands between. */
void flamesvg_open(struct text_buf *b, const struct flamesvg_page *page);
void flamesvg_close(struct text_buf *b, const struct flamesvg_page *page);
/* Between the two: closes g.graph; the text of the note follows, then "</text>". */
void flamesvg_open_note(struct text_buf *b, const struct flamesvg_page *page);
/* Whose labels there are, as colours depend on it. Starts as zeroes; every label of a span or event has to be seen before
 * the first is drawn, and is borrowed. */
struct flamesvg_providers {
	const char *first; /* a label of the first */
	bool several;
};

void flamesvg_see(struct flamesvg_providers *providers, const char *label);
/* The rectangle and what fits of the LABEL. KIND is the class; NULL: the label's colour. */
void flamesvg_box(struct text_buf *b, const char *label, const char *kind,
		  const struct flamesvg_providers *providers, double x, double y, double width);

#endif
