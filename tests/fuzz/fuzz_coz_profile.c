// SPDX-License-Identifier: MIT
/* Throws damaged profiles of coz, of both forms, at user/coz/coz_profile.c, and at what estimates, prints and draws. Meant
 * for -fsanitize=address,undefined.
 *
 *   fuzz_coz_profile [-n COUNT] [-s SEED] FILE…
 *
 * makes COUNT (100,000) texts of the FILEs' lines: letters, numbers, fields and lines changed, put in, taken out and
 * doubled, of both files in one; the same SEED makes the same ones. When it fails, the text is left in
 * fuzz_coz_profile.crash.
 *
 * With -DFUZZ_LIBFUZZER and -fsanitize=fuzzer it is a target for libFuzzer instead.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/coz/coz_report.h"
#include "../../user/util/cleanup.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long taken, turned_down, experiments, damaged, known;

static void check_cell(const struct coz_profile *p, const struct coz_cell *cell)
{
	struct coz_estimate estimate;
	u64 n = 0;

	CHECK(cell->line < p->nlines && cell->point < p->npoints);
	for (u32 step = 0; step < COZ_STEPS; step++)
		n += cell->bins[step].n;
	CHECK(n == cell->n);
	for (u64 i = 0; i < cell->n; i++) {
		const struct coz_trial *trial = &cell->trials[i];

		CHECK(trial->x >= 0 && trial->x <= 1);
		CHECK(isfinite(trial->y) && trial->y >= 0);
		CHECK(isfinite(trial->w) && trial->w > 0);
	}
	CHECK(coz_estimate(cell, &estimate) == 0);
	if (!estimate.known)
		return;
	known++;
	CHECK(isfinite(estimate.gain));
	CHECK(isfinite(estimate.error) && estimate.error >= 0);
	CHECK(estimate.best_step < COZ_STEPS);
}

/* Into nothing. */
static void show(const struct coz_profile *p)
{
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	CHECK(nowhere);
	CHECK(coz_print(p, 3, nowhere) == 0);
	CHECK(coz_print_json(p, nowhere) == 0);
	CHECK(coz_draw(p, 3, false, nowhere) == 0);
	CHECK(coz_draw(p, 3, true, nowhere) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(coz_profile_free) struct coz_profile *p = NULL;
	AUTO_FCLOSE FILE *file = fmemopen((void *)data, size ? size : 1, "r");
	int err;

	CHECK(file && coz_profile_new(&p) == 0);
	err = coz_profile_read(p, file);
	CHECK(!err || err == -EBADMSG || err == -EFBIG);
	if (err) {
		turned_down++;
		return 0;
	}
	taken++;
	experiments += p->experiments;
	damaged += p->damaged;
	for (size_t i = 0; i < p->ncells; i++)
		check_cell(p, p->cells[i]);
	if (taken % 16 == 0)
		show(p);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

/* Lines of SEED from some place on. */
static void add_lines(struct fuzz_random *r, const struct elfbuf *seed, struct elfbuf *out)
{
	size_t from = fuzz_below(r, seed->size), to;

	while (from && seed->data[from - 1] != '\n')
		from--;
	to = from + fuzz_below(r, seed->size - from);
	while (to < seed->size && seed->data[to] != '\n')
		to++;
	elfbuf_add(out, seed->data + from, to - from);
	elfbuf_add(out, "\n", 1);
}

static void insert(struct elfbuf *b, size_t at, const char *text)
{
	size_t len = strlen(text), tail = b->size - at;

	elfbuf_add(b, text, len);
	memmove(b->data + at + len, b->data + at, tail);
	memcpy(b->data + at, text, len);
}

/* Another number in place of one behind AT. */
static void change_number(struct fuzz_random *r, struct elfbuf *b, size_t at)
{
	static const char *const numbers[] = {"0",      "-1",   "1",   "1e308",
					      "nan",    "-inf", "0.5", "18446744073709551615",
					      "1e-320", "99"};
	size_t n = 0;

	while (at < b->size && (b->data[at] < '0' || b->data[at] > '9'))
		at++;
	while (at + n < b->size && b->data[at + n] >= '0' && b->data[at + n] <= '9')
		n++;
	memmove(b->data + at, b->data + at + n, b->size - at - n);
	b->size -= n;
	insert(b, at, numbers[fuzz_below(r, sizeof(numbers) / sizeof(numbers[0]))]);
}

static void change(struct fuzz_random *r, struct elfbuf *b)
{
	static const char *const pieces[] = {
		"experiment\t",
		"throughput-point\t",
		"latency-point\t",
		"samples\t",
		"selected=",
		"speedup=",
		"duration=",
		"delta=",
		"name=x",
		"arrivals=0",
		"difference=",
		"\t",
		"\n",
		"=",
		"{\"type\":",
		"}",
		"\"",
		"\\u00",
		"[[[[",
		"\xff\xfe",
		"<script>",
		"%s%n",
	};
	size_t at = fuzz_below(r, b->size), n;

	switch (fuzz_below(r, 4)) {
	case 0:
		b->data[at] = (uint8_t)fuzz_next(r);
		break;
	case 1:
		n = 1 + fuzz_below(r, fuzz_below(r, 4) ? 12 : b->size - at);
		if (n > b->size - at)
			n = b->size - at;
		memmove(b->data + at, b->data + at + n, b->size - at - n);
		b->size -= n;
		break;
	case 2:
		change_number(r, b, at);
		break;
	default:
		insert(b, at, pieces[fuzz_below(r, sizeof(pieces) / sizeof(pieces[0]))]);
		break;
	}
	if (!b->size)
		elfbuf_add(b, "\n", 1);
}

#define SEEDS_MAX 8
static struct elfbuf seeds[SEEDS_MAX], input;
int main(int argc, char **argv)
{
	struct fuzz_random random;
	unsigned long count = fuzz_options(argc, argv, &random);
	size_t nseeds = 0;

	for (; optind < argc && nseeds < SEEDS_MAX; optind++)
		fuzz_read(argv[optind], &seeds[nseeds++]);
	if (!nseeds)
		return 2;
	fuzz_keep((const uint8_t *const *)&input.data, &input.size);
	for (unsigned long i = 0; i < count; i++) {
		input.size = 0;
		for (size_t n = 1 + fuzz_below(&random, 2); n; n--)
			add_lines(&random, &seeds[fuzz_below(&random, nseeds)], &input);
		for (size_t n = fuzz_below(&random, 6); n; n--)
			change(&random, &input);
		LLVMFuzzerTestOneInput(input.data, input.size);
	}
	printf("%lu profiles read, %lu turned down; %lu experiments, %lu lines damaged, %lu estimates\n",
	       taken, turned_down, experiments, damaged, known);
	while (nseeds)
		free(seeds[--nseeds].data);
	free(input.data);
	return taken && turned_down && known ? 0 : 1;
}

#endif
