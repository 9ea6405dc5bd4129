/* SPDX-License-Identifier: MIT */
/* See gzip.h. */
#include "gzip.h"

#include <errno.h>
#define ZLIB_CONST 1 /* its input is not written to */
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest; 16 more: a gzip header in place of zlib's */
#define GZIP_MEMORY 8
/* Profiles are packed beside the program that is traced, some every few seconds: time counts for more than the last
 * tenth of their size. */
#define GZIP_LEVEL Z_BEST_SPEED

int gzip_add(struct text_buf *out, const char *bytes, size_t len)
{
	const size_t most = 1u << 30; /* zlib counts in unsigned int */
	unsigned char packed[16384];
	z_stream z = {0};
	int result;

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	do {
		size_t piece = len < most ? len : most;

		z.next_in = (const Bytef *)bytes;
		z.avail_in = (uInt)piece;
		bytes += piece;
		len -= piece;
		do {
			z.next_out = packed;
			z.avail_out = sizeof(packed);
			result = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
			text_add(out, (const char *)packed, sizeof(packed) - z.avail_out);
		} while (!z.avail_out);
	} while (len);
	deflateEnd(&z);
	return result == Z_STREAM_END && !out->failed ? 0 : -ENOMEM;
}
