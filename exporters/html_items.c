/* SPDX-License-Identifier: MIT */
/* The items of a timeline for the page of the format `html`; the form stands in html_data.h. */
#include <string.h>

#include "../user/util/varint.h"
#include "html_data.h"

#define CHUNK 3072 /* bytes encoded at a time; three of them are four letters */

struct sink {
	FILE *out;
	u8 bytes[CHUNK];
	size_t n;
};

static void flush(struct sink *s)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[CHUNK / 3 * 4];
	size_t length = 0;

	for (size_t i = 0; i < s->n; i += 3) {
		size_t rest = s->n - i;
		u32 bits = (u32)s->bytes[i] << 16;

		bits |= rest > 1 ? (u32)s->bytes[i + 1] << 8 : 0;
		bits |= rest > 2 ? (u32)s->bytes[i + 2] : 0;
		text[length++] = letters[bits >> 18];
		text[length++] = letters[bits >> 12 & 63];
		text[length++] = rest > 1 ? letters[bits >> 6 & 63] : '=';
		text[length++] = rest > 2 ? letters[bits & 63] : '=';
	}
	fwrite(text, 1, length, s->out);
	s->n = 0;
}

static void put_bytes(struct sink *s, const u8 *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		s->bytes[s->n++] = bytes[i];
		if (s->n == CHUNK)
			flush(s);
	}
}

/* For a reader whose numbers are doubles: beyond those it is the greatest. */
static u64 event_code(s64 value)
{
	const s64 most = 1ll << 51;

	if (value > most || value < -most)
		value = value < 0 ? -most : most;
	return varint_zigzag(value) + 1;
}

static void put_item(struct sink *s, const struct timeline_item *item, u64 before_ns, bool event,
		     bool cpu)
{
	u8 bytes[6 * VARINT_MAX + 1], *end = bytes;
	double share = item->busy_ns ? (double)item->value / (double)item->busy_ns : 0;

	end = varint_put(end, item->start_ns - before_ns);
	end = varint_put(end, (item->end_ns - item->start_ns) << 1 | (item->count > 1));
	end = varint_put(end, item->label);
	if (item->count > 1) {
		end = varint_put(end, item->count);
		end = varint_put(end, item->busy_ns);
		end = varint_put(end, item->longest_ns);
	} else if (event) {
		end = varint_put(end, item->busy_ns ? event_code((s64)item->value) : 0);
	}
	if (cpu)
		*end++ = (u8)((share < 1 ? share : 1) * 255 + 0.5);
	put_bytes(s, bytes, (size_t)(end - bytes));
}

static void put_lane(struct sink *s, const struct timeline_lane *lane, u64 before_ns, bool cpu)
{
	for (u32 i = 0; i < lane->nitems; i++) {
		put_item(s, &lane->items[i], before_ns, lane->events, cpu && !lane->events);
		before_ns = lane->items[i].start_ns;
	}
}

void html_write_items(const struct timeline *timeline, bool cpu, FILE *out)
{
	struct sink s = {.out = out};

	for (u32 l = 0; l < timeline->nlanes; l++)
		put_lane(&s, &timeline->lanes[l], timeline->start_ns, cpu);
	flush(&s);
}
