// SPDX-License-Identifier: MIT
/* Prints what user/elfnote.c reads in ELF files, one line a site, for tests/live/test_linkers.sh
 * to compare with what other programs read.
 *
 *   elfdump FILE…      PROVIDER NAME 0xADDRESS 0xSEMAPHORE ARGUMENT…
 *   elfdump -v FILE…   the same, then file offsets, nop, source line, operands, label keys and reasons
 *
 * Exits with 1 if a file could not be read or is damaged, or a site is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../user/elf/elfnote.h"

static void print_operand(const struct elfnote_arg *arg)
{
	const struct operand *o = &arg->operand;

	printf(" | %s=", arg->key ? arg->key : "-");
	if (arg->why) {
		printf("(%s)", arg->why);
		return;
	}
	switch (o->form) {
	case OPERAND_CONST:
		printf("const %c%u %lld", o->is_signed ? 's' : 'u', o->size, (long long)o->disp);
		break;
	case OPERAND_REG:
		printf("reg %c%u %u%s", o->is_signed ? 's' : 'u', o->size, o->base,
		       o->high_byte ? "h" : "");
		break;
	case OPERAND_MEM:
		printf("mem %c%u %u+%u*%u%+lld", o->is_signed ? 's' : 'u', o->size, o->base,
		       o->index, o->scale, (long long)o->disp);
		break;
	default:
		printf("form %u", o->form);
	}
}

static void print_site(const struct elfnote_site *site, bool verbose)
{
	printf("%s %s 0x%016llx 0x%016llx %s", site->provider, site->name,
	       (unsigned long long)site->vaddr, (unsigned long long)site->sema_vaddr,
	       site->args_text);
	if (verbose) {
		printf(" | offset 0x%llx | semaphore 0x%llx | %s | %s:%u",
		       (unsigned long long)site->offset, (unsigned long long)site->sema_offset,
		       elfnote_nop_name(site->nop), site->source_file ? site->source_file : "-",
		       site->source_line);
		for (u32 i = 0; i < site->nargs; i++)
			print_operand(&site->args[i]);
	}
	if (site->refused)
		printf(" | refused: %s", site->refused);
	putchar('\n');
}

static int dump(const char *path, bool verbose)
{
	struct elfnote_file *file = NULL;
	struct timespec start, end;
	const char *why = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status = 0, err;

	if (fd < 0) {
		fprintf(stderr, "elfdump: %s: %s\n", path, strerror(errno));
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	err = elfnote_read(fd, &file, &why);
	clock_gettime(CLOCK_MONOTONIC, &end);
	close(fd);
	if (err) {
		fprintf(stderr, "elfdump: %s: %s (%s)\n", path, why, strerror(-err));
		return 1;
	}
	for (size_t i = 0; i < file->nsites; i++) {
		print_site(&file->sites[i], verbose);
		if (file->sites[i].refused)
			status = 1;
	}
	if (file->damaged) {
		fprintf(stderr, "elfdump: %s: %s\n", path, file->damaged);
		status = 1;
	}
	if (verbose)
		fprintf(stderr, "%s: %zu sites, machine %u, build id %s, %.1f ms\n", path,
			file->nsites, file->machine, *file->build_id ? file->build_id : "none",
			(double)(end.tv_sec - start.tv_sec) * 1e3 +
				(double)(end.tv_nsec - start.tv_nsec) / 1e6);
	elfnote_free(&file);
	return status;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	int status = 0;

	if (argc < 2 + verbose) {
		fprintf(stderr, "usage: elfdump [-v] FILE...\n");
		return 2;
	}
	for (int i = 1 + verbose; i < argc; i++)
		status |= dump(argv[i], verbose);
	return status;
}
