/* SPDX-License-Identifier: MIT */
/* Whole reads and writes: what a signal cut short goes on. */
#ifndef SPANTRACE_IO_H
#define SPANTRACE_IO_H

#include <stddef.h>
#include <sys/types.h>

/* As many of the SIZE bytes as there are before the end of the file. Returns how many, or -errno. */
ssize_t io_read(int fd, void *data, size_t size);
ssize_t io_read_at(int fd, void *data, size_t size, off_t at);

/* All SIZE bytes. 0 or -errno; then some may have been written. */
int io_write(int fd, const void *data, size_t size);
int io_write_at(int fd, const void *data, size_t size, off_t at);

#endif
