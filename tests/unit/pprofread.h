/* SPDX-License-Identifier: MIT */
/* Reads a profile.pb.gz back, strictly, and says it in lines. Comes behind <cmocka.h>. What the format's own readers refuse
 * fails the test: bytes behind the gzip file's end, unknown fields or types, numbers of strings, functions, locations or
 * mappings that are missing, zero or doubled, values that are not one for each type, strings that are no UTF-8.
 *
 *   types wall/nanoseconds cpu/nanoseconds, default wall, period 1 wall/nanoseconds, time 0, duration 0
 *   # COMMENT
 *   LEAF<PARENT<OUTERMOST VALUE VALUE | KEY=TEXT KEY=NUMBER
 *   mapping FILE BUILD-ID functions,files,lines
 *   function NAME FILE LINE @MAPPING
 */
#ifndef SPANTRACE_TEST_PPROFREAD_H
#define SPANTRACE_TEST_PPROFREAD_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "../../exporters/text.h"
#include "../../user/util/varint.h"

#define PPROF_MAX 8192

struct pprof_piece {
	const u8 *at, *end;
};

struct pprof_field {
	u32 number;
	bool is_bytes;
	u64 value;                /* a number */
	struct pprof_piece bytes; /* a string or a message */
};

struct pprof_read {
	struct pprof_piece samples[PPROF_MAX], mappings[PPROF_MAX];
	struct pprof_piece locations[PPROF_MAX], functions[PPROF_MAX];
	char *strings[PPROF_MAX];
	size_t nsamples, nmappings, nlocations, nfunctions, nstrings, ntypes;
	struct pprof_piece types[32], period_type;
	u64 comments[32], ncomments;
	u64 time, duration, period, default_type;
	struct text_buf text;
};

static inline bool pprof_next(struct pprof_piece *p, struct pprof_field *f)
{
	u64 tag = 0;

	if (p->at == p->end)
		return false;
	assert_true(varint_get(&p->at, p->end, &tag));
	*f = (struct pprof_field){.number = (u32)(tag >> 3), .is_bytes = (tag & 7) == 2};
	if ((tag & 7) != 0 && (tag & 7) != 2)
		fail_msg("field %u has wire type %u", f->number, (unsigned)(tag & 7));
	assert_true(varint_get(&p->at, p->end, &f->value));
	if (f->is_bytes) {
		assert_true(f->value <= (u64)(p->end - p->at));
		f->bytes = (struct pprof_piece){p->at, p->at + f->value};
		p->at += f->value;
	}
	return true;
}

static inline void pprof_expect(const struct pprof_field *f, bool is_bytes)
{
	if (f->is_bytes != is_bytes)
		fail_msg("field %u is of the other type", f->number);
}

/* The fields of a message that are numbers, by number; none of them twice. */
static inline void pprof_numbers(struct pprof_piece p, u64 *numbers, u32 n, u32 allowed)
{
	struct pprof_field f;
	u32 seen = 0;

	memset(numbers, 0, n * sizeof(*numbers));
	while (pprof_next(&p, &f)) {
		pprof_expect(&f, false);
		if (f.number >= n || !(allowed & 1u << f.number) || seen & 1u << f.number)
			fail_msg("field %u is unknown, or there twice", f.number);
		seen |= 1u << f.number;
		numbers[f.number] = f.value;
	}
}

static inline const char *pprof_string(const struct pprof_read *r, u64 id)
{
	if (id >= r->nstrings)
		fail_msg("string %" PRIu64 " of %zu", id, r->nstrings);
	return r->strings[id];
}

static inline void pprof_add_string(struct pprof_read *r, struct pprof_piece p)
{
	char *text = strndup((const char *)p.at, (size_t)(p.end - p.at));
	const char *at = text;
	char bytes[4];

	assert_non_null(text);
	assert_int_equal(strlen(text), p.end - p.at);
	while (*at) {
		const char *from = at;
		size_t n = text_encode(text_next(&at), bytes);

		assert_int_equal(n, at - from);
		assert_memory_equal(from, bytes, n); /* else it was replaced */
	}
	assert_true(r->nstrings < PPROF_MAX);
	assert_true(r->nstrings || !*text);
	r->strings[r->nstrings++] = text;
}

#define PPROF_ADD(r, list, p)                          \
	do {                                           \
		assert_true((r)->n##list < PPROF_MAX); \
		(r)->list[(r)->n##list++] = (p);       \
	} while (0)

static inline void pprof_split(struct pprof_read *r, struct pprof_piece p)
{
	struct pprof_field f;

	while (pprof_next(&p, &f)) {
		pprof_expect(&f, f.number <= 6 || f.number == 11);
		switch (f.number) {
		case 1:
			assert_true(r->ntypes < 32);
			r->types[r->ntypes++] = f.bytes;
			break;
		case 2:
			PPROF_ADD(r, samples, f.bytes);
			break;
		case 3:
			PPROF_ADD(r, mappings, f.bytes);
			break;
		case 4:
			PPROF_ADD(r, locations, f.bytes);
			break;
		case 5:
			PPROF_ADD(r, functions, f.bytes);
			break;
		case 6:
			pprof_add_string(r, f.bytes);
			break;
		case 9:
			r->time = f.value;
			break;
		case 10:
			r->duration = f.value;
			break;
		case 11:
			r->period_type = f.bytes;
			break;
		case 12:
			r->period = f.value;
			break;
		case 13:
			assert_true(r->ncomments < 32);
			r->comments[r->ncomments++] = f.value;
			break;
		case 14:
			r->default_type = f.value;
			break;
		default:
			fail_msg("field %u of the profile is unknown", f.number);
		}
	}
}

static inline void pprof_say(struct pprof_read *r, const char *text)
{
	text_add_str(&r->text, text);
}

static inline void pprof_say_number(struct pprof_read *r, const char *before, u64 number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, (s64)number);
	pprof_say(r, before);
	pprof_say(r, text);
}

static inline void pprof_say_type(struct pprof_read *r, struct pprof_piece p)
{
	u64 n[3];

	pprof_numbers(p, n, 3, 0x6);
	pprof_say(r, " ");
	pprof_say(r, pprof_string(r, n[1]));
	pprof_say(r, "/");
	pprof_say(r, pprof_string(r, n[2]));
}

/* The location of that number: they are 1, 2, 3 … in order, each with one line. */
static inline void pprof_location(const struct pprof_read *r, u64 id, u64 *function, u64 *line,
				  u64 *mapping)
{
	struct pprof_piece p;
	struct pprof_field f;
	u64 n[3];

	if (!id || id > r->nlocations)
		fail_msg("location %" PRIu64 " of %zu", id, r->nlocations);
	*mapping = *function = 0;
	p = r->locations[id - 1];
	while (pprof_next(&p, &f)) {
		pprof_expect(&f, f.number == 4);
		if (f.number == 1) {
			assert_int_equal(f.value, id);
		} else if (f.number == 2) {
			*mapping = f.value;
		} else {
			assert_int_equal(f.number, 4);
			assert_int_equal(*function, 0);
			pprof_numbers(f.bytes, n, 3, 0x6);
			*function = n[1];
			*line = n[2];
		}
	}
	if (!*function || *function > r->nfunctions || *mapping > r->nmappings)
		fail_msg("location %" PRIu64 " has no function or mapping", id);
}

static inline const char *pprof_function(const struct pprof_read *r, u64 id, u64 n[6])
{
	pprof_numbers(r->functions[id - 1], n, 6, 0x3e);
	assert_int_equal(n[1], id);
	return pprof_string(r, n[2]);
}

static inline void pprof_say_label(struct pprof_read *r, struct pprof_piece p)
{
	u64 n[5];

	pprof_numbers(p, n, 5, 0x1e);
	assert_true(n[1]);
	pprof_say(r, " ");
	pprof_say(r, pprof_string(r, n[1]));
	if (n[2]) {
		pprof_say(r, "=");
		pprof_say(r, pprof_string(r, n[2]));
		assert_int_equal(n[3], 0);
		assert_int_equal(n[4], 0);
	} else {
		pprof_say_number(r, "=", n[3]);
		assert_true(n[3] || n[4]); /* a 0 needs a unit to be seen */
		assert_string_equal(pprof_string(r, n[4]), n[3] ? "" : "count");
	}
}

static inline void pprof_say_sample(struct pprof_read *r, struct pprof_piece p)
{
	struct pprof_piece packed[3] = {{0}}, labels = p;
	u64 number = 0, function, line, mapping, n[6];
	struct pprof_field f;
	const char *between = "";
	size_t values = 0;

	while (pprof_next(&p, &f)) {
		assert_true(f.number >= 1 && f.number <= 3);
		pprof_expect(&f, true);
		if (f.number < 3) {
			assert_null(packed[f.number].at);
			packed[f.number] = f.bytes;
		}
	}
	while (packed[1].at < packed[1].end) {
		assert_true(varint_get(&packed[1].at, packed[1].end, &number));
		pprof_location(r, number, &function, &line, &mapping);
		pprof_say(r, between);
		pprof_say(r, pprof_function(r, function, n));
		between = "<";
	}
	while (packed[2].at < packed[2].end) {
		assert_true(varint_get(&packed[2].at, packed[2].end, &number));
		pprof_say_number(r, " ", number);
		values++;
	}
	assert_int_equal(values, r->ntypes);
	pprof_say(r, " |");
	while (pprof_next(&labels, &f))
		if (f.number == 3)
			pprof_say_label(r, f.bytes);
	pprof_say(r, "\n");
}

static inline void pprof_say_names(struct pprof_read *r)
{
	u64 n[10], id, function, line, mapping;

	for (id = 1; id <= r->nmappings; id++) {
		pprof_numbers(r->mappings[id - 1], n, 10, 0x3e2);
		assert_int_equal(n[1], id);
		pprof_say(r, "mapping ");
		pprof_say(r, pprof_string(r, n[5]));
		pprof_say(r, " ");
		pprof_say(r, pprof_string(r, n[6]));
		pprof_say(r, n[7] ? " functions" : " ");
		pprof_say(r, n[8] ? ",files" : "");
		pprof_say(r, n[9] ? ",lines\n" : "\n");
	}
	assert_int_equal(r->nlocations, r->nfunctions);
	for (id = 1; id <= r->nlocations; id++) {
		pprof_location(r, id, &function, &line, &mapping);
		pprof_say(r, "function ");
		pprof_say(r, pprof_function(r, function, n));
		pprof_say(r, " ");
		pprof_say(r, pprof_string(r, n[4]));
		assert_int_equal(n[5], line);
		pprof_say_number(r, " ", line);
		pprof_say_number(r, " @", mapping);
		pprof_say(r, "\n");
	}
}

static inline char *pprof_unzip(const char *bytes, size_t size, size_t *len)
{
	const size_t room = 16u << 20;
	char *out = malloc(room);
	z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)size};

	assert_non_null(out);
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)room;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	*len = z.total_out;
	inflateEnd(&z);
	return out;
}

/* The whole profile in lines, to be freed; LEN bytes of a message that is not packed. */
static inline char *pprof_read_message(const char *bytes, size_t len)
{
	struct pprof_read *r = calloc(1, sizeof(*r));
	char *text;
	size_t i;

	assert_non_null(r);
	pprof_split(r, (struct pprof_piece){(const u8 *)bytes, (const u8 *)bytes + len});
	pprof_say(r, "types");
	for (i = 0; i < r->ntypes; i++)
		pprof_say_type(r, r->types[i]);
	pprof_say(r, ", default ");
	pprof_say(r, pprof_string(r, r->default_type));
	pprof_say_number(r, ", period ", r->period);
	pprof_say_type(r, r->period_type);
	pprof_say_number(r, ", time ", r->time);
	pprof_say_number(r, ", duration ", r->duration);
	for (i = 0; i < r->ncomments; i++) {
		pprof_say(r, "\n# ");
		pprof_say(r, pprof_string(r, r->comments[i]));
	}
	pprof_say(r, "\n");
	for (i = 0; i < r->nsamples; i++)
		pprof_say_sample(r, r->samples[i]);
	pprof_say_names(r);
	assert_false(r->text.failed);
	text = r->text.data;
	for (i = 0; i < r->nstrings; i++)
		free(r->strings[i]);
	free(r);
	return text;
}

/* The same for a file. */
static inline char *pprof_read(const char *bytes, size_t size)
{
	size_t len;
	char *message = pprof_unzip(bytes, size, &len);
	char *text = pprof_read_message(message, len);

	free(message);
	return text;
}

#endif
