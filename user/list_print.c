/* SPDX-License-Identifier: MIT */
/* What `spantrace list` shows: tables for people, JSON for programs. See list.h. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../exporters/jsonw.h"
#include "../exporters/text.h"
#include "cli/cli.h"
#include "list.h"
#include "util/cleanup.h"
#include "util/table.h"

/* "x86-64", or BUF for one that has no name here. */
static const char *machine_name(u16 machine, char *buf, size_t size)
{
	if (machine == EM_X86_64)
		return "x86-64";
	if (machine == EM_AARCH64)
		return "arm64";
	snprintf(buf, size, "machine %u", machine);
	return buf;
}

static u32 known_args(const struct elfnote_site *site)
{
	return site->nargs < ELFNOTE_MAX_ARGS ? site->nargs : ELFNOTE_MAX_ARGS;
}

/* By marker, then address: one marker's sites stand together. */
static int compare_sites(const void *a, const void *b)
{
	const struct elfnote_site *sa = *(const struct elfnote_site *const *)a;
	const struct elfnote_site *sb = *(const struct elfnote_site *const *)b;
	int order = strcmp(sa->provider, sb->provider);

	if (!order)
		order = strcmp(sa->name, sb->name);
	return order ? order : (sa->vaddr > sb->vaddr) - (sa->vaddr < sb->vaddr);
}

static bool same_marker(const struct elfnote_site *a, const struct elfnote_site *b)
{
	return !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
}

/* "id=8@%rdi 4@%rsi 8f@%xmm0[WHY]" */
static void format_args(const struct elfnote_site *site, struct text_buf *b)
{
	for (u32 i = 0; i < known_args(site); i++) {
		const struct elfnote_arg *arg = &site->args[i];

		if (i)
			text_add_str(b, " ");
		if (arg->key) {
			text_add_str(b, arg->key);
			text_add_str(b, "=");
		}
		text_add_str(b, arg->text);
		if (arg->why) {
			text_add_str(b, " [");
			text_add_str(b, arg->why);
			text_add_str(b, "]");
		}
	}
	if (site->nargs > ELFNOTE_MAX_ARGS)
		text_add_str(b, " …");
}

static int print_sites(struct elfnote_site *const *sites, size_t n, FILE *out, bool verbose)
{
	AUTO_TABLE table = {.columns = verbose ? 7 : 5};
	const struct elfnote_site *previous = NULL;

	table_add(&table, "MARKER");
	table_add(&table, "ADDRESS");
	table_add(&table, "OFFSET");
	table_add(&table, "SEMAPHORE");
	if (verbose) {
		table_add(&table, "NOP");
		table_add(&table, "SOURCE");
	}
	table_add(&table, "ARGUMENTS");
	for (size_t i = 0; i < n; i++) {
		const struct elfnote_site *site = sites[i];
		AUTO_TEXT args = {0};

		if (site->refused)
			continue;
		format_args(site, &args);
		if (args.failed)
			return -ENOMEM;
		if (previous && same_marker(previous, site))
			table_add(&table, "%s", "");
		else
			table_add(&table, "%s:%s", site->provider, site->name);
		table_add(&table, "0x%" PRIx64, site->vaddr);
		table_add(&table, "0x%" PRIx64, site->offset);
		table_add(&table, "%s", site->sema_vaddr ? "yes" : "no");
		if (verbose) {
			table_add(&table, "%s", elfnote_nop_name(site->nop));
			if (site->source_file)
				table_add(&table, "%s:%u", site->source_file, site->source_line);
			else
				table_add(&table, "%s", "");
		}
		table_add(&table, "%s", args.len ? args.data : "");
		previous = site;
	}
	return previous ? table_print(&table, out, "  ") : 0;
}

static int print_refused(struct elfnote_site *const *sites, size_t n, FILE *out)
{
	AUTO_TABLE table = {.columns = 2};

	for (size_t i = 0; i < n; i++) {
		const struct elfnote_site *site = sites[i];

		if (!site->refused)
			continue;
		table_add(&table, "%s:%s at 0x%" PRIx64, site->provider, site->name, site->vaddr);
		table_add(&table, "%s", site->refused);
	}
	if (table.ncells)
		fputs("  refused:\n", out);
	return table_print(&table, out, "    ");
}

static void print_safe(FILE *out, const char *text)
{
	AUTO_TEXT b = {0};

	text_add_safe(&b, text);
	if (b.len && !b.failed)
		fputs(b.data, out);
}

static void print_file_line(const struct list_file *file, size_t nnames, FILE *out)
{
	const struct elfnote_file *notes = file->notes;
	char buf[32];

	print_safe(out, file->path);
	fprintf(out, ": %zu marker%s at %zu site%s, %s", nnames, nnames == 1 ? "" : "s",
		notes->nsites, notes->nsites == 1 ? "" : "s",
		machine_name(notes->machine, buf, sizeof(buf)));
	if (notes->build_id[0])
		fprintf(out, ", build-id %s", notes->build_id);
	/* A library of the whole machine has too many to be worth reading. */
	for (size_t i = 0; i < file->npids && i < 8; i++)
		fprintf(out, "%s%d",
			i                  ? ", "
			: file->npids == 1 ? ", pid "
					   : ", pids ",
			file->pids[i]);
	if (file->npids > 8)
		fprintf(out, " and %zu more", file->npids - 8);
	fputc('\n', out);
	if (notes->damaged)
		fprintf(out, "  damaged: %s\n", notes->damaged);
}

static int print_file(const struct list_file *file, FILE *out, bool verbose)
{
	const struct elfnote_file *notes = file->notes;
	AUTO_FREE struct elfnote_site **sites = calloc(notes->nsites + 1, sizeof(*sites));
	size_t nnames = 0;
	int err;

	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < notes->nsites; i++)
		sites[i] = &notes->sites[i];
	qsort(sites, notes->nsites, sizeof(struct elfnote_site *), compare_sites);
	for (size_t i = 0; i < notes->nsites; i++)
		nnames += i == 0 || !same_marker(sites[i - 1], sites[i]);

	print_file_line(file, nnames, out);
	err = print_sites(sites, notes->nsites, out, verbose);
	if (!err)
		err = print_refused(sites, notes->nsites, out);
	fputc('\n', out);
	return err;
}

/* Whether binding I of DEF repeats the one before: the same marker at another site. */
static bool repeats(const struct list *list, const struct pair_def *def, u32 i)
{
	const struct pair_binding *b = &list->plan->bindings[def->first_binding + i];

	return i > 0 && b[0].role == b[-1].role &&
	       !strcmp(list->markers[b[0].marker].name, list->markers[b[-1].marker].name) &&
	       !strcmp(list->markers[b[0].marker].provider, list->markers[b[-1].marker].provider);
}

/* "enter job__enter, exit job__exit"; a marker of another provider is given in full. */
static void format_bindings(const struct list *list, const struct pair_def *def, struct text_buf *b)
{
	for (u32 i = 0; i < def->nbindings && def->kind != MODEL_EVENT; i++) {
		const struct pair_binding *binding = &list->plan->bindings[def->first_binding + i];
		const struct pair_marker *marker = &list->markers[binding->marker];

		if (repeats(list, def, i))
			continue;
		if (b->len)
			text_add_str(b, ", ");
		text_add_str(b, pair_role_name(binding->role));
		text_add_str(b, " ");
		if (strcmp(marker->provider, def->provider) != 0) {
			text_add_str(b, marker->provider);
			text_add_str(b, ":");
		}
		text_add_str(b, marker->name);
	}
}

static int print_left_out(const struct pair_plan *plan, FILE *out)
{
	AUTO_TABLE table = {.columns = 3};

	for (size_t i = 0; i < plan->nleft_out; i++) {
		table_add(&table, "%s", plan->left_out[i].what);
		table_add(&table, "%s", plan->left_out[i].why);
		table_add(&table, "-P %s takes it in", plan->left_out[i].what);
	}
	if (table.ncells)
		fputs("\nleft out by rules:\n", out);
	return table_print(&table, out, "  ");
}

int list_print(const struct list *list, FILE *out, bool verbose)
{
	AUTO_TABLE table = {.columns = 4};

	for (size_t i = 0; i < list->nfiles; i++) {
		int err = print_file(&list->files[i], out, verbose);

		if (err)
			return err;
	}
	for (size_t i = 0; i < list->plan->ndefs; i++) {
		const struct pair_def *def = &list->plan->defs[i];
		AUTO_TEXT bindings = {0};

		if (i == 0) {
			table_add(&table, "KIND");
			table_add(&table, "NAME");
			table_add(&table, "WHY");
			table_add(&table, "MARKERS");
		}
		format_bindings(list, def, &bindings);
		if (bindings.failed)
			return -ENOMEM;
		table_add(&table, "%s", pair_kind_name(def->kind));
		table_add(&table, "%s:%s", def->provider, def->name);
		table_add(&table, "%s%s", def->why, def->recursive ? ", recursive" : "");
		table_add(&table, "%s", bindings.len ? bindings.data : "");
	}
	if (list->plan->ndefs)
		fputs("spans and events:\n", out);
	if (table_print(&table, out, "  "))
		return -ENOMEM;
	return print_left_out(list->plan, out);
}

static void json_site(struct jsonw *w, const struct elfnote_site *site)
{
	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_string_pair(w, "marker", site->provider, site->name);
	jsonw_u64(w, "address", site->vaddr);
	jsonw_u64(w, "offset", site->offset);
	if (site->sema_vaddr)
		jsonw_u64(w, "semaphore", site->sema_vaddr);
	jsonw_string(w, "nop", elfnote_nop_name(site->nop));
	if (site->source_file) {
		jsonw_string(w, "file", site->source_file);
		jsonw_u64(w, "line", site->source_line);
	}
	jsonw_array(w, "args", JSONW_INLINE);
	for (u32 i = 0; i < known_args(site); i++) {
		const struct elfnote_arg *arg = &site->args[i];

		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "text", arg->text);
		if (arg->key)
			jsonw_string(w, "key", arg->key);
		if (arg->why)
			jsonw_string(w, "unreadable", arg->why);
		jsonw_end(w);
	}
	jsonw_end(w);
	if (site->refused)
		jsonw_string(w, "refused", site->refused);
	jsonw_end(w);
}

static void json_file(struct jsonw *w, const struct list_file *file)
{
	const struct elfnote_file *notes = file->notes;
	char buf[32];

	jsonw_object(w, NULL, JSONW_LINES);
	jsonw_string(w, "path", file->path);
	if (notes->build_id[0])
		jsonw_string(w, "build_id", notes->build_id);
	jsonw_string(w, "machine", machine_name(notes->machine, buf, sizeof(buf)));
	if (file->npids) {
		jsonw_array(w, "pids", JSONW_INLINE);
		for (size_t i = 0; i < file->npids; i++)
			jsonw_s64(w, NULL, file->pids[i]);
		jsonw_end(w);
	}
	if (notes->damaged)
		jsonw_string(w, "damaged", notes->damaged);
	jsonw_array(w, "sites", JSONW_LINES);
	for (size_t i = 0; i < notes->nsites; i++)
		json_site(w, &notes->sites[i]);
	jsonw_end(w);
	jsonw_end(w);
}

/* What the rule reads besides the id. */
static void json_rule(struct jsonw *w, const struct rule *rule)
{
	jsonw_object(w, "rule", JSONW_INLINE);
	if (rule->file)
		jsonw_string(w, "file", rule->file);
	jsonw_u64(w, "line", rule->line);
	if (rule->own.ntexts)
		jsonw_u64(w, "named", 1);
	jsonw_array(w, "labels", JSONW_INLINE);
	for (u32 i = 0; i < rule->nlabels; i++)
		jsonw_string(w, NULL, rule->labels[i].key);
	jsonw_end(w);
	jsonw_end(w);
}

static void json_def(struct jsonw *w, const struct list *list, const struct pair_def *def)
{
	jsonw_object(w, NULL, JSONW_INLINE);
	jsonw_string(w, "kind", pair_kind_name(def->kind));
	jsonw_string_pair(w, "label", def->provider, def->name);
	if (def->id_arg >= 0)
		jsonw_u64(w, "id_arg", (u64)def->id_arg);
	if (def->recursive)
		jsonw_u64(w, "recursive", 1);
	jsonw_string(w, "why", def->why);
	if (def->rule)
		json_rule(w, def->rule);
	jsonw_array(w, "markers", JSONW_INLINE);
	for (u32 i = 0; i < def->nbindings; i++) {
		const struct pair_binding *binding = &list->plan->bindings[def->first_binding + i];
		const struct pair_marker *marker = &list->markers[binding->marker];

		if (repeats(list, def, i))
			continue;
		jsonw_object(w, NULL, JSONW_INLINE);
		jsonw_string(w, "role", pair_role_name(binding->role));
		jsonw_string_pair(w, "marker", marker->provider, marker->name);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

void list_print_json(const struct list *list, FILE *out)
{
	struct jsonw w = {.out = out};

	jsonw_object(&w, NULL, JSONW_LINES);
	jsonw_u64(&w, "schema", 1);
	jsonw_string(&w, "version", SPANTRACE_VERSION);
	jsonw_array(&w, "files", JSONW_LINES);
	for (size_t i = 0; i < list->nfiles; i++)
		json_file(&w, &list->files[i]);
	jsonw_end(&w);
	jsonw_array(&w, "definitions", JSONW_LINES);
	for (size_t i = 0; i < list->plan->ndefs; i++)
		json_def(&w, list, &list->plan->defs[i]);
	jsonw_end(&w);
	jsonw_array(&w, "left_out", JSONW_LINES);
	for (size_t i = 0; i < list->plan->nleft_out; i++) {
		jsonw_object(&w, NULL, JSONW_INLINE);
		jsonw_string(&w, "what", list->plan->left_out[i].what);
		jsonw_string(&w, "why", list->plan->left_out[i].why);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_array(&w, "problems", JSONW_LINES);
	for (size_t i = 0; i < list->plan->nproblems; i++)
		jsonw_string(&w, NULL, list->plan->problems[i]);
	jsonw_end(&w);
	jsonw_end(&w);
}
