/* SPDX-License-Identifier: MIT */
/* Throws damaged ELF files at user/allocator.c and what is below it (symbols, relocations, code), and checks that each
 * probe lies in the file, each function once. Meant for -fsanitize=address,undefined.
 *
 *   fuzz_allocator [-n COUNT] [-s SEED] [FILE…]
 *
 * makes COUNT files by changing the FILEs, or one that it builds itself; the same SEED makes the same ones.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create() */
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../user/attach/allocator.h"
#include "fuzz.h"

#define MAX_SEEDS 16

static struct elfbuf seeds[MAX_SEEDS];
static size_t nseeds;
static unsigned long good, refused, functions;

static void look(const struct elfbuf *file)
{
	static int fd = -1;
	struct allocator *allocator = NULL;
	const char *why = NULL;
	size_t i, j;
	int err;

	if (fd < 0)
		fd = memfd_create("fuzz_allocator", MFD_CLOEXEC);
	CHECK(fd >= 0 && ftruncate(fd, 0) == 0);
	CHECK(pwrite(fd, file->data, file->size, 0) == (ssize_t)file->size);
	err = allocator_find(fd, file->size % 5 ? NULL : "x", &allocator, &why);
	if (err) {
		CHECK(!allocator && err != -EFAULT);
		refused++;
		return;
	}
	good++;
	for (i = 0; i < allocator->nfunctions; i++) {
		const struct allocator_function *f = &allocator->functions[i];

		CHECK(f->kind >= ALLOC_MALLOC && f->kind <= ALLOC_BRK && *f->name);
		CHECK(f->probe < file->size);
		for (j = 0; j < i; j++)
			CHECK(f->probe - f->shift !=
			      allocator->functions[j].probe - allocator->functions[j].shift);
		functions++;
	}
	allocator_free(&allocator);
}

static void build_seed(void)
{
	static const char *const names[] = {"malloc", "free",    "calloc",    "realloc",
					    "mmap",   "_Znwm",   "_ZdlPv",    "posix_memalign",
					    "xfree",  "xmalloc", "mi_malloc", "__libc_malloc"};
	/* test, je; call the next; jmp through a slot; ret */
	static const uint8_t code[] = {0x48, 0x85, 0xff, 0x74, 0x0b, 0xe8, 0x16, 0x00, 0x00,
				       0x00, 0xff, 0x25, 0x00, 0x10, 0x00, 0x00, 0xc3};
	const uint64_t rela[] = {ELFBUILD_TEXT + 0x1010, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0};
	struct elfbuild b;
	int strings, symbols, section;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	strings = elfbuild_section(&b, ".dynstr", SHT_STRTAB, 0);
	symbols = elfbuild_section(&b, ".dynsym", SHT_DYNSYM, 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct elfbuf *data = elfbuild_data(&b, symbols);
		Elf64_Sym *symbol;

		memcpy(b.text + 0x20 * i, code, sizeof(code));
		elfbuild_symbol(&b, symbols, strings, names[i], ELFBUILD_TEXT + 0x20 * i, STT_FUNC,
				1);
		symbol = (Elf64_Sym *)(void *)(data->data + data->size - sizeof(*symbol));
		symbol->st_size = i % 3 ? sizeof(code) : 0;
	}
	section = elfbuild_section(&b, ".rela.plt", SHT_RELA, 0);
	elfbuf_add(elfbuild_data(&b, section), rela, sizeof(rela));
	b.sections[section].sh_link = (Elf64_Word)symbols;
	seeds[nseeds++] = elfbuild_image(&b);
	elfbuild_free(&b);
}

/* Code and symbols, which the mutations of notes leave alone. */
static void damage_code(struct fuzz_random *r, struct elfbuf *file)
{
	for (size_t n = fuzz_below(r, 12); n && file->size; n--)
		file->data[fuzz_below(r, file->size)] = (uint8_t)fuzz_next(r);
}

int main(int argc, char **argv)
{
	struct fuzz_random r;
	unsigned long count = fuzz_options(argc, argv, &r);
	struct elfbuf file = {0};

	for (; optind < argc && nseeds < MAX_SEEDS; optind++)
		fuzz_read(argv[optind], &seeds[nseeds++]);
	if (!nseeds)
		build_seed();
	look(&seeds[0]);
	CHECK(good == 1 && functions);
	for (unsigned long i = 0; i < count; i++) {
		fuzz_mutate(&r, &seeds[fuzz_below(&r, nseeds)], &seeds[fuzz_below(&r, nseeds)],
			    &file);
		damage_code(&r, &file);
		look(&file);
	}
	printf("%lu read with %lu functions, %lu turned down\n", good, functions, refused);
	free(file.data);
	for (size_t i = 0; i < nseeds; i++)
		free(seeds[i].data);
	return 0;
}
