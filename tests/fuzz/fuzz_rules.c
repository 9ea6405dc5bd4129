// SPDX-License-Identifier: MIT
/* Throws damaged files of rules at user/rules_parse.c, pairs markers by what it takes, and checks what comes back. Meant
 * for -fsanitize=address,undefined.
 *
 *   fuzz_rules [-n COUNT] [-s SEED] [FILE…]
 *
 * makes COUNT (100,000) texts by changing the built-in rules and the FILEs: letters, words and lines of the grammar put
 * in, taken out and doubled; the same SEED makes the same ones. When it fails, the text is left in fuzz_rules.crash.
 *
 * With -DFUZZ_LIBFUZZER and -fsanitize=fuzzer it is a target for libFuzzer instead.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/elf/elfnote.h"
#include "../../user/pair/pair.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long taken, turned_down, spans, names, labels;

static void check_text(const struct rule_text *text)
{
	CHECK(text->arg < ELFNOTE_MAX_ARGS);
	CHECK(text->length_arg >= -1 && text->length_arg < ELFNOTE_MAX_ARGS);
}

static void check_rule(const struct rule *rule)
{
	CHECK(*rule->provider && rule->nstarts > 0 && rule->nstarts <= RULE_MARKERS);
	CHECK(rule->nends <= RULE_MARKERS && rule->nlabels <= LABELS_MAX);
	CHECK(rule->kind == MODEL_EVENT || (*rule->name && rule->nends > 0));
	CHECK((rule->kind == MODEL_ASYNC_SPAN) == (rule->id_arg >= 0));
	CHECK(rule->id_arg < ELFNOTE_MAX_ARGS && rule->end_id_arg < ELFNOTE_MAX_ARGS);
	CHECK(rule->own.ntexts <= NAME_TEXTS);
	for (u32 i = 0; i < rule->own.ntexts; i++)
		check_text(&rule->own.texts[i]);
	if (rule->own.ntexts)
		CHECK(rule->own.prefix && strlen(rule->own.joint) <= RULE_JOINT_MAX);
	for (u32 i = 0; i < rule->nlabels; i++) {
		check_text(&rule->labels[i].text);
		CHECK(*rule->labels[i].key);
		CHECK(rule->labels[i].max > 0 && rule->labels[i].max < STRING_MAX);
	}
	spans += rule->kind != MODEL_EVENT;
	names += rule->own.ntexts > 0;
	labels += rule->nlabels;
}

static void pair(const struct rules *rules)
{
	static const struct pair_marker markers[] = {
		{"postgresql", "query__start", 1, false},
		{"postgresql", "query__done", 1, false},
		{"postgresql", "transaction__start", 1, false},
		{"postgresql", "transaction__commit", 1, false},
		{"php", "function__entry", 5, false},
		{"php", "function__return", 5, false},
		{"hotspot_jni", "NewString__entry", 3, false},
		{"hotspot_jni", "NewString__return", 1, false},
		{"python", "line", 3, false},
	};
	const struct pair_options options = {.rules = rules};
	struct pair_plan *plan = NULL;

	CHECK(pair_plan_new(markers, sizeof(markers) / sizeof(markers[0]), &options, &plan) == 0);
	for (size_t i = 0; i < plan->ndefs; i++)
		CHECK(plan->defs[i].nbindings > 0 && *plan->defs[i].why);
	pair_plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules *rules = NULL;
	char why[256] = "", *text = malloc(size ? size : 1);
	size_t n;
	int err;

	CHECK(text && rules_new(&rules) == 0);
	memcpy(text, data, size);
	n = rules->nrules;
	err = rules_add(rules, "fuzz", text, size, why, sizeof(why));
	free(text);
	if (err) {
		CHECK(err == -EINVAL && !strncmp(why, "fuzz:", 5) && rules->nrules == n);
		turned_down++;
	} else {
		taken++;
		for (size_t i = 0; i < rules->nrules; i++)
			check_rule(&rules->rules[i]);
		pair(rules);
	}
	rules_free(&rules);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static const char built_in[] =
#include "user/pair/programs.rules.h"
	"";

/* A few lines of SEED, so that most texts are short and whole. */
static void cut(struct fuzz_random *r, const struct elfbuf *seed, struct elfbuf *out)
{
	size_t from = fuzz_below(r, seed->size);
	size_t size = 1 + fuzz_below(r, 1500);
	static const char provider[] = "provider postgresql\n";

	while (from && (seed->data[from - 1] != '\n' || !strchr("spe", seed->data[from])))
		from--;
	if (size > seed->size - from)
		size = seed->size - from;
	while (size < seed->size - from && memcmp(seed->data + from + size - 1, "\n\n", 2) != 0)
		size++;
	out->size = 0;
	elfbuf_add(out, provider, fuzz_below(r, 8) ? sizeof(provider) - 1 : 0);
	elfbuf_add(out, seed->data + from, size);
}

static void insert(struct elfbuf *b, size_t at, const char *text)
{
	size_t len = strlen(text), tail = b->size - at;

	elfbuf_add(b, text, len);
	memmove(b->data + at + len, b->data + at, tail);
	memcpy(b->data + at, text, len);
}

static void change(struct fuzz_random *r, struct elfbuf *b)
{
	static const char *const pieces[] = {
		"provider ",
		"span x\n",
		"event y\n",
		"start a\n",
		"end b\n",
		"id arg0\n",
		"recursive\n",
		"name ",
		"label k ",
		"string(arg0)",
		"arg11",
		"arg12",
		"arg99999999999999999999",
		"max 255",
		"max -1",
		"\"",
		"\\",
		"#",
		"(",
		")",
		",",
		"\n",
		"\t",
		"left_out \"x\"\n",
		"hint \"y\"\n",
		"\"joint\"",
		"why \"z\"\n",
		"::",
		"\xc3\xa9",
		"%s%n",
	};
	size_t at = fuzz_below(r, b->size + 1);

	switch (fuzz_below(r, 4)) {
	case 0:
		if (at < b->size)
			b->data[at] = (uint8_t)fuzz_next(r);
		break;
	case 1:
		if (at < b->size) {
			size_t n = 1 + fuzz_below(r, fuzz_below(r, 4) ? 8 : b->size - at);

			if (n > b->size - at)
				n = b->size - at;
			memmove(b->data + at, b->data + at + n, b->size - at - n);
			b->size -= n;
		}
		break;
	default:
		insert(b, at, pieces[fuzz_below(r, sizeof(pieces) / sizeof(pieces[0]))]);
		break;
	}
}

static struct elfbuf input;

int main(int argc, char **argv)
{
	struct fuzz_random random;
	unsigned long count = fuzz_options(argc, argv, &random);
	struct elfbuf seed = {0};

	elfbuf_add(&seed, built_in, sizeof(built_in) - 1);
	for (; optind < argc; optind++)
		fuzz_read(argv[optind], &seed);
	fuzz_keep((const uint8_t *const *)&input.data, &input.size);
	LLVMFuzzerTestOneInput(seed.data, sizeof(built_in) - 1);
	for (unsigned long i = 0; i < count; i++) {
		cut(&random, &seed, &input);
		for (size_t n = fuzz_below(&random, 4); n; n--)
			change(&random, &input);
		LLVMFuzzerTestOneInput(input.data, input.size);
	}
	printf("%lu texts taken, %lu turned down; %lu spans, %lu names, %lu labels\n", taken,
	       turned_down, spans, names, labels);
	free(seed.data);
	free(input.data);
	return taken && turned_down ? 0 : 1;
}

#endif
