// SPDX-License-Identifier: MIT
/* Throws damaged ELF files at user/elfnote.c and what is below it, and checks what comes back:
 * sites in order, every string whole and printable, every good site inside the file. Then pairs
 * its markers by rules, and fills the rows that the kernel side would get. Meant for
 * -fsanitize=address,undefined.
 *
 *   fuzz_elfnote [-n COUNT] [-s SEED] [FILE…]
 *
 * makes COUNT (100,000) files by changing the FILEs, or some that it builds itself; the same SEED
 * makes the same ones. Prints how many were read or turned down, and for which reasons. When it
 * fails, the file is left in fuzz_elfnote.crash, or, if a sanitizer ended the program, is made
 * again with -n and -s and a debugger.
 *
 * With -DFUZZ_LIBFUZZER and -fsanitize=fuzzer it is a target for libFuzzer instead.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/batch.h"
#include "../../user/attach/plan_impl.h"
#include "../../user/elf/elfnote.h"
#include "../../user/util/log.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reason {
	const char *text;
	unsigned long count;
};

static struct reason file_reasons[64], site_reasons[64], argument_reasons[64];
static unsigned long files_read, files_damaged, sites_good, arguments_good, metas, rows, named,
	batched;

static void count_reason(struct reason *reasons, const char *text)
{
	size_t i = 0;

	while (reasons[i].text && strcmp(reasons[i].text, text) != 0)
		i++;
	CHECK(i < 63);
	reasons[i].text = text;
	reasons[i].count++;
}

/* Reads each byte, and none is a control character. */
static void check_text(const char *text)
{
	CHECK(text);
	for (; *text; text++)
		CHECK((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_argument(const struct elfnote_arg *arg)
{
	const struct operand *o = &arg->operand;

	check_text(arg->text);
	CHECK(*arg->text);
	if (arg->key)
		check_text(arg->key);
	if (arg->why) {
		CHECK(o->form == OPERAND_NONE || o->form == OPERAND_FLOAT);
		count_reason(argument_reasons, arg->why);
		return;
	}
	arguments_good++;
	CHECK(o->form == OPERAND_CONST || o->form == OPERAND_REG || o->form == OPERAND_MEM);
	CHECK(o->size == 1 || o->size == 2 || o->size == 4 || o->size == 8);
	CHECK(o->scale == 1 || o->scale == 2 || o->scale == 4 || o->scale == 8);
	CHECK(o->base <= 31 || o->base == OPERAND_PC || o->base == OPERAND_NO_REG);
	CHECK(o->index <= 31 || o->index == OPERAND_NO_REG);
	CHECK(o->form != OPERAND_REG || o->base <= 31);
}

/* The probe for all batched markers. */
static void check_fetch(const struct elfnote_fetch *fetch, size_t size)
{
	const struct elfnote_site *site = &fetch->site;

	if (site->refused) {
		count_reason(site_reasons, site->refused);
		return;
	}
	CHECK(site->offset < size && site->sema_offset && site->sema_offset + 2 <= size);
	CHECK(fetch->clock <= BATCH_CLOCK_TSC && fetch->end - fetch->begin <= BATCH_MARKERS_MAX);
}

static void check_site(const struct elfnote_site *site, size_t size)
{
	check_text(site->provider);
	check_text(site->name);
	check_text(site->args_text);
	if (site->source_file)
		check_text(site->source_file);
	metas += site->has_meta;
	CHECK(site->nargs <= ELFNOTE_MAX_ARGS);
	for (u32 i = 0; i < site->nargs; i++)
		check_argument(&site->args[i]);
	if (site->refused) {
		count_reason(site_reasons, site->refused);
		return;
	}
	sites_good++;
	CHECK(*site->provider && *site->name);
	if (site->batched) {
		batched++;
		CHECK(site->nop == ELFNOTE_NOP_NONE && site->vaddr && site->sema_vaddr);
		CHECK(site->number < BATCH_MARKERS_MAX);
		return;
	}
	CHECK(site->nop != ELFNOTE_NOP_UNKNOWN);
	CHECK(site->offset < size);
	CHECK(!site->sema_vaddr || (site->sema_offset + 2 <= size && site->sema_offset % 2 == 0));
}

/* Rules for the markers of the seeds that ask for more than many of their sites have. */
static const struct rules *the_rules(void)
{
	static const char text[] = "provider app\n"
				   "span job\n"
				   "\tstart job__new\n"
				   "\tend job__enter\n"
				   "\tid arg1 arg0\n"
				   "\tname \"job \" string(arg0) \"::\" string(arg2, arg3)\n"
				   "\tlabel a string(arg0, arg11) max 7\n"
				   "\tlabel b arg1\n"
				   "\tlabel c string(arg3)\n";
	static struct rules *rules;
	char why[256];

	if (!rules) {
		log_threshold = LOG_ERROR;
		CHECK(rules_new(&rules) == 0);
		CHECK(rules_add(rules, "fuzz", text, sizeof(text) - 1, why, sizeof(why)) == 0);
	}
	return rules;
}

static void check_operand(const struct operand *o)
{
	CHECK(o->form == OPERAND_NONE || o->form == OPERAND_CONST || o->form == OPERAND_REG ||
	      o->form == OPERAND_MEM);
}

static void describe(struct plan *plan, struct trace *trace, const struct plan_file *file,
		     const struct pair_plan *pairs, const struct pair_binding *binding)
{
	const struct pair_def *def = &pairs->defs[binding->def];
	const struct elfnote_site *site = &file->notes->sites[binding->marker];
	struct wire_site row = {};
	u32 flags = 0;

	if (site->refused || plan_describe_site(site, def, binding->role, false, &row, &flags))
		return;
	CHECK(plan_describe_texts(plan, trace, file, site, binding, def, &row, &flags) == 0);
	plan->next_site++;
	rows++;
	named += !!(flags & SITE_HAS_NAME);
	check_operand(&row.id);
	check_operand(&row.parent);
	CHECK(row.joint_length < JOINT_MAX && row.strings < 1u << LABELS_MAX);
	for (int i = 0; i < LABELS_MAX; i++) {
		check_operand(&row.labels[i]);
		check_operand(&row.lengths[i]);
		CHECK(!(row.strings >> i & 1) || row.max[i]);
	}
	for (int i = 0; flags & SITE_HAS_NAME && i < NAME_TEXTS; i++) {
		check_operand(&row.name[i]);
		check_operand(&row.name_lengths[i]);
	}
}

/* Pairs the file's markers by rules and fills a row for each probe. */
static void check_rules(struct elfnote_file *notes)
{
	const struct pair_options options = {.rules = the_rules()};
	struct pair_marker *markers = calloc(notes->nsites + 1, sizeof(*markers));
	const struct plan_file file = {.shown = "fuzzed", .notes = notes, .fd = -1};
	struct pair_plan *pairs = NULL;
	struct trace *trace = NULL;
	struct plan *plan = NULL;

	CHECK(markers && !plan_new(&options, &plan) && !trace_new(NULL, 0, 0, &trace));
	plan_want_labels(plan, NULL, 0, true);
	for (size_t i = 0; i < notes->nsites; i++)
		markers[i] = (struct pair_marker){
			.provider = notes->sites[i].provider,
			.name = notes->sites[i].name,
			.nargs = notes->sites[i].nargs,
			.has_meta = notes->sites[i].has_meta,
		};
	CHECK(pair_plan_new(markers, notes->nsites, &options, &pairs) == 0);
	CHECK(plan_note_rules(plan, pairs) == 0);
	for (size_t i = 0; i < pairs->nbindings; i++)
		describe(plan, trace, &file, pairs, &pairs->bindings[i]);
	pair_plan_free(&pairs);
	trace_free(&trace);
	plan_free(&plan);
	free(markers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct elfnote_file *file = NULL;
	const char *why = NULL;
	int err;

	if (fd < 0)
		fd = memfd_create("fuzz_elfnote", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	err = elfnote_read(fd, &file, &why);
	if (err) {
		CHECK(!file && why);
		CHECK(err == -ENOEXEC || err == -EBADMSG || err == -EOPNOTSUPP || err == -E2BIG);
		count_reason(file_reasons, why);
		return 0;
	}
	files_read++;
	files_damaged += file->damaged != NULL;
	CHECK(strspn(file->build_id, "0123456789abcdef") == strlen(file->build_id));
	for (size_t i = 0; i < file->nsites; i++) {
		CHECK(!i || file->sites[i - 1].vaddr <= file->sites[i].vaddr);
		check_site(&file->sites[i], size);
	}
	for (size_t i = 0; i < file->nfetches; i++)
		if (file->fetches[i].site.nop || file->fetches[i].site.refused)
			check_fetch(&file->fetches[i], size);
	check_rules(file);
	elfnote_free(&file);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#include "../unit/elfbuild.h"

#define MAX_SEEDS 64

static struct elfbuf seeds[MAX_SEEDS];
static size_t nseeds;

/* Sites, symbols and labels of every kind, as a library and a program of the two machines. */
static void build_seed(uint16_t type, uint16_t machine, bool sections)
{
	static const char *const keys[] = {"user", "path", NULL};
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5};
	const char *const args[] = {
		"8@%rdi -4@12(%rsp) 1@$-56 2@(%rax,%rcx,8)",
		"-4@40+counter(%rip) 8@hidden(%rip) 8f@%xmm0 1@%ah",
		"8@x0 -4@[sp, 16] 4@[x1, x2, lsl 2] 8@-5",
		"4@counter 8@hidden(,%r8,4) -8@%fs:0 4@$hidden+4",
	};
	int notes, meta, strings, symbols, segment_notes;
	struct elfbuild b;

	elfbuild_init(&b, 64);
	b.type = type;
	b.machine = machine;
	b.no_sections = !sections;
	memset(b.text, 0x90, b.text_size);
	if (machine == EM_AARCH64)
		for (size_t i = 0; i < b.text_size; i++)
			b.text[i] = nop[i % 4];
	notes = segment_notes = elfbuild_section(&b, ".note.stapsdt", SHT_NOTE, 0);
	meta = elfbuild_section(&b, ".note.spantrace", SHT_NOTE, 0);
	elfbuild_section(&b, ".stapsdt.base", SHT_PROGBITS, 0x9000);
	for (uint64_t i = 0; i < 4; i++) {
		elfbuild_marker(elfbuild_data(&b, notes), ELFBUILD_TEXT + 4 * i, 0x9000,
				i & 1 ? elfbuild_data_address(&b, 2 * i) : 0, "app",
				i & 2 ? "job__new" : "job__enter", args[i]);
		elfbuild_meta(elfbuild_data(&b, meta), ELFBUILD_TEXT + 4 * i + 1, 7, "app",
			      i & 2 ? "job__new" : "job__enter", "src/app.c", keys);
	}
	/* And one of the batched lane for each. */
	for (uint64_t i = 0; i < 4; i++)
		elfbuild_batched(elfbuild_data(&b, meta), ELFBUILD_TEXT + 32 + i, 0x700000 + i,
				 "app", i & 1 ? "step__exit" : "step__enter", "");
	elfbuild_fetch(elfbuild_data(&b, meta), ELFBUILD_TEXT + 16, elfbuild_data_address(&b, 8),
		       0x700000, 0x700004, BATCH_CLOCK_TSC);
	strings = elfbuild_section(&b, ".strtab", SHT_STRTAB, 0);
	symbols = elfbuild_section(&b, ".symtab", SHT_SYMTAB, 0);
	elfbuild_symbol(&b, symbols, strings, "counter", ELFBUILD_TEXT + 0x100, STT_OBJECT, 1);
	elfbuild_symbol(&b, symbols, strings, "hidden", ELFBUILD_TEXT + 0x200, STT_OBJECT, 1);
	elfbuild_segment(&b, PT_NOTE, PF_R, segment_notes);
	seeds[nseeds++] = elfbuild_image(&b);
	elfbuild_free(&b);
}

static void read_seed(const char *path)
{
	CHECK(nseeds < MAX_SEEDS);
	fuzz_read(path, &seeds[nseeds++]);
}

static void print_reasons(const char *title, const struct reason *reasons)
{
	puts(title);
	for (; reasons->text; reasons++)
		printf("  %9lu  %s\n", reasons->count, reasons->text);
}

/* The input that is being read. */
static struct elfbuf input;

int main(int argc, char **argv)
{
	struct fuzz_random random;
	unsigned long count = fuzz_options(argc, argv, &random);

	for (; optind < argc; optind++)
		read_seed(argv[optind]);
	if (!nseeds) {
		build_seed(ET_DYN, EM_X86_64, true);
		build_seed(ET_EXEC, EM_X86_64, true);
		build_seed(ET_DYN, EM_X86_64, false);
		build_seed(ET_DYN, EM_AARCH64, true);
	}
	fuzz_keep((const uint8_t *const *)&input.data, &input.size);
	for (size_t i = 0; i < nseeds; i++)
		LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
	for (unsigned long i = 0; i < count; i++) {
		const struct elfbuf *seed = &seeds[fuzz_below(&random, nseeds)];
		const struct elfbuf *other = &seeds[fuzz_below(&random, nseeds)];

		fuzz_mutate(&random, seed, other, &input);
		LLVMFuzzerTestOneInput(input.data, input.size);
	}
	printf("%lu files: %lu read, %lu of them damaged; %lu good sites, %lu good arguments, %lu labelled, %lu batched; %lu rows, %lu named\n",
	       count, files_read, files_damaged, sites_good, arguments_good, metas, batched, rows,
	       named);
	print_reasons("files turned down:", file_reasons);
	print_reasons("sites refused:", site_reasons);
	print_reasons("arguments unread:", argument_reasons);
	for (size_t i = 0; i < nseeds; i++)
		free(seeds[i].data);
	free(input.data);
	return 0;
}

#endif
