// SPDX-License-Identifier: MIT
/* Puts damaged files into the folder that user/push/push_spool.c keeps pushes in, under names that are nearly its own, and
 * checks what comes back: a push that can be sent as it is, or none. Meant for -fsanitize=address,undefined.
 *
 *   fuzz_push_spool [-n COUNT] [-s SEED]
 *
 * makes COUNT (100,000) files by changing whole ones: bytes, lines, lengths and sums; the same SEED makes the same ones.
 * When it fails, the file is left in fuzz_push_spool.crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/push/push_spool.h"
#include "../../user/util/cleanup.h"
#include "fuzz.h"

#define SERIAL 1731234567890123456ull
#define MOST   4u /* files that are asked for */

static char folder[] = "/tmp/fuzz-push-spool-XXXXXX";
static struct elfbuf input;
static unsigned long whole, damaged, others;
static void file_path(const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", folder, name);
}

static void write_file(const char *name)
{
	char path[256];
	int fd;

	file_path(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK(write(fd, input.data, input.size) == (ssize_t)input.size);
	close(fd);
}

/* What spantrace writes itself: an item, and what its file holds. */
static void make_seed(struct push_spool *spool, struct fuzz_random *r, bool gzip,
		      struct elfbuf *out)
{
	struct push_item *item = calloc(1, sizeof(*item));
	char path[256], bytes[4096];
	ssize_t n;
	int fd;

	CHECK(item);
	item->serial = SERIAL;
	item->gzip = gzip;
	item->path = strdup(gzip ? "/push.v1.PusherService/Push" : "/v1/traces");
	item->type = strdup(gzip ? "application/proto" : "application/json");
	for (size_t i = fuzz_below(r, 400); i; i--)
		text_add(&item->body, (char[]){(char)fuzz_next(r)}, 1);
	CHECK(item->path && item->type && push_spool_put(spool, item) == 0);
	snprintf(path, sizeof(path), "%s/pyroscope-%023" PRIu64 ".push", folder, (u64)SERIAL);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		elfbuf_add(out, bytes, (size_t)n);
	close(fd);
	push_spool_drop(spool, item);
	push_item_free(item);
}

static void remove_bytes(struct elfbuf *b, size_t at, size_t n)
{
	if (n > b->size - at)
		n = b->size - at;
	memmove(b->data + at, b->data + at + n, b->size - at - n);
	b->size -= n;
}

static void insert(struct elfbuf *b, size_t at, const char *text, size_t len)
{
	size_t tail = b->size - at;

	elfbuf_add(b, text, len);
	memmove(b->data + at + len, b->data + at, tail);
	memcpy(b->data + at, text, len);
}

static void change(struct fuzz_random *r, struct elfbuf *b)
{
	static const char *const pieces[] = {
		"\n",       "\r\n",    "/",    "//",
		"gzip\n",   "plain\n", "0\n",  "-1\n",
		"00000000", "%s%n",    " ",    "spantrace-push 1\n",
		"\xff",     "\x7f",    "\x01", "99999999999999999999\n",
	};
	/* Most of the time in the lines in front, where there is something to get wrong. */
	size_t near = b->size < 100 ? b->size : 100;
	size_t at = fuzz_below(r, (fuzz_below(r, 4) ? near : b->size) + 1);
	const char *piece = pieces[fuzz_below(r, sizeof(pieces) / sizeof(*pieces))];

	switch (fuzz_below(r, 5)) {
	case 0:
		if (at < b->size)
			b->data[at] = (uint8_t)fuzz_next(r);
		break;
	case 1:
		remove_bytes(b, at, 1 + fuzz_below(r, 8));
		break;
	case 2:
		if (!fuzz_below(r, 4))
			b->size = at;
		break;
	case 3:
		insert(b, at, "", 1);
		break;
	default:
		insert(b, at, piece, strlen(piece));
		break;
	}
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if ((u8)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

static void check_item(struct push_spool *spool, const struct push_item *item)
{
	struct push_item *copy = calloc(1, sizeof(*copy));
	int err;

	CHECK(copy && item->spooled && !item->body.data);
	err = push_spool_get(spool, item, copy);
	CHECK(!err || err == -EBADMSG);
	if (err) {
		damaged++;
	} else {
		whole++;
		CHECK(*copy->path == '/' && *copy->type);
		CHECK(!has_control(copy->path) && !has_control(copy->type));
		CHECK(copy->body.len < input.size);
		CHECK(!copy->body.len ||
		      !memcmp(copy->body.data, input.data + input.size - copy->body.len,
			      copy->body.len));
	}
	push_item_free(copy);
}

/* A name. EXACT: it is one of the spool's; else it may be one. */
static void make_name(struct fuzz_random *r, bool *exact, char name[64])
{
	snprintf(name, 64, "pyroscope-%023" PRIu64 ".push", (u64)SERIAL + fuzz_below(r, 2));
	*exact = fuzz_below(r, 8);
	if (!*exact)
		name[fuzz_below(r, strlen(name))] = "0x-. \n"[fuzz_below(r, 6)];
}

static void try(struct push_spool *spool, struct fuzz_random *r)
{
	struct push_item *items = NULL, *next;
	char name[64], path[256];
	size_t n = 0;
	bool exact;

	make_name(r, &exact, name);
	write_file(name);
	CHECK(push_spool_list(spool, MOST, &items) == 0);
	for (; items; items = next, n++) {
		next = items->next;
		check_item(spool, items);
		push_spool_drop(spool, items);
		push_item_free(items);
	}
	CHECK(n == exact || !exact);
	others += !n;
	file_path(name, path);
	/* What is dropped is gone. */
	CHECK(!n || access(path, F_OK));
	unlink(path);
}

int main(int argc, char **argv)
{
	struct fuzz_random random;
	unsigned long count = fuzz_options(argc, argv, &random);
	CLEANUP(push_spool_free) struct push_spool *spool = NULL;
	struct elfbuf seeds[2] = {{0}, {0}};
	char lock[256];

	CHECK(mkdtemp(folder) && push_spool_new(folder, "pyroscope", &spool) == 0);
	fuzz_keep((const uint8_t *const *)&input.data, &input.size);
	for (int i = 0; i < 2; i++)
		make_seed(spool, &random, i, &seeds[i]);
	for (unsigned long i = 0; i < count; i++) {
		const struct elfbuf *seed = &seeds[i % 2];

		input.size = 0;
		elfbuf_add(&input, seed->data, seed->size);
		for (size_t n = fuzz_below(&random, 4); n; n--)
			change(&random, &input);
		try(spool, &random);
	}
	printf("%lu pushes taken, %lu damaged; %lu files of others\n", whole, damaged, others);
	free(seeds[0].data);
	free(seeds[1].data);
	free(input.data);
	file_path("pyroscope.lock", lock);
	unlink(lock);
	rmdir(folder);
	return whole && damaged && others ? 0 : 1;
}
