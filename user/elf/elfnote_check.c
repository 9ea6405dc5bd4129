// SPDX-License-Identifier: MIT
/* Holds each site against the file it stands in, before anything is attached to it.
 *
 * A probe writes into the code of every process that runs the file, and a semaphore is a counter
 * that the kernel changes in their data. Linkers have left wrong addresses for both in notes. So
 * a site is used only if there is a nop in executable text at its address, and its semaphore is
 * writable data from the file: the kernel finds it by file offset, which .bss does not have.
 */
#include "elfnote_check.h"

#include <errno.h>
#include <string.h>

#include "../../include/batch.h"

/* The smallest page of the machines that we read; what RELRO protects ends at a page boundary. */
#define PAGE_BYTES 4096u

static const unsigned char nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const unsigned char nop10[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00};
static const unsigned char nop_arm64[] = {0x1f, 0x20, 0x03, 0xd5};

static enum elfnote_nop nop_of(u16 machine, const unsigned char *code)
{
	if (machine == EM_AARCH64)
		return memcmp(code, nop_arm64, sizeof(nop_arm64)) == 0 ? ELFNOTE_NOP_ARM64
								       : ELFNOTE_NOP_UNKNOWN;
	if (memcmp(code, nop5, sizeof(nop5)) == 0)
		return ELFNOTE_NOP5;
	if (code[0] != 0x90)
		return ELFNOTE_NOP_UNKNOWN;
	if (memcmp(code + 1, nop5, sizeof(nop5)) == 0)
		return ELFNOTE_NOP1_NOP5;
	if (memcmp(code + 1, nop10, sizeof(nop10)) == 0)
		return ELFNOTE_NOP1_NOP10;
	return ELFNOTE_NOP1;
}

const char *elfnote_nop_name(enum elfnote_nop nop)
{
	switch (nop) {
	case ELFNOTE_NOP_UNKNOWN:
		break;
	case ELFNOTE_NOP1:
		return "nop";
	case ELFNOTE_NOP5:
		return "nop5";
	case ELFNOTE_NOP1_NOP5:
		return "nop+nop5";
	case ELFNOTE_NOP1_NOP10:
		return "nop+nop10";
	case ELFNOTE_NOP_ARM64:
		return "nop";
	case ELFNOTE_NOP_NONE:
		return "batched";
	}
	return "none";
}

static const char *check_code(const struct elfimage *image, struct elfnote_site *site)
{
	unsigned char code[1 + sizeof(nop10)] = {0};
	size_t need = image->machine == EM_AARCH64 ? sizeof(nop_arm64) : 1;
	size_t size = sizeof(code);

	if (image->type != ET_EXEC && image->type != ET_DYN)
		return "its file is neither a linked program nor a library";
	if (!site->vaddr)
		return "its code was left out by the linker: the note has no address";
	switch (elfimage_locate(image, site->vaddr, need, PF_X, &site->offset)) {
	case 0:
		break;
	case -ENODATA:
		return "its address is in code that the file does not hold";
	default:
		return "its address is not in executable code of the file";
	}
	if (image->machine == EM_AARCH64 && site->vaddr % 4)
		return "its address is not that of an instruction";
	if (image->machine != EM_X86_64 && image->machine != EM_AARCH64)
		return "spantrace does not know the instructions of its machine";
	/* What is behind the site may be the end of the file. */
	if (size > image->size - site->offset)
		size = (size_t)(image->size - site->offset);
	if (elfimage_read(image, site->offset, code, size))
		return "the code at its address cannot be read";
	site->nop = nop_of(image->machine, code);
	if (site->nop == ELFNOTE_NOP_UNKNOWN)
		return "the instruction at its address is not a nop that a marker is made of";
	return NULL;
}

static bool is_relro(const struct elfimage *image, u64 vaddr)
{
	for (size_t i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *p = &image->segments[i];
		u64 end = (p->p_vaddr + p->p_memsz) & ~(u64)(PAGE_BYTES - 1);

		if (p->p_type == PT_GNU_RELRO && vaddr >= p->p_vaddr && vaddr < end)
			return true;
	}
	return false;
}

static const char *check_semaphore(const struct elfimage *image, struct elfnote_site *site)
{
	if (!site->sema_vaddr)
		return NULL;
	switch (elfimage_locate(image, site->sema_vaddr, sizeof(uint16_t), PF_W,
				&site->sema_offset)) {
	case 0:
		break;
	case -ENODATA:
		return "its semaphore is not in the file (.bss), where the kernel could not find it";
	default:
		return "its semaphore is not in writable data of the file";
	}
	if (site->sema_offset % 2)
		return "its semaphore stands at an odd offset of the file, which the kernel refuses";
	if (is_relro(image, site->sema_vaddr))
		return "its semaphore is in data that becomes read-only at program start";
	return NULL;
}

/* Against the last good site before it at the same address: first come, first served. */
static const char *check_neighbour(const struct elfnote_site *before,
				   const struct elfnote_site *site)
{
	if (strcmp(before->provider, site->provider) == 0 && strcmp(before->name, site->name) == 0)
		return "there is another note for the same marker at the same address";
	if (before->sema_offset != site->sema_offset)
		return "another marker at its address has a different semaphore; the kernel takes one";
	return NULL;
}

/* The probe that all batched markers depend on. */
static const char *check_fetches(const struct elfimage *image, struct elfnote_file *file)
{
	const char *why = "the file lacks the marker that has its buffer fetched";

	for (size_t i = 0; i < file->nfetches; i++) {
		struct elfnote_fetch *fetch = &file->fetches[i];
		struct elfnote_site *site = &fetch->site;

		site->refused = check_code(image, site);
		if (!site->refused)
			site->refused = check_semaphore(image, site);
		if (!site->refused && !site->sema_vaddr)
			site->refused = "it has no semaphore";
		if (!site->refused && fetch->clock > BATCH_CLOCK_TSC)
			site->refused = "it is on a clock that spantrace does not know";
		if (!site->refused && fetch->end - fetch->begin > BATCH_MARKERS_MAX)
			site->refused = "the file has more than 65,535 batched markers";
		if (!site->refused &&
		    (fetch->begin != file->fetches[0].begin || fetch->end != file->fetches[0].end))
			site->refused = "the file has two tables of batched markers";
		if (site->refused)
			return site->refused;
		why = NULL;
	}
	return why;
}

static const char *check_batched(const struct elfnote_file *file, struct elfnote_site *site)
{
	const struct elfnote_fetch *fetch = &file->fetches[0];

	if (!site->vaddr)
		return "its code was left out by the linker: the note has no address";
	if (site->place < fetch->begin || site->place >= fetch->end)
		return "its place is not in the table of batched markers";
	site->number = (u32)(site->place - fetch->begin);
	site->sema_vaddr = fetch->site.sema_vaddr;
	site->nop = ELFNOTE_NOP_NONE;
	return NULL;
}

void elfnote_check(const struct elfimage *image, struct elfnote_file *file)
{
	const struct elfnote_site *first = NULL, *last = NULL;
	const char *unfetched = check_fetches(image, file);

	for (size_t i = 0; i < file->nsites; i++) {
		struct elfnote_site *site = &file->sites[i];

		if (site->batched) {
			if (!site->refused)
				site->refused = unfetched ? unfetched : check_batched(file, site);
			continue;
		}
		if (!site->refused)
			site->refused = check_code(image, site);
		if (!site->refused)
			site->refused = check_semaphore(image, site);
		if (site->refused)
			continue;
		/* Sites at one address are in order of name: the same marker is the last good one. */
		if (first && first->offset == site->offset)
			site->refused = check_neighbour(last, site);
		else
			first = site;
		if (!site->refused)
			last = site;
	}
}
