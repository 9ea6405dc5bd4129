/* SPDX-License-Identifier: MIT */
/* What is put into a spool comes out again, in order, also behind a restart; what is damaged, hostile or somebody else's
 * does no harm. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/push/push_spool.h"
#include "../../user/util/cleanup.h"
#include "captured.h"

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/spantrace-spool-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct push_item *new_item(u64 serial, const char *body, size_t len)
{
	struct push_item *item = calloc(1, sizeof(*item));

	assert_non_null(item);
	item->serial = serial;
	item->path = strdup("/a");
	item->type = strdup("text/plain");
	text_add(&item->body, body, len);
	item->len = len;
	return item;
}

static void put(struct push_spool *spool, u64 serial, const char *body, size_t len)
{
	struct push_item *item = new_item(serial, body, len);
	size_t most = push_spool_size(item);

	assert_int_equal(push_spool_put(spool, item), 0);
	assert_true(item->spooled);
	assert_null(item->path);
	assert_in_range(item->len, len + 1, most);
	push_item_free(item);
}

static void free_list(struct push_item *items)
{
	while (items) {
		struct push_item *next = items->next;

		push_item_free(items);
		items = next;
	}
}

static int get(struct push_spool *spool, u64 serial, const char *body, size_t len)
{
	const struct push_item item = {.serial = serial, .spooled = true};
	struct push_item copy = {0};
	int err = push_spool_get(spool, &item, &copy);

	if (!err) {
		assert_string_equal(copy.path, "/a");
		assert_string_equal(copy.type, "text/plain");
		assert_false(copy.gzip);
		assert_int_equal(copy.body.len, len);
		if (len)
			assert_memory_equal(copy.body.data, body, len);
	}
	free(copy.path);
	free(copy.type);
	text_buf_free(&copy.body);
	return err;
}

static void test_order(void **state)
{
	static const u64 serials[] = {7, 1731234567890123456, 8, UINT64_MAX, 1};
	static const u64 sorted[] = {1, 7, 8, 1731234567890123456, UINT64_MAX};
	struct push_spool *spool = NULL;
	struct push_item *items, *item;
	size_t n = 0;

	(void)state;
	assert_int_equal(push_spool_new(folder, "one", &spool), 0);
	for (size_t i = 0; i < 5; i++)
		put(spool, serials[i], "a\0\nb", 4);
	put(spool, 9, "", 0);
	push_spool_drop(spool, &(struct push_item){.serial = 9});
	push_spool_free(&spool);
	assert_null(spool);
	assert_int_equal(push_spool_new(folder, "one", &spool), 0);
	assert_int_equal(push_spool_list(spool, 100, &items), 0);
	for (item = items; item; item = item->next) {
		assert_true(item->spooled);
		assert_int_equal(item->serial, sorted[n++]);
		assert_int_equal(get(spool, item->serial, "a\0\nb", 4), 0);
	}
	assert_int_equal(n, 5);
	free_list(items);
	assert_int_equal(push_spool_list(spool, 2, &items), -E2BIG);
	assert_non_null(items->next);
	assert_null(items->next->next);
	free_list(items);
	push_spool_free(&spool);
}

/* A file of the folder, as somebody left it. */
static void write_file(const char *name, const char *text, size_t len)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
}

#define NAME(n) "one-0000000000000000000000" #n ".push"

static void test_damaged(void **state)
{
	static const char *const bad[] = {
		"",
		"spantrace-push 1\n",
		"spantrace-push 2\n/a\nt\nplain\n1\n0\nx",
		"spantrace-push 1\na\ntext/plain\nplain\n1\n8cdc1683\nx", /* no path */
		"spantrace-push 1\n/a\n\nplain\n1\n8cdc1683\nx",          /* no type */
		"spantrace-push 1\n/a\ntext/plain\nbrotli\n1\n8cdc1683\nx",
		"spantrace-push 1\n/a\ntext/plain\nplain\n2\n8cdc1683\nx",  /* too short */
		"spantrace-push 1\n/a\ntext/plain\nplain\n1\n8cdc1683\nxy", /* too long */
		"spantrace-push 1\n/a\ntext/plain\nplain\n1\n8cdc1684\nx",  /* other bytes */
		"spantrace-push 1\n/a\r\nX: y\ntext/plain\nplain\n1\n8cdc1683\nx",
	};
	static const char good[] = "spantrace-push 1\n/a\ntext/plain\nplain\n1\n8cdc1683\nx";
	struct push_spool *spool = NULL;
	char path[200];

	(void)state;
	assert_int_equal(push_spool_new(folder, "one", &spool), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		write_file(NAME(1), bad[i], strlen(bad[i]));
		assert_int_equal(get(spool, 1, NULL, 0), -EBADMSG);
	}
	write_file(NAME(1), good, strlen(good));
	assert_int_equal(get(spool, 1, "x", 1), 0);
	assert_int_equal(get(spool, 2, NULL, 0), -ENOENT);
	/* Larger than anything that was put here. */
	snprintf(path, sizeof(path), "%s/%s", folder, NAME(1));
	assert_int_equal(truncate(path, 1ll << 40), 0);
	assert_int_equal(get(spool, 1, NULL, 0), -EBADMSG);
	/* Leads elsewhere. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(get(spool, 1, NULL, 0), -ELOOP);
	/* Never ends. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(get(spool, 1, NULL, 0), -EBADMSG);
	push_spool_free(&spool);
}

static bool exists(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* What is not ours is left alone; what we did not finish goes. */
static void test_others(void **state)
{
	static const char *const others[] = {"one-1.push",
					     "one-00000000000000000000001.pushed",
					     "two-00000000000000000000001.push",
					     "one-x0000000000000000000001.push",
					     "readme",
					     "other.tmp"};
	struct push_spool *spool = NULL;
	struct push_item *items;
	char path[200];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		write_file(others[i], "x", 1);
	write_file("one-00000000000000000000003.tmp", "x", 1);
	snprintf(path, sizeof(path), "%s/%s", folder, NAME(4));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(push_spool_new(folder, "one", &spool), 0);
	assert_int_equal(push_spool_list(spool, 100, &items), 0);
	assert_null(items);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_true(exists(others[i]));
	assert_false(exists("one-00000000000000000000003.tmp"));
	push_spool_free(&spool);
}

/* A full disk, more or less: a folder that is gone. The item keeps what it holds. */
static void test_no_room(void **state)
{
	struct push_item *item = new_item(1, "body", 4);
	struct push_spool *spool = NULL;
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/below", folder);
	assert_int_equal(push_spool_new(path, "one", &spool), 0);
	snprintf(path, sizeof(path), "%s/below/one.lock", folder);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/below", folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(push_spool_put(spool, item), -ENOENT);
	assert_false(item->spooled);
	assert_string_equal(item->path, "/a");
	assert_string_equal(item->body.data, "body");
	push_item_free(item);
	push_spool_free(&spool);
}

static void test_taken(void **state)
{
	struct push_spool *spool = NULL, *second = NULL, *other = NULL;
	struct captured captured;
	int err;

	(void)state;
	assert_int_equal(push_spool_new(folder, "one", &spool), 0);
	assert_int_equal(push_spool_new(folder, "two", &other), 0);
	captured_begin(&captured, STDERR_FILENO);
	err = push_spool_new(folder, "one", &second);
	captured_end(&captured);
	assert_int_equal(err, -EWOULDBLOCK);
	assert_null(second);
	assert_non_null(strstr(captured.text, "another spantrace uses it"));
	captured_begin(&captured, STDERR_FILENO);
	err = push_spool_new("/proc/none", "one", &second);
	captured_end(&captured);
	assert_int_equal(err, -ENOENT);
	assert_non_null(strstr(captured.text, "--spool /proc/none: "));
	push_spool_free(&spool);
	push_spool_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_damaged, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_others, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_no_room, make_folder, drop_folder),
		cmocka_unit_test_setup_teardown(test_taken, make_folder, drop_folder),
	};

	return cmocka_run_group_tests_name("push_spool", tests, NULL, NULL);
}
