// SPDX-License-Identifier: MIT
/* Reads the headers of an ELF file and finds things in them; see elfimage.h. */
#include "elfimage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/io.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are used as they are read");

/* Far above what linkers make (a dozen segments, some thousands of sections), far below what
 * hurts. */
#define MAX_SEGMENTS 1024
#define MAX_SECTIONS 1000000
#define MAX_NAMES    (64u << 20)

#define ALLOC_FAILED "there is not enough memory to read it"

void elfimage_free(struct elfimage **image)
{
	if (!*image)
		return;
	free((*image)->segments);
	free((*image)->sections);
	free((*image)->names);
	free(*image);
	*image = NULL;
}

int elfimage_read(const struct elfimage *image, u64 offset, void *data, size_t size)
{
	ssize_t n;

	if (offset > image->size || size > image->size - offset)
		return -EBADMSG;
	n = io_read_at(image->fd, data, size, (off_t)offset);
	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -EBADMSG; /* shorter: it became so since we asked */
}

int elfimage_load(const struct elfimage *image, u64 offset, u64 size, u64 max, char **out)
{
	AUTO_FREE char *data = NULL;
	int err;

	if (offset > image->size || size > image->size - offset)
		return -EBADMSG;
	if (size > max)
		return -EFBIG;
	data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	err = elfimage_read(image, offset, data, size);
	if (err)
		return err;
	data[size] = '\0';
	*out = TAKE_PTR(data);
	return 0;
}

const char *elfimage_section_name(const struct elfimage *image, const Elf64_Shdr *section)
{
	if (section->sh_name >= image->names_size)
		return "";
	return image->names + section->sh_name;
}

const Elf64_Shdr *elfimage_section(const struct elfimage *image, const char *name)
{
	for (size_t i = 0; i < image->nsections; i++)
		if (strcmp(elfimage_section_name(image, &image->sections[i]), name) == 0)
			return &image->sections[i];
	return NULL;
}

bool elfimage_section_has_data(const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS &&
	       !(section->sh_flags & SHF_COMPRESSED);
}

int elfimage_locate(const struct elfimage *image, u64 vaddr, u64 size, u32 flags, u64 *offset)
{
	int err = -ENOENT;

	for (size_t i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *p = &image->segments[i];
		u64 from = vaddr - p->p_vaddr;

		if (p->p_type != PT_LOAD || (p->p_flags & flags) != flags || vaddr < p->p_vaddr ||
		    from >= p->p_memsz)
			continue;
		if (from >= p->p_filesz || size > p->p_filesz - from ||
		    __builtin_add_overflow(p->p_offset, from, offset) || *offset > image->size ||
		    size > image->size - *offset) {
			err = -ENODATA;
			continue;
		}
		return 0;
	}
	return err;
}

static int read_segments(struct elfimage *image, const Elf64_Ehdr *header, size_t count,
			 const char **why)
{
	int err;

	if (!count)
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || count > MAX_SEGMENTS) {
		*why = "its program headers are damaged";
		return -EBADMSG;
	}
	image->segments = calloc(count, sizeof(Elf64_Phdr));
	if (!image->segments) {
		*why = ALLOC_FAILED;
		return -ENOMEM;
	}
	err = elfimage_read(image, header->e_phoff, image->segments, count * sizeof(Elf64_Phdr));
	if (err) {
		*why = "its program headers cannot be read; is the file cut?";
		return err;
	}
	image->nsegments = count;
	return 0;
}

/* Reads the section headers and their names; the names may be missing. */
static int read_sections(struct elfimage *image, const Elf64_Ehdr *header, size_t count,
			 size_t names, const char **why)
{
	const Elf64_Shdr *section;
	int err;

	if (!count)
		return 0;
	if (count > MAX_SECTIONS) {
		*why = "its section headers are damaged";
		return -EBADMSG;
	}
	if (count > image->size / sizeof(Elf64_Shdr)) {
		*why = "its section headers cannot be read; is the file cut?";
		return -EBADMSG;
	}
	image->sections = calloc(count, sizeof(Elf64_Shdr));
	if (!image->sections) {
		*why = ALLOC_FAILED;
		return -ENOMEM;
	}
	err = elfimage_read(image, header->e_shoff, image->sections, count * sizeof(Elf64_Shdr));
	if (err) {
		*why = "its section headers cannot be read; is the file cut?";
		return err;
	}
	image->nsections = count;
	if (names == SHN_UNDEF || names >= count)
		return 0;
	section = &image->sections[names];
	if (!elfimage_section_has_data(section))
		return 0;
	err = elfimage_load(image, section->sh_offset, section->sh_size, MAX_NAMES, &image->names);
	if (err) {
		*why = err == -ENOMEM ? ALLOC_FAILED : "its section names cannot be read";
		return err == -EFBIG ? -EBADMSG : err;
	}
	image->names_size = section->sh_size;
	return 0;
}

/* Counts that do not fit the file header stand in section header 0. */
static int read_tables(struct elfimage *image, const Elf64_Ehdr *header, const char **why)
{
	size_t nsegments = header->e_phoff ? header->e_phnum : 0;
	size_t nsections = header->e_shoff ? header->e_shnum : 0;
	size_t names = header->e_shstrndx;
	int err;

	if (header->e_shoff) {
		Elf64_Shdr first;

		if (header->e_shentsize != sizeof(Elf64_Shdr)) {
			*why = "its section headers are damaged";
			return -EBADMSG;
		}
		err = elfimage_read(image, header->e_shoff, &first, sizeof(first));
		if (err) {
			*why = "its section headers cannot be read; is the file cut?";
			return err;
		}
		if (!header->e_shnum)
			nsections = first.sh_size;
		if (names == SHN_XINDEX)
			names = first.sh_link;
		if (nsegments == PN_XNUM)
			nsegments = first.sh_info;
	}
	err = read_segments(image, header, nsegments, why);
	if (err)
		return err;
	return read_sections(image, header, nsections, names, why);
}

static int read_header(struct elfimage *image, Elf64_Ehdr *header, const char **why)
{
	unsigned char ident[EI_NIDENT];
	int err;

	err = elfimage_read(image, 0, ident, sizeof(ident));
	if (err && err != -EBADMSG) {
		*why = "it cannot be read";
		return err;
	}
	*why = "it is not an ELF file";
	if (err || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ident[EI_CLASS] == ELFCLASS32) {
		*why = "it is a 32-bit program; spantrace reads 64-bit ones";
		return -EOPNOTSUPP;
	}
	if (ident[EI_DATA] == ELFDATA2MSB) {
		*why = "it is a big-endian program; spantrace reads little-endian ones";
		return -EOPNOTSUPP;
	}
	if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	err = elfimage_read(image, 0, header, sizeof(*header));
	if (err)
		*why = "its ELF header cannot be read; is the file cut?";
	return err;
}

int elfimage_new(int fd, struct elfimage **out, const char **why)
{
	CLEANUP(elfimage_free) struct elfimage *image = NULL;
	Elf64_Ehdr header;
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		*why = "it cannot be read";
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		*why = "it is not a regular file";
		return -ENOEXEC;
	}
	image = calloc(1, sizeof(*image));
	if (!image) {
		*why = ALLOC_FAILED;
		return -ENOMEM;
	}
	image->fd = fd;
	image->size = (u64)st.st_size;
	image->inode = st.st_ino;
	image->device = st.st_dev;
	err = read_header(image, &header, why);
	if (err)
		return err;
	image->type = header.e_type;
	image->machine = header.e_machine;
	err = read_tables(image, &header, why);
	if (err)
		return err;
	*why = NULL;
	*out = TAKE_PTR(image);
	return 0;
}
