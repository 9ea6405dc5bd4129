/* SPDX-License-Identifier: MIT */
/* A plan of pairs as text: marker names in, one line a definition out. Comes behind <cmocka.h>.
 *
 *   KIND LABEL [recursive] [@ARG] ROLE=MARKER… (WHY)
 *   - LEFT_OUT (WHY)
 *   ! PROBLEM
 */
#ifndef SPANTRACE_TEST_PAIRED_H
#define SPANTRACE_TEST_PAIRED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/pair/pair.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "provider:name/NARGS+", where `/NARGS` defaults to 0 and `+` says that it is made by
 * spantrace.h. */
static inline size_t markers_parse(const char *const *texts, struct pair_marker *out,
				   char (*buffer)[128])
{
	size_t n = 0;

	for (; texts[n]; n++) {
		char *slash, *colon;

		assert_true(strlen(texts[n]) < sizeof(buffer[n]));
		strcpy(buffer[n], texts[n]);
		colon = strchr(buffer[n], ':');
		assert_non_null(colon);
		*colon = '\0';
		slash = strchr(colon + 1, '/');
		out[n] = (struct pair_marker){.provider = buffer[n], .name = colon + 1};
		if (slash) {
			*slash = '\0';
			out[n].nargs = (u32)strtoul(slash + 1, NULL, 10);
			out[n].has_meta = strchr(slash + 1, '+') != NULL;
		}
	}
	return n;
}

static inline char *plan_text(const struct pair_plan *plan, const struct pair_marker *markers)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	for (size_t i = 0; i < plan->ndefs; i++) {
		const struct pair_def *def = &plan->defs[i];

		fprintf(out, "%s %s:%s", pair_kind_name(def->kind), def->provider, def->name);
		if (def->recursive)
			fprintf(out, " recursive");
		if (def->id_arg >= 0)
			fprintf(out, " @%d", def->id_arg);
		assert_true(def->nbindings > 0);
		for (u32 j = 0; j < def->nbindings; j++) {
			const struct pair_binding *b = &plan->bindings[def->first_binding + j];

			assert_int_equal(b->def, i);
			fprintf(out, " %s=%s", pair_role_name(b->role), markers[b->marker].name);
		}
		fprintf(out, " (%s)\n", def->why);
	}
	for (size_t i = 0; i < plan->nleft_out; i++)
		fprintf(out, "- %s (%s)\n", plan->left_out[i].what, plan->left_out[i].why);
	for (size_t i = 0; i < plan->nproblems; i++)
		fprintf(out, "! %s\n", plan->problems[i]);
	fclose(out);
	return text;
}

static inline void check_with(const char *const *texts, const struct pair_options *options,
			      const char *expected)
{
	struct pair_marker markers[64];
	char buffer[64][128];
	size_t n = markers_parse(texts, markers, buffer);
	struct pair_plan *plan = NULL;
	char *text;

	assert_int_equal(pair_plan_new(markers, n, options, &plan), 0);
	text = plan_text(plan, markers);
	assert_string_equal(text, expected);
	free(text);
	pair_plan_free(&plan);
	assert_null(plan);
}

#define MARKERS(...)         ((const char *const[]){__VA_ARGS__, NULL})
#define check(expected, ...) check_with(MARKERS(__VA_ARGS__), NULL, expected)

/* The same with --span SPEC. */
static inline void check_span(const char *spec_text, const char *expected, const char *const *texts)
{
	struct pair_spec *spec = NULL;
	struct pair_options options = {.specs = &spec, .nspecs = 1};
	char why[256] = "";

	assert_int_equal(pair_spec_new(spec_text, &spec, why, sizeof(why)), 0);
	check_with(texts, &options, expected);
	pair_spec_free(&spec);
	assert_null(spec);
}

#endif
