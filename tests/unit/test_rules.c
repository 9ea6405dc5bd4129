/* SPDX-License-Identifier: MIT */
/* The grammar of rules: what each statement means, and where and how each mistake is told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/pair/rules.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The rules of TEXT, before the built-in ones. */
static struct rules *parsed(const char *text)
{
	struct rules *rules = NULL;
	char why[256] = "";

	assert_int_equal(rules_new(&rules), 0);
	if (rules_add(rules, "t.rules", text, strlen(text), why, sizeof(why)))
		fail_msg("%s", why);
	return rules;
}

static const struct rule *find(const struct rules *rules, const char *provider, const char *name)
{
	for (size_t i = 0; i < rules->nrules; i++) {
		const struct rule *rule = &rules->rules[i];

		if (!strcmp(rule->provider, provider) &&
		    !strcmp(rule->kind == MODEL_EVENT ? rule->starts[0] : rule->name, name))
			return rule;
	}
	fail_msg("no rule %s:%s", provider, name);
	return NULL;
}

static void test_built_in(void **state)
{
	struct rules *rules = NULL;
	const struct rule *rule;

	(void)state;
	assert_int_equal(rules_new(&rules), 0);
	assert_true(rules->nrules > 80);
	rule = find(rules, "php", "function");
	assert_int_equal(rule->kind, MODEL_THREAD_SPAN);
	assert_true(rule->recursive);
	assert_null(rule->file);
	assert_string_equal(rule->starts[0], "function__entry");
	assert_string_equal(rule->ends[0], "function__return");
	assert_int_equal(rule->own.ntexts, 2);
	assert_int_equal(rule->own.texts[0].arg, 3);
	assert_int_equal(rule->own.texts[1].arg, 0);
	assert_int_equal(rule->own.texts[0].length_arg, -1);
	assert_string_equal(rule->own.joint, "::");
	assert_string_equal(rule->own.prefix, "");
	rule = find(rules, "hotspot", "mem__pool__gc");
	assert_int_equal(rule->kind, MODEL_ASYNC_SPAN);
	assert_int_equal(rule->id_arg, 2);
	assert_int_equal(rule->end_id_arg, 2);
	assert_int_equal(rule->own.texts[0].arg, 2);
	assert_int_equal(rule->own.texts[0].length_arg, 3);
	assert_non_null(rules_provider(rules, "hotspot_jni")->left_out);
	assert_null(rules_provider(rules, "postgresql")->left_out);
	assert_null(rules_provider(rules, "nobody"));
	rules_free(&rules);
	assert_null(rules);
}

static void test_statements(void **state)
{
	struct rules *rules = parsed("# a comment\r\n"
				     "provider app # and another\n"
				     "  hint \"turn \\\"it\\\" on \\\\ off # now\"\n"
				     "span job\n"
				     "\tstart go  go_on\n"
				     "\tstart again\n"
				     "\tend ok failed\n"
				     "\tid arg1 arg11\n"
				     "\tname \"job of \"string(arg2,arg3) \" / \" string( arg4 )\n"
				     "\tlabel user string(arg5) max 20\n"
				     "\tlabel size arg6\n"
				     "\tleft_out \"hot\"\n"
				     "event tick tock\n"
				     "\twhy \"time\"\n"
				     "\tlabel n arg0");
	const struct rule *rule = find(rules, "app", "job");

	(void)state;
	assert_string_equal(rules_provider(rules, "app")->hint, "turn \"it\" on \\ off # now");
	assert_int_equal(rule->kind, MODEL_ASYNC_SPAN);
	assert_int_equal(rule->nstarts, 3);
	assert_string_equal(rule->starts[1], "go_on");
	assert_string_equal(rule->starts[2], "again");
	assert_int_equal(rule->nends, 2);
	assert_string_equal(rule->ends[1], "failed");
	assert_int_equal(rule->id_arg, 1);
	assert_int_equal(rule->end_id_arg, 11);
	assert_string_equal(rule->own.prefix, "job of ");
	assert_string_equal(rule->own.joint, " / ");
	assert_int_equal(rule->own.texts[0].arg, 2);
	assert_int_equal(rule->own.texts[0].length_arg, 3);
	assert_int_equal(rule->own.texts[1].arg, 4);
	assert_int_equal(rule->own.texts[1].length_arg, -1);
	assert_int_equal(rule->nlabels, 2);
	assert_string_equal(rule->labels[0].key, "user");
	assert_true(rule->labels[0].is_text);
	assert_int_equal(rule->labels[0].text.arg, 5);
	assert_int_equal(rule->labels[0].max, 20);
	assert_string_equal(rule->labels[1].key, "size");
	assert_false(rule->labels[1].is_text);
	assert_int_equal(rule->labels[1].text.arg, 6);
	assert_string_equal(rule->left_out, "hot");
	assert_string_equal(rule->file, "t.rules");
	assert_int_equal(rule->line, 4);
	rule = find(rules, "app", "tick");
	assert_int_equal(rule->kind, MODEL_EVENT);
	assert_int_equal(rule->nstarts, 2);
	assert_string_equal(rule->starts[1], "tock");
	assert_string_equal(rule->why, "time");
	assert_int_equal(rule->labels[0].text.arg, 0);
	rules_free(&rules);
}

/* What stands first wins, and a file comes before what was there. */
static void test_files_replace(void **state)
{
	struct rules *rules = parsed("provider php\nspan function\n start a\n end b\n");
	const char later[] = "provider php\nhint \"mine\"\nspan function\n start c\n end d\n";
	size_t n = rules->nrules;
	char why[256] = "";

	(void)state;
	assert_string_equal(find(rules, "php", "function")->starts[0], "a");
	assert_int_equal(rules_add(rules, "later", later, strlen(later), why, sizeof(why)), 0);
	assert_string_equal(find(rules, "php", "function")->starts[0], "c");
	assert_int_equal(rules->nrules, n);
	assert_string_equal(rules_provider(rules, "php")->hint, "mine");
	rules_free(&rules);
}

#define SPAN "provider app\nspan job\n start go\n end ok\n"

static const struct {
	const char *text, *why;
} mistakes[] = {
	{"span job\n", "t:1:1: it has no provider; write one before it: provider NAME"},
	{"\n  start go\n",
	 "t:2:3: `start` does not belong to anything here; write provider NAME before it"},
	{"provider\n", "t:1:9: the provider's name is missing"},
	{"provider a b\n", "t:1:12: `b` is too much here; the line ends before it"},
	{"provider \"a\"\n", "t:1:10: the provider's name is missing"},
	{"provider app\nspam job\n",
	 "t:2:1: `spam` is no statement; those are provider, span, event, and in them start, end, id, recursive, name, label, why, left_out, hint"},
	{"provider app\nstart go\n",
	 "t:2:1: `start` does not belong to a provider; write span NAME or event MARKER before it"},
	{"provider app\nspan job\n end ok\n", "t:2:1: span job has no start; add: start MARKER"},
	{"provider app\nspan job\n start go\nprovider b\n",
	 "t:2:1: span job has no end; add: end MARKER"},
	{SPAN " recursive\n id arg0\n",
	 "t:2:1: span job has an id, and such spans are never recursive; take out one of the two"},
	{SPAN "span job\n", "t:5:6: span job of app stands in line 2 already; put both into one"},
	{SPAN " start app:go\n",
	 "t:5:8: `app:go`: the provider's name is not repeated here; write what stands behind the colon"},
	{SPAN " end go\n", "t:5:6: marker go is named twice"},
	{SPAN " end\n", "t:5:5: a marker is missing"},
	{SPAN " id 0\n", "t:5:5: an argument is missing; write arg0 for the first, up to arg11"},
	{SPAN " id arg12\n",
	 "t:5:5: an argument is missing; write arg0 for the first, up to arg11"},
	{SPAN " id arg0x\n",
	 "t:5:5: an argument is missing; write arg0 for the first, up to arg11"},
	{SPAN " name \"x\"\n",
	 "t:5:10: a part of the name is missing; write string(arg0), or string(arg0, arg1) where arg1 is its length"},
	{SPAN " name string(arg0) \"long\" string(arg1)\n",
	 "t:5:20: \"long\" is too long between two parts of a name; 3 bytes are the most"},
	{SPAN " name string(arg0) string(arg1) string(arg2)\n",
	 "t:5:33: a name has 2 parts at most"},
	{SPAN " name string(arg0)\n name string(arg0)\n", "t:6:1: the name is given twice"},
	{SPAN " name string arg0\n", "t:5:14: `(` is missing"},
	{SPAN " name string(arg0\n", "t:5:18: `)` is missing"},
	{SPAN " name string(arg0,)\n",
	 "t:5:19: an argument is missing; write arg0 for the first, up to arg11"},
	{SPAN " label\n", "t:5:7: the label's key is missing"},
	{SPAN " label a\n",
	 "t:5:9: the label's value is missing; write arg0 for a number, string(arg0) for a text"},
	{SPAN " label a arg0 max 10\n", "t:5:15: `max` is too much here; the line ends before it"},
	{SPAN " label a string(arg0) max 256\n",
	 "t:5:27: a text is cut to 1 to 255 bytes; write: max 100"},
	{SPAN " label a string(arg0) max 0\n",
	 "t:5:27: a text is cut to 1 to 255 bytes; write: max 100"},
	{SPAN " label a arg0\n label a arg1\n", "t:6:8: label a is given twice"},
	{SPAN " label a arg0\n label b arg0\n label c arg0\n label d arg0\n label e arg0\n",
	 "t:9:1: a span has 4 labels at most"},
	{SPAN " why \"x\"\n", "t:5:2: `why` does not belong to a span"},
	{"provider app\nevent go\n id arg0\n", "t:3:2: `id` does not belong to an event"},
	{SPAN " hint\n",
	 "t:5:6: a text is missing; write hint \"what to do where it never fires\""},
	{SPAN " hint \"\"\n",
	 "t:5:7: a text is missing; write hint \"what to do where it never fires\""},
	{SPAN " hint \"x\n\"\n", "t:5:7: this text has no end; close it with \" on the same line"},
	{SPAN " hint \"x", "t:5:7: this text has no end; close it with \" on the same line"},
	{SPAN " hint \"x\\", "t:5:7: this text has no end; close it with \" on the same line"},
	{SPAN " hint \"x\x01\"\n", "t:5:9: a control character; texts are plain"},
	{"provider \x7f\n", "t:1:10: a control character; a file of rules is plain text"},
};

static void test_mistakes(void **state)
{
	struct rules *rules = parsed("");
	size_t n = rules->nrules;

	(void)state;
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		/* From memory of exactly its size, for the sanitizers. */
		size_t size = strlen(mistakes[i].text);
		char *text = malloc(size);
		char why[256] = "";

		assert_non_null(text);
		memcpy(text, mistakes[i].text, size);
		assert_int_equal(rules_add(rules, "t", text, size, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, mistakes[i].why);
		assert_int_equal(rules->nrules, n);
		free(text);
	}
	rules_free(&rules);
}

static void test_limits(void **state)
{
	struct rules *rules = parsed("");
	char why[256] = "", text[4096] = "provider app\nspan job\n start";

	(void)state;
	for (int i = 0; i <= RULE_MARKERS; i++)
		snprintf(text + strlen(text), 16, " m%d", i);
	assert_int_equal(rules_add(rules, "t", text, strlen(text), why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "t:3:62: more than 16 markers");
	memset(text, 'x', 200);
	text[200] = '\0';
	assert_int_equal(rules_add(rules, "t", text, strlen(text), why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "t:1:1: this word is too long; 127 bytes are the most");
	memset(text, 'x', 1000);
	text[0] = '"';
	text[1000] = '\0';
	assert_int_equal(rules_add(rules, "t", text, strlen(text), why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "t:1:1: this text is too long; 511 bytes are the most");
	/* A NUL is no end of the text. */
	assert_int_equal(rules_add(rules, "t", "#\n\0x", 4, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "t:2:1: a control character; a file of rules is plain text");
	rules_free(&rules);
}

static void test_from_file(void **state)
{
	char path[] = "/tmp/test_rules.XXXXXX", why[512] = "";
	struct rules *rules = parsed("");
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "provider app\nspan job\n start go\n end ok\n") > 0);
	assert_int_equal(rules_add_file(rules, path, why, sizeof(why)), 0);
	assert_string_equal(find(rules, "app", "job")->file, path);
	assert_int_equal(ftruncate(fd, RULES_FILE_MAX + 1), 0);
	assert_int_equal(rules_add_file(rules, path, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "more than a megabyte"));
	unlink(path);
	close(fd);
	assert_int_equal(rules_add_file(rules, path, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, path));
	assert_int_equal(rules_add_file(rules, "/", why, sizeof(why)), -EIO);
	rules_free(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in),      cmocka_unit_test(test_statements),
		cmocka_unit_test(test_files_replace), cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_limits),        cmocka_unit_test(test_from_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
