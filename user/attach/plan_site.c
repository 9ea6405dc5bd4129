/* SPDX-License-Identifier: MIT */
/* What is read at one site: the span's id, an event's value, labels, and what the span is called by. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/note.h"
#include "../util/cleanup.h"
#include "plan_impl.h"

int plan_refuse_site(struct plan *plan, const struct plan_file *file,
		     const struct elfnote_site *site, const char *why)
{
	AUTO_FREE char *marker = NULL;

	if (asprintf(&marker, "%s:%s at %#llx of %s", site->provider, site->name,
		     (unsigned long long)site->vaddr, file->shown) < 0) {
		marker = NULL;
		return -ENOMEM;
	}
	return plan_refuse(plan, marker, why);
}

/* Whether the event's first argument is a number to add up: spantrace.h says so, or its form does (an
 * unsigned long may as well be a pointer). */
static bool event_has_value(const struct elfnote_site *site, const struct rule *rule)
{
	const struct elfnote_arg *arg = &site->args[0];

	if (site->nargs == 0 || arg->operand.form == OPERAND_NONE ||
	    arg->operand.form == OPERAND_FLOAT)
		return false;
	if (site->has_meta)
		return arg->key && strcmp(arg->key, "value") == 0;
	/* A rule that makes it a label knows that it is something else. */
	for (u32 i = 0; rule && i < rule->nlabels; i++)
		if (rule->labels[i].text.arg == 0)
			return false;
	return arg->operand.is_signed || arg->operand.size < 8;
}

const char *plan_describe_site(const struct elfnote_site *site, const struct pair_def *def,
			       enum pair_role role, bool has_new, struct wire_site *row, u32 *flags)
{
	int id_arg = role == PAIR_CLOSE ? def->end_id_arg : def->id_arg;

	*flags = (def->recursive ? SITE_RECURSIVE : 0) | (has_new ? SITE_HAS_NEW : 0);
	if (def->kind == MODEL_EVENT && event_has_value(site, def->rule)) {
		*flags |= SITE_HAS_VALUE;
		row->id = site->args[0].operand;
	}
	if (def->kind != MODEL_ASYNC_SPAN)
		return NULL;
	if (id_arg < 0 || (u32)id_arg >= site->nargs)
		return "it lacks the argument that is the span's id";
	if (site->args[id_arg].why)
		return site->args[id_arg].why;
	row->id = site->args[id_arg].operand;
	if (role == PAIR_NEW && site->has_meta && site->nargs > 1 &&
	    (site->args[1].operand.form != OPERAND_CONST || site->args[1].operand.disp))
		row->parent = site->args[1].operand;
	return NULL;
}

/* What is gathered for one site. */
struct gathering {
	struct plan *plan;
	const struct plan_file *file;
	const struct elfnote_site *site;
	struct wire_site *row;
	const char *keys[LABELS_MAX];
	u32 n;
};

static bool asked_for(const struct plan *plan, const char *key)
{
	for (size_t i = 0; i < plan->nlabel_keys; i++)
		if (strcmp(plan->label_keys[i], key) == 0)
			return true;
	return false;
}

static bool wanted(const struct plan *plan, const char *key)
{
	return plan->all_labels || asked_for(plan, key);
}

static int complain(struct gathering *g, const char *what, u32 arg, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "it stands without its %s, argument %u: %s", what, arg, why);
	return plan_refuse_site(g->plan, g->file, g->site, text);
}

/* The operand of argument ARG; NULL, which has been said, where it cannot be read. WHAT it is for. */
static const struct operand *operand_of(struct gathering *g, u32 arg, const char *what, int *err)
{
	const struct elfnote_site *site = g->site;

	if (arg < site->nargs && arg < ELFNOTE_MAX_ARGS && !site->args[arg].why)
		return &site->args[arg].operand;
	*err = complain(g, what, arg,
			arg < site->nargs && arg < ELFNOTE_MAX_ARGS ? site->args[arg].why
								    : "there are not so many");
	return NULL;
}

/* The operands of a text. False where one of them cannot be read. */
static bool text_operands(struct gathering *g, const struct rule_text *text, const char *what,
			  struct operand *address, struct operand *length, int *err)
{
	const struct operand *o = operand_of(g, text->arg, what, err);

	if (o && text->length_arg >= 0) {
		const struct operand *bytes = operand_of(g, (u32)text->length_arg, what, err);

		if (!bytes)
			return false;
		*length = *bytes;
	}
	if (o)
		*address = *o;
	return o != NULL;
}

static int add_rule_label(struct gathering *g, const struct rule_label *label)
{
	char what[80];
	int err = 0;

	snprintf(what, sizeof(what), "label %.64s", label->key);
	if (!text_operands(g, &label->text, what, &g->row->labels[g->n], &g->row->lengths[g->n],
			   &err))
		return err;
	if (label->is_text)
		g->row->strings |= 1u << g->n;
	g->row->max[g->n] = (u8)label->max;
	g->keys[g->n++] = label->key;
	return 0;
}

/* A label of spantrace.h, which makes the address of a string unsigned, any other label signed. */
static void add_own_label(struct gathering *g, const struct elfnote_arg *arg)
{
	g->row->labels[g->n] = arg->operand;
	if (!arg->operand.is_signed && arg->operand.size == 8)
		g->row->strings |= 1u << g->n;
	g->row->max[g->n] = STRING_MAX - 1;
	g->keys[g->n++] = arg->key;
}

/* Arguments that nobody has given a key, as numbers. */
static int add_bare(struct gathering *g, const struct pair_def *def, bool has_value)
{
	static const char *const keys[ELFNOTE_MAX_ARGS] = {"arg0", "arg1", "arg2",  "arg3",
							   "arg4", "arg5", "arg6",  "arg7",
							   "arg8", "arg9", "arg10", "arg11"};
	bool all = g->plan->all_labels && !(def->rule && def->rule->nlabels);
	int err = 0;

	for (u32 i = 0; i < ELFNOTE_MAX_ARGS && i < g->site->nargs && g->n < LABELS_MAX; i++) {
		const struct operand *o;

		/* A number that is the id or the value already is not told twice unless it is asked for. */
		if (!asked_for(g->plan, keys[i]) &&
		    (!all || (int)i == def->id_arg || (i == NOTE_ARG_VALUE && has_value) ||
		     g->site->args[i].why))
			continue;
		o = operand_of(g, i, "label", &err);
		if (err)
			return err;
		if (!o)
			continue;
		g->row->labels[g->n] = *o;
		g->keys[g->n++] = keys[i];
	}
	return 0;
}

static int gather_labels(struct gathering *g, const struct pair_def *def, bool has_value)
{
	const struct elfnote_site *site = g->site;
	int err = 0;

	for (u32 i = 0; def->rule && i < def->rule->nlabels && !err; i++)
		if (wanted(g->plan, def->rule->labels[i].key))
			err = add_rule_label(g, &def->rule->labels[i]);
	for (u32 i = 0; site->has_meta && i < site->nargs && g->n < LABELS_MAX; i++) {
		const struct elfnote_arg *arg = &site->args[i];

		if (arg->key && !arg->why && wanted(g->plan, arg->key) &&
		    !(i == NOTE_ARG_VALUE && has_value))
			add_own_label(g, arg);
	}
	if (!err && !site->has_meta)
		err = add_bare(g, def, has_value);
	return err;
}

static int gather_name(struct gathering *g, const struct rule_name *own, u32 *flags)
{
	int err = 0;

	for (u32 i = 0; i < own->ntexts; i++)
		if (!text_operands(g, &own->texts[i], "name", &g->row->name[i],
				   &g->row->name_lengths[i], &err))
			return err;
	g->row->joint_length = (u32)strlen(own->joint);
	memcpy(g->row->joint, own->joint, g->row->joint_length);
	*flags |= SITE_HAS_NAME;
	return 0;
}

int plan_describe_texts(struct plan *plan, struct trace *trace, const struct plan_file *file,
			const struct elfnote_site *site, const struct pair_binding *binding,
			const struct pair_def *def, struct wire_site *row, u32 *flags)
{
	struct gathering g = {.plan = plan, .file = file, .site = site, .row = row};
	int err = 0;

	if (binding->role == PAIR_EXIT || binding->role == PAIR_CLOSE)
		return 0;
	if (def->rule && def->rule->own.ntexts)
		err = gather_name(&g, &def->rule->own, flags);
	if (!err)
		err = gather_labels(&g, def, *flags & SITE_HAS_VALUE);
	if (err || !g.n)
		return err;
	*flags |= SITE_HAS_LABELS;
	for (u32 i = 0; i < g.n; i++)
		if (trace_id_number(g.keys[i]))
			row->ids[trace_id_number(g.keys[i]) - 1] = (u8)(i + 1);
	return trace_add_site(trace, plan->next_site, g.keys, g.n, row->strings);
}
