/* SPDX-License-Identifier: MIT */
/* Makes small ELF files for tests, byte by byte, so that no compiler or linker has a say in what
 * is right.
 *
 * A built file has one text and one data segment whose addresses differ from their file offsets,
 * and the sections that were added to it:
 *
 *   offset 0x400  text  at 0x201400  TEXT bytes, 0xcc unless set           R X
 *   behind it     data  at 0x400000 + its offset, 0x100 bytes and as many of .bss   R W
 *   behind that   sections, section headers
 */
#ifndef SPANTRACE_TEST_ELFBUILD_H
#define SPANTRACE_TEST_ELFBUILD_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ELFBUILD_TEXT_OFFSET 0x400u
#define ELFBUILD_TEXT        0x201400u
#define ELFBUILD_TEXT_SIZE   0x400u    /* unless ->text_size says otherwise */
#define ELFBUILD_DATA        0x400000u /* + offset */
#define ELFBUILD_DATA_SIZE   0x100u

#define ELFBUILD_MAX_SECTIONS 24
#define ELFBUILD_MAX_SEGMENTS 6

struct elfbuf {
	uint8_t *data;
	size_t size, room;
};

struct elfbuild {
	uint16_t type, machine;
	bool no_sections; /* leave the section headers out */
	uint8_t *text;
	size_t text_size;
	Elf64_Shdr sections[ELFBUILD_MAX_SECTIONS];
	struct elfbuf section_data[ELFBUILD_MAX_SECTIONS];
	size_t nsections;
	Elf64_Phdr segments[ELFBUILD_MAX_SEGMENTS]; /* behind text and data */
	int segment_section[ELFBUILD_MAX_SEGMENTS]; /* whose place it takes, or 0 */
	size_t nsegments;
	struct elfbuf names;
};

static inline void elfbuf_add(struct elfbuf *buf, const void *data, size_t size)
{
	if (buf->size + size > buf->room) {
		buf->room = (buf->size + size) * 2;
		buf->data = realloc(buf->data, buf->room);
		if (!buf->data)
			abort();
	}
	if (size)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
}

static inline void elfbuf_zero(struct elfbuf *buf, size_t size)
{
	static const uint8_t zeros[64];

	for (; size; size -= size < sizeof(zeros) ? size : sizeof(zeros))
		elfbuf_add(buf, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
}

static inline void elfbuf_align(struct elfbuf *buf, size_t align)
{
	elfbuf_zero(buf, -buf->size & (align - 1));
}

/* TEXT with its NUL. */
static inline void elfbuf_string(struct elfbuf *buf, const char *text)
{
	elfbuf_add(buf, text, strlen(text) + 1);
}

static inline void elfbuf_u64(struct elfbuf *buf, uint64_t value)
{
	elfbuf_add(buf, &value, sizeof(value));
}

/* Adds an empty section; its data goes to elfbuild_data(). Returns its number. */
static inline int elfbuild_section(struct elfbuild *b, const char *name, uint32_t type,
				   uint64_t address)
{
	Elf64_Shdr *section = &b->sections[b->nsections];

	if (b->nsections == ELFBUILD_MAX_SECTIONS)
		abort();
	section->sh_name = (Elf64_Word)b->names.size;
	section->sh_type = type;
	section->sh_addr = address;
	section->sh_addralign = 4;
	elfbuf_string(&b->names, name);
	return (int)b->nsections++;
}

static inline struct elfbuf *elfbuild_data(struct elfbuild *b, int section)
{
	return &b->section_data[section];
}

static inline Elf64_Phdr *elfbuild_segment(struct elfbuild *b, uint32_t type, uint32_t flags,
					   int section)
{
	Elf64_Phdr *segment = &b->segments[b->nsegments];

	if (b->nsegments == ELFBUILD_MAX_SEGMENTS)
		abort();
	segment->p_type = type;
	segment->p_flags = flags;
	b->segment_section[b->nsegments++] = section;
	return segment;
}

static inline void elfbuild_init(struct elfbuild *b, size_t text_size)
{
	memset(b, 0, sizeof(*b));
	b->type = ET_DYN;
	b->machine = EM_X86_64;
	b->text_size = text_size;
	b->text = malloc(text_size);
	if (!b->text)
		abort();
	memset(b->text, 0xcc, text_size);
	elfbuild_section(b, "", SHT_NULL, 0);
}

static inline void elfbuild_free(struct elfbuild *b)
{
	free(b->text);
	free(b->names.data);
	for (size_t i = 0; i < b->nsections; i++)
		free(b->section_data[i].data);
}

/* A 1-byte nop at the address. */
static inline void elfbuild_nop(struct elfbuild *b, uint64_t address)
{
	b->text[address - ELFBUILD_TEXT] = 0x90;
}

/* The address of byte AT of the data segment. */
static inline uint64_t elfbuild_data_address(const struct elfbuild *b, size_t at)
{
	return ELFBUILD_DATA + ELFBUILD_TEXT_OFFSET + b->text_size + at;
}

static inline void elfbuild_note(struct elfbuf *to, const char *owner, uint32_t type,
				 const struct elfbuf *desc)
{
	Elf64_Nhdr head = {(Elf64_Word)strlen(owner) + 1, (Elf64_Word)desc->size, type};

	elfbuf_add(to, &head, sizeof(head));
	elfbuf_string(to, owner);
	elfbuf_align(to, 4);
	elfbuf_add(to, desc->data, desc->size);
	elfbuf_align(to, 4);
}

/* A marker's note, as <sys/sdt.h> makes it. */
static inline void elfbuild_marker(struct elfbuf *to, uint64_t pc, uint64_t base,
				   uint64_t semaphore, const char *provider, const char *name,
				   const char *args)
{
	struct elfbuf desc = {0};

	elfbuf_u64(&desc, pc);
	elfbuf_u64(&desc, base);
	elfbuf_u64(&desc, semaphore);
	elfbuf_string(&desc, provider);
	elfbuf_string(&desc, name);
	elfbuf_string(&desc, args);
	elfbuild_note(to, "stapsdt", 3, &desc);
	free(desc.data);
}

/* What spantrace.h adds to it; KEYS ends with NULL. */
static inline void elfbuild_meta(struct elfbuf *to, uint64_t address, uint32_t line,
				 const char *provider, const char *name, const char *file,
				 const char *const *keys)
{
	struct elfbuf desc = {0};

	elfbuf_u64(&desc, address);
	elfbuf_add(&desc, &line, sizeof(line));
	elfbuf_string(&desc, provider);
	elfbuf_string(&desc, name);
	elfbuf_string(&desc, file);
	for (; *keys; keys++)
		elfbuf_string(&desc, *keys);
	elfbuf_string(&desc, "");
	elfbuild_note(to, "spantrace", 1, &desc);
	free(desc.data);
}

/* A marker of the batched lane. */
static inline void elfbuild_batched(struct elfbuf *to, uint64_t address, uint64_t place,
				    const char *provider, const char *name, const char *args)
{
	struct elfbuf desc = {0};

	elfbuf_u64(&desc, address);
	elfbuf_u64(&desc, place);
	elfbuf_string(&desc, provider);
	elfbuf_string(&desc, name);
	elfbuf_string(&desc, args);
	elfbuild_note(to, "spantrace", 2, &desc);
	free(desc.data);
}

/* What has its buffer fetched; the table of markers is from BEGIN to END. */
static inline void elfbuild_fetch(struct elfbuf *to, uint64_t pc, uint64_t semaphore,
				  uint64_t begin, uint64_t end, uint32_t clock)
{
	struct elfbuf desc = {0};

	elfbuf_u64(&desc, pc);
	elfbuf_u64(&desc, semaphore);
	elfbuf_u64(&desc, begin);
	elfbuf_u64(&desc, end);
	elfbuf_add(&desc, &clock, sizeof(clock));
	elfbuild_note(to, "spantrace", 3, &desc);
	free(desc.data);
}

/* Adds a symbol to SECTION, with its name in STRINGS. */
static inline void elfbuild_symbol(struct elfbuild *b, int section, int strings, const char *name,
				   uint64_t value, unsigned type, uint16_t index)
{
	Elf64_Sym symbol = {
		.st_name = (Elf64_Word)b->section_data[strings].size,
		.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
		.st_shndx = index,
		.st_value = value,
	};

	elfbuf_string(&b->section_data[strings], name);
	elfbuf_add(&b->section_data[section], &symbol, sizeof(symbol));
	b->sections[section].sh_link = (Elf64_Word)strings;
	b->sections[section].sh_entsize = sizeof(symbol);
}

static inline Elf64_Phdr elfbuild_load(uint32_t flags, uint64_t offset, uint64_t address,
				       uint64_t file_size, uint64_t size)
{
	return (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = address,
		.p_paddr = address,
		.p_filesz = file_size,
		.p_memsz = size,
		.p_align = 0x1000,
	};
}

/* The whole file, the caller's to free. */
static inline struct elfbuf elfbuild_image(struct elfbuild *b)
{
	const uint64_t data = ELFBUILD_TEXT_OFFSET + b->text_size;
	struct elfbuf image = {0};
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;
	size_t nsections = b->nsections;
	Elf64_Shdr sections[ELFBUILD_MAX_SECTIONS + 1];

	elfbuf_zero(&image, ELFBUILD_TEXT_OFFSET);
	elfbuf_add(&image, b->text, b->text_size);
	elfbuf_zero(&image, ELFBUILD_DATA_SIZE);
	memcpy(sections, b->sections, sizeof(b->sections));
	for (size_t i = 1; i < nsections; i++) {
		elfbuf_align(&image, 8);
		sections[i].sh_offset += image.size; /* what is set before shifts it */
		sections[i].sh_size += b->section_data[i].size;
		elfbuf_add(&image, b->section_data[i].data, b->section_data[i].size);
	}
	sections[nsections] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)b->names.size,
		.sh_type = SHT_STRTAB,
		.sh_offset = image.size,
		.sh_size = b->names.size + sizeof(".shstrtab"),
		.sh_addralign = 1,
	};
	elfbuf_add(&image, b->names.data, b->names.size);
	elfbuf_string(&image, ".shstrtab");
	nsections++;
	elfbuf_align(&image, 8);
	header = (Elf64_Ehdr *)image.data;
	header->e_shoff = b->no_sections ? 0 : image.size;
	if (!b->no_sections)
		elfbuf_add(&image, sections, nsections * sizeof(sections[0]));

	header = (Elf64_Ehdr *)image.data;
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = b->type;
	header->e_machine = b->machine;
	header->e_version = EV_CURRENT;
	header->e_ehsize = sizeof(*header);
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = (Elf64_Half)(2 + b->nsegments);
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = b->no_sections ? 0 : (Elf64_Half)nsections;
	header->e_shstrndx = b->no_sections ? 0 : (Elf64_Half)(nsections - 1);
	segments = (Elf64_Phdr *)(image.data + sizeof(*header));
	segments[0] = elfbuild_load(PF_R | PF_X, ELFBUILD_TEXT_OFFSET, ELFBUILD_TEXT, b->text_size,
				    b->text_size);
	segments[1] = elfbuild_load(PF_R | PF_W, data, ELFBUILD_DATA + data, ELFBUILD_DATA_SIZE,
				    2 * ELFBUILD_DATA_SIZE);
	for (size_t i = 0; i < b->nsegments; i++) {
		segments[2 + i] = b->segments[i];
		if (b->segment_section[i]) {
			segments[2 + i].p_offset = sections[b->segment_section[i]].sh_offset;
			segments[2 + i].p_filesz = sections[b->segment_section[i]].sh_size;
		}
	}
	return image;
}

/* An unnamed file with these bytes; its descriptor. */
static inline int elfbuild_file(const void *data, size_t size)
{
	int fd = memfd_create("elfbuild", MFD_CLOEXEC);

	if (fd < 0 || (size && pwrite(fd, data, size, 0) != (ssize_t)size))
		abort();
	return fd;
}

#endif
