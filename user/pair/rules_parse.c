/* SPDX-License-Identifier: MIT */
/* Reads rules from text; the head of programs.rules explains the grammar.
 *
 * A line is a statement: a word, then what belongs to it. `provider`, `span` and `event` open something, any other
 * word says something about what was opened last. A mistake ends the reading, and is told by where it stands and what
 * to write.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../elf/elfnote.h"
#include "../util/grow.h"
#include "../util/strpool.h"
#include "rules.h"

#define WORD_MAX 128
#define TEXT_MAX 512

enum token { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_COMMA };

struct parser {
	struct rules *rules;
	const char *file; /* NULL: built in */
	const char *at, *end, *line_start;
	u32 line;
	const char *provider; /* the one in force */
	struct rule_provider *open_provider;
	struct rule *open; /* at most one of these two is set */
	enum token token;  /* the one at hand, which begins at START */
	const char *start;
	char value[TEXT_MAX]; /* of a word or a text, without quotes */
	char *why;
	size_t len;
	int err;
};

static void move(struct parser *p);

/* The first complaint stays. */
__attribute__((format(printf, 3, 4))) static bool fail_at(struct parser *p, const char *where,
							  const char *format, ...)
{
	va_list args;
	int n;

	if (p->err)
		return false;
	p->err = -EINVAL;
	n = snprintf(p->why, p->len, "%s:%u:%zu: ", p->file ? p->file : "built-in rules", p->line,
		     (size_t)(where - p->line_start) + 1);
	if (n < 0 || (size_t)n >= p->len)
		return false;
	va_start(args, format);
	vsnprintf(p->why + n, p->len - (size_t)n, format, args);
	va_end(args);
	return false;
}

#define fail(p, ...) fail_at(p, (p)->start, __VA_ARGS__)

static const char *keep(struct parser *p, const char *text)
{
	const char *copy = strpool_add(p->rules->strings, text, strlen(text));

	if (!copy && !p->err)
		p->err = -ENOMEM;
	return copy;
}

static bool is_word(char ch)
{
	return ch && !strchr(" \t\r\n\"#(),", ch) && (unsigned char)ch > ' ' && ch != 0x7f;
}

/* The quoted text that begins at P->at. */
static void take_text(struct parser *p)
{
	size_t n = 0;

	p->token = TOKEN_TEXT;
	for (p->at++; p->at < p->end && *p->at != '"' && *p->at != '\n'; p->at++) {
		if (*p->at == '\\' && p->at + 1 < p->end && strchr("\"\\", p->at[1]) && p->at[1])
			p->at++;
		if (iscntrl((unsigned char)*p->at)) {
			fail_at(p, p->at, "a control character; texts are plain");
			return;
		}
		if (n + 1 >= sizeof(p->value)) {
			fail(p, "this text is too long; %d bytes are the most", TEXT_MAX - 1);
			return;
		}
		p->value[n++] = *p->at;
	}
	p->value[n] = '\0';
	if (p->at == p->end || *p->at == '\n')
		fail(p, "this text has no end; close it with \" on the same line");
	else
		p->at++;
}

/* Goes to the next token of the line. */
static void move(struct parser *p)
{
	static const char marks[] = "(),";
	size_t n = 0;

	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
		p->at++;
	p->start = p->at;
	p->value[0] = '\0';
	if (p->err || p->at == p->end || *p->at == '\n' || *p->at == '#') {
		p->token = TOKEN_END;
		return;
	}
	if (*p->at == '"') {
		take_text(p);
		return;
	}
	if (*p->at && strchr(marks, *p->at)) {
		p->token = TOKEN_OPEN + (enum token)(strchr(marks, *p->at) - marks);
		p->value[0] = *p->at++;
		p->value[1] = '\0';
		return;
	}
	p->token = TOKEN_WORD;
	while (p->at < p->end && is_word(*p->at)) {
		if (n + 1 >= WORD_MAX) {
			fail(p, "this word is too long; %d bytes are the most", WORD_MAX - 1);
			return;
		}
		p->value[n++] = *p->at++;
	}
	p->value[n] = '\0';
	if (n == 0)
		fail(p, "a control character; a file of rules is plain text");
}

static bool take_end(struct parser *p)
{
	if (p->token != TOKEN_END)
		return fail(p, "`%s` is too much here; the line ends before it", p->value);
	return !p->err;
}

/* A word that is copied. WHAT it is, for the message. */
static const char *take_word(struct parser *p, const char *what)
{
	const char *word;

	if (p->token != TOKEN_WORD) {
		fail(p, "%s is missing", what);
		return NULL;
	}
	word = keep(p, p->value);
	move(p);
	return word;
}

static bool take_mark(struct parser *p, enum token mark, char ch)
{
	if (p->token != mark)
		return fail(p, "`%c` is missing", ch);
	move(p);
	return true;
}

/* `arg0` */
static bool take_arg(struct parser *p, u32 *out)
{
	char *end = p->value;
	unsigned long n = 0;

	if (p->token == TOKEN_WORD && !strncmp(p->value, "arg", 3) &&
	    isdigit((unsigned char)p->value[3]))
		n = strtoul(p->value + 3, &end, 10);
	if (end == p->value || *end || n >= ELFNOTE_MAX_ARGS)
		return fail(p, "an argument is missing; write arg0 for the first, up to arg%d",
			    ELFNOTE_MAX_ARGS - 1);
	*out = (u32)n;
	move(p);
	return true;
}

/* `string(arg0)` or `string(arg0, arg1)`, behind the word */
static bool take_string(struct parser *p, struct rule_text *out)
{
	u32 length = 0;

	out->length_arg = -1;
	move(p);
	if (!take_mark(p, TOKEN_OPEN, '(') || !take_arg(p, &out->arg))
		return false;
	if (p->token == TOKEN_COMMA) {
		move(p);
		if (!take_arg(p, &length))
			return false;
		out->length_arg = (int)length;
	}
	return take_mark(p, TOKEN_CLOSE, ')');
}

static bool at_string(const struct parser *p)
{
	return p->token == TOKEN_WORD && !strcmp(p->value, "string");
}

static bool take_text_value(struct parser *p, const char **out, const char *example)
{
	if (p->token != TOKEN_TEXT || !*p->value)
		return fail(p, "a text is missing; write %s", example);
	*out = keep(p, p->value);
	move(p);
	return *out != NULL && take_end(p);
}

/* What a rule must have is looked at when the next one begins: LINE is then the rule's own. */
static bool finish_rule(struct parser *p)
{
	const struct rule *rule = p->open;
	u32 line = p->line;

	p->open = NULL;
	p->open_provider = NULL;
	if (!rule || rule->kind == MODEL_EVENT || p->err)
		return !p->err;
	p->start = p->line_start;
	p->line = rule->line;
	if (!rule->nstarts)
		fail(p, "span %s has no start; add: start MARKER", rule->name);
	else if (!rule->nends)
		fail(p, "span %s has no end; add: end MARKER", rule->name);
	else if (rule->recursive && rule->kind == MODEL_ASYNC_SPAN)
		fail(p,
		     "span %s has an id, and such spans are never recursive; take out one of the two",
		     rule->name);
	p->line = line;
	return !p->err;
}

static bool parse_provider(struct parser *p)
{
	struct rules *rules = p->rules;

	p->provider = take_word(p, "the provider's name");
	if (!p->provider || !take_end(p))
		return false;
	for (size_t i = 0; i < rules->nproviders; i++)
		if (!strcmp(rules->providers[i].name, p->provider)) {
			p->open_provider = &rules->providers[i];
			return true;
		}
	if (rules->nproviders >= RULES_MAX || GROW(rules->providers, rules->nproviders)) {
		p->err = -ENOMEM;
		return false;
	}
	p->open_provider = &rules->providers[rules->nproviders++];
	*p->open_provider = (struct rule_provider){.name = p->provider};
	return true;
}

static bool open_rule(struct parser *p, enum model_kind kind)
{
	struct rules *rules = p->rules;

	if (!p->provider)
		return fail_at(p, p->line_start,
			       "it has no provider; write one before it: provider NAME");
	if (rules->nrules >= RULES_MAX)
		return fail(p, "more than %d rules", RULES_MAX);
	if (GROW(rules->rules, rules->nrules)) {
		p->err = -ENOMEM;
		return false;
	}
	p->open = &rules->rules[rules->nrules++];
	*p->open = (struct rule){
		.provider = p->provider,
		.kind = kind,
		.id_arg = -1,
		.end_id_arg = -1,
		.file = p->file ? keep(p, p->file) : NULL,
		.line = p->line,
	};
	return !p->err;
}

static bool parse_span(struct parser *p)
{
	const struct rules *rules = p->rules;

	if (!open_rule(p, MODEL_THREAD_SPAN))
		return false;
	for (size_t i = 0; i + 1 < rules->nrules; i++) {
		const struct rule *other = &rules->rules[i];

		if (other->kind != MODEL_EVENT && p->token == TOKEN_WORD &&
		    !strcmp(other->name, p->value) && !strcmp(other->provider, p->provider))
			return fail(p, "span %s of %s stands in line %u already; put both into one",
				    p->value, p->provider, other->line);
	}
	p->open->name = take_word(p, "the span's name");
	return p->open->name && take_end(p);
}

static bool contains(const char *const *names, u32 n, const char *name)
{
	for (u32 i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* One or more markers up to the line's end. */
static bool take_markers(struct parser *p, const char **names, u32 *n)
{
	const struct rule *rule = p->open;

	do {
		if (strchr(p->value, ':'))
			return fail(
				p,
				"`%s`: the provider's name is not repeated here; write what stands behind the colon",
				p->value);
		if (*n == RULE_MARKERS)
			return fail(p, "more than %d markers", RULE_MARKERS);
		if (p->token == TOKEN_WORD && (contains(rule->starts, rule->nstarts, p->value) ||
					       contains(rule->ends, rule->nends, p->value)))
			return fail(p, "marker %s is named twice", p->value);
		names[*n] = take_word(p, "a marker");
		if (!names[*n])
			return false;
		++*n;
	} while (p->token != TOKEN_END);
	return !p->err;
}

static bool parse_event(struct parser *p)
{
	return open_rule(p, MODEL_EVENT) && take_markers(p, p->open->starts, &p->open->nstarts);
}

static bool parse_start(struct parser *p)
{
	return take_markers(p, p->open->starts, &p->open->nstarts);
}

static bool parse_end(struct parser *p)
{
	return take_markers(p, p->open->ends, &p->open->nends);
}

/* id argN, id argN argM where the end has it elsewhere */
static bool parse_id(struct parser *p)
{
	u32 start = 0, end;

	if (!take_arg(p, &start))
		return false;
	end = start;
	if ((p->token != TOKEN_END && !take_arg(p, &end)) || !take_end(p))
		return false;
	p->open->id_arg = (int)start;
	p->open->end_id_arg = (int)end;
	p->open->kind = MODEL_ASYNC_SPAN;
	return true;
}

static bool parse_recursive(struct parser *p)
{
	p->open->recursive = true;
	return take_end(p);
}

/* name ["PREFIX"] string(…) [["JOINT"] string(…)] */
static bool parse_name(struct parser *p)
{
	struct rule_name *own = &p->open->own;
	const char **text = &own->prefix;

	if (own->ntexts)
		return fail_at(p, p->line_start, "the name is given twice");
	own->prefix = own->joint = "";
	for (;;) {
		if (p->token == TOKEN_TEXT && text) {
			if (text == &own->joint && strlen(p->value) > RULE_JOINT_MAX)
				return fail(
					p,
					"\"%s\" is too long between two parts of a name; %d bytes are the most",
					p->value, RULE_JOINT_MAX);
			*text = keep(p, p->value);
			if (!*text)
				return false;
			move(p);
		}
		if (!at_string(p))
			return fail(
				p,
				"a part of the name is missing; write string(arg0), or string(arg0, arg1) where arg1 is its length");
		if (own->ntexts == NAME_TEXTS)
			return fail(p, "a name has %d parts at most", NAME_TEXTS);
		if (!take_string(p, &own->texts[own->ntexts]))
			return false;
		text = own->ntexts++ == 0 ? &own->joint : NULL;
		if (p->token == TOKEN_END)
			return !p->err;
	}
}

/* label KEY argN, label KEY string(…) [max BYTES] */
static bool parse_label(struct parser *p)
{
	struct rule *rule = p->open;
	struct rule_label *label = &rule->labels[rule->nlabels];
	char *end = p->value;

	if (rule->nlabels == LABELS_MAX)
		return fail_at(p, p->line_start, "a span has %d labels at most", LABELS_MAX);
	for (u32 i = 0; i < rule->nlabels; i++)
		if (p->token == TOKEN_WORD && !strcmp(rule->labels[i].key, p->value))
			return fail(p, "label %s is given twice", p->value);
	label->key = take_word(p, "the label's key");
	if (!label->key)
		return false;
	label->max = STRING_MAX - 1;
	label->is_text = at_string(p);
	label->text.length_arg = -1;
	if (p->token != TOKEN_WORD)
		return fail(
			p,
			"the label's value is missing; write arg0 for a number, string(arg0) for a text");
	if (label->is_text ? !take_string(p, &label->text) : !take_arg(p, &label->text.arg))
		return false;
	if (label->is_text && p->token == TOKEN_WORD && !strcmp(p->value, "max")) {
		unsigned long max = 0;

		move(p);
		end = p->value;
		if (p->token == TOKEN_WORD && isdigit((unsigned char)*p->value))
			max = strtoul(p->value, &end, 10);
		if (max < 1 || max >= STRING_MAX || *end)
			return fail(p, "a text is cut to 1 to %d bytes; write: max 100",
				    STRING_MAX - 1);
		label->max = (u32)max;
		move(p);
	}
	rule->nlabels++;
	return take_end(p);
}

static bool parse_why(struct parser *p)
{
	return take_text_value(p, &p->open->why, "why \"…\"");
}

static bool parse_left_out(struct parser *p)
{
	return take_text_value(p, p->open ? &p->open->left_out : &p->open_provider->left_out,
			       "left_out \"WHY\"");
}

static bool parse_hint(struct parser *p)
{
	return take_text_value(p, p->open ? &p->open->hint : &p->open_provider->hint,
			       "hint \"what to do where it never fires\"");
}

/* What a statement can stand in. */
#define IN_PROVIDER 0x1u
#define IN_SPAN     0x2u
#define IN_EVENT    0x4u
#define OPENS       0x8u

static const struct {
	const char *word;
	unsigned where;
	bool (*parse)(struct parser *p);
} statements[] = {
	{"provider", OPENS, parse_provider},
	{"span", OPENS, parse_span},
	{"event", OPENS, parse_event},
	{"start", IN_SPAN, parse_start},
	{"end", IN_SPAN, parse_end},
	{"id", IN_SPAN, parse_id},
	{"recursive", IN_SPAN, parse_recursive},
	{"name", IN_SPAN | IN_EVENT, parse_name},
	{"label", IN_SPAN | IN_EVENT, parse_label},
	{"why", IN_EVENT, parse_why},
	{"left_out", IN_PROVIDER | IN_SPAN | IN_EVENT, parse_left_out},
	{"hint", IN_PROVIDER | IN_SPAN | IN_EVENT, parse_hint},
};

static bool parse_statement(struct parser *p)
{
	unsigned in = p->open_provider               ? IN_PROVIDER
		      : !p->open                     ? 0
		      : p->open->kind == MODEL_EVENT ? IN_EVENT
						     : IN_SPAN;

	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		if (p->token != TOKEN_WORD || strcmp(statements[i].word, p->value) != 0)
			continue;
		if (statements[i].where != OPENS && !(statements[i].where & in))
			return fail(
				p, "`%s` does not belong to %s", p->value,
				in == IN_PROVIDER
					? "a provider; write span NAME or event MARKER before it"
				: in == IN_EVENT ? "an event"
				: in == IN_SPAN  ? "a span"
						 : "anything here; write provider NAME before it");
		if (statements[i].where == OPENS && !finish_rule(p))
			return false;
		move(p);
		return statements[i].parse(p);
	}
	return fail(
		p,
		"`%s` is no statement; those are provider, span, event, and in them start, end, id, recursive, name, label, why, left_out, hint",
		p->value);
}

int rules_parse(struct rules *rules, const char *file, const char *text, size_t size, char *why,
		size_t len)
{
	struct parser p = {
		.rules = rules,
		.file = file,
		.at = text,
		.end = text + size,
		.why = why,
		.len = len,
	};

	while (p.at < p.end && !p.err) {
		p.line++;
		p.line_start = p.at;
		move(&p);
		if (p.token != TOKEN_END && !p.err)
			parse_statement(&p);
		if (p.err || p.at >= p.end)
			break;
		p.at = memchr(p.at, '\n', (size_t)(p.end - p.at));
		p.at = p.at ? p.at + 1 : p.end;
	}
	if (!p.err) {
		p.line_start = p.at;
		finish_rule(&p);
	}
	return p.err;
}
