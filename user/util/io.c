/* SPDX-License-Identifier: MIT */
/* Whole reads and writes. See io.h. */
#include <errno.h>
#include <unistd.h>

#include "io.h"

/* What has no place of its own goes on where the file descriptor stands. */
#define HERE ((off_t)-1)

static ssize_t read_some(int fd, void *data, size_t size, off_t at)
{
	return at == HERE ? read(fd, data, size) : pread(fd, data, size, at);
}

static ssize_t write_some(int fd, const void *data, size_t size, off_t at)
{
	return at == HERE ? write(fd, data, size) : pwrite(fd, data, size, at);
}

static ssize_t read_all(int fd, void *data, size_t size, off_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read_some(fd, (char *)data + done, size - done,
				      at == HERE ? HERE : at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t io_read(int fd, void *data, size_t size)
{
	return read_all(fd, data, size, HERE);
}

ssize_t io_read_at(int fd, void *data, size_t size, off_t at)
{
	return at < 0 ? -EINVAL : read_all(fd, data, size, at);
}

static int write_all(int fd, const void *data, size_t size, off_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write_some(fd, (const char *)data + done, size - done,
				       at == HERE ? HERE : at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int io_write(int fd, const void *data, size_t size)
{
	return write_all(fd, data, size, HERE);
}

int io_write_at(int fd, const void *data, size_t size, off_t at)
{
	return at < 0 ? -EINVAL : write_all(fd, data, size, at);
}
