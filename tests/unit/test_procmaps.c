/* SPDX-License-Identifier: MIT */
/* Mappings: the kernel's text with all that a path can hold, and real processes, also odd ones. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../user/target/procmaps.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_text(void **state)
{
	static const char text[] =
		"5628aefb3000-5628aefb5000 r--p 00000000 fe:00 396667                     /usr/bin/app\n"
		"5628aefb5000-5628aefba000 r-xp 00002000 fe:00 396667                     /usr/bin/app\n"
		"5628aefbd000-5628aefde000 rw-p 00000000 00:00 0                          [heap]\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		"7f0000002000-7f0000003000 r-xs 100000000 103:1f 18446744073709551615 /opt/a b\\012c\\d (deleted)\n"
		"7f0000004000-7f0000005000 --xp 00000000 00:01 12                         /memfd: (deleted) (deleted)\n"
		"7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
	struct procmap *maps = NULL;
	size_t n = 0;

	(void)state;
	assert_int_equal(procmaps_parse(text, strlen(text), 77, &maps, &n), 0);
	assert_int_equal(n, 3);

	assert_int_equal(maps[0].task, 77);
	assert_int_equal(maps[0].start, 0x5628aefb5000);
	assert_int_equal(maps[0].end, 0x5628aefba000);
	assert_int_equal(maps[0].offset, 0x2000);
	assert_int_equal(maps[0].dev, makedev(0xfe, 0));
	assert_int_equal(maps[0].inode, 396667);
	assert_string_equal(maps[0].path, "/usr/bin/app");
	assert_false(maps[0].deleted);

	assert_int_equal(maps[1].offset, 0x100000000);
	assert_int_equal(maps[1].dev, makedev(0x103, 0x1f));
	assert_true(maps[1].inode == UINT64_MAX);
	assert_string_equal(maps[1].path, "/opt/a b\nc\\d");
	assert_true(maps[1].deleted);

	assert_string_equal(maps[2].path, "/memfd: (deleted)");
	assert_true(maps[2].deleted);
	free(maps);

	maps = NULL;
	assert_int_equal(procmaps_parse("", 0, 1, &maps, &n), 0);
	assert_int_equal(n, 0);
	free(maps);
}

static void test_bad_text(void **state)
{
	static const char *const cases[] = {
		"\n",
		"x\n",
		"1000-2000 r-xp 0 0:0 1 /a",
		"1000-2000 r-xp 0 0:0\n",
		"1000-2000 r-xp 0 00 1 /a\n",
		"1000 2000 r-xp 0 0:0 1 /a\n",
		"1000-2000 r-x\n",
		"2000-1000 r-xp 0 0:0 1 /a\n",
		"11111111111111111-2 r-xp 0 0:0 1 /a\n",
		"1000-2000 r-xp 0 0:0 18446744073709551616 /a\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct procmap *maps = (struct procmap *)&cases;
		size_t n = 99;

		assert_int_equal(procmaps_parse(cases[i], strlen(cases[i]), 1, &maps, &n),
				 -EBADMSG);
		assert_ptr_equal(maps, &cases);
		assert_int_equal(n, 99);
	}
}

static void test_unique(void **state)
{
	struct procmap maps[] = {
		{.start = 10, .dev = 1, .inode = 5}, {.start = 20, .dev = 1, .inode = 4},
		{.start = 30, .dev = 1, .inode = 5}, {.start = 40, .dev = 2, .inode = 5},
		{.start = 50, .dev = 1, .inode = 4},
	};

	(void)state;
	assert_int_equal(procmaps_unique(maps, COUNT(maps)), 3);
	assert_int_equal(maps[0].start, 10);
	assert_int_equal(maps[1].start, 20);
	assert_int_equal(maps[2].start, 40);
	assert_int_equal(procmaps_unique(maps, 0), 0);
}

/* A directory and a page-sized file in it, both open to everyone. */
struct fixture {
	char dir[64], path[96];
	void *page;
};

static void map_file(struct fixture *f, const char *name, const char *content)
{
	int fd;

	strcpy(f->dir, "/tmp/test_procmaps.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(chmod(f->dir, 0755), 0);
	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
	fd = open(f->path, O_RDWR | O_CREAT | O_EXCL, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	f->page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(f->page, MAP_FAILED);
	close(fd);
}

static void unmap_file(struct fixture *f)
{
	munmap(f->page, 4096);
	unlink(f->path);
	assert_int_equal(rmdir(f->dir), 0);
}

/* The mapping of PID at ADDRESS, in *MAPS for free(). */
static const struct procmap *find(pid_t pid, const void *address, struct procmap **maps)
{
	size_t n;

	assert_int_equal(procmaps_read(pid, maps, &n), 0);
	for (size_t i = 0; i < n; i++)
		if ((*maps)[i].start <= (uintptr_t)address && (uintptr_t)address < (*maps)[i].end)
			return &(*maps)[i];
	fail_msg("no mapping at %p", address);
	return NULL;
}

static void check_content(int fd, const char *expected)
{
	char got[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(pread(fd, got, sizeof(got) - 1, 0), strlen(expected));
	assert_string_equal(got, expected);
	close(fd);
}

static void test_own_program(void **state)
{
	struct procmap *maps = NULL;
	const struct procmap *map =
		find(getpid(), (const void *)(uintptr_t)test_own_program, &maps);
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	struct stat st, opened;
	int fd;

	(void)state;
	assert_true(n > 0);
	exe[n] = '\0';
	assert_string_equal(map->path, exe);
	assert_int_equal(map->task, getpid());
	assert_int_equal(stat(exe, &st), 0);
	fd = procmaps_open(map);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &opened), 0);
	assert_int_equal(opened.st_ino, st.st_ino);
	close(fd);
	free(maps);
}

static void test_odd_path_and_deleted(void **state)
{
	struct procmap *maps = NULL;
	const struct procmap *map;
	struct fixture f;

	(void)state;
	map_file(&f, " two words\nand a line ", "first");
	map = find(getpid(), f.page, &maps);
	assert_string_equal(map->path, f.path);
	assert_false(map->deleted);
	check_content(procmaps_open(map), "first");
	free(maps);

	assert_int_equal(unlink(f.path), 0);
	map = find(getpid(), f.page, &maps);
	assert_string_equal(map->path, f.path);
	assert_true(map->deleted);
	if (geteuid() == 0)
		check_content(procmaps_open(map), "first");
	free(maps);
	unmap_file(&f);
}

/* Without the right to map_files: through the path, unless it is another file's by now. */
static void check_fallback(const struct fixture *f)
{
	struct procmap *maps = NULL;
	const struct procmap *map = find(getpid(), f->page, &maps);
	char other[128];
	int fd;

	check_content(procmaps_open(map), "mapped");
	snprintf(other, sizeof(other), "%s/other", f->dir);
	fd = open(other, O_RDWR | O_CREAT, 0644);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rename(other, f->path), 0);
	assert_int_equal(procmaps_open(map), -ESTALE);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(procmaps_open(map), -ESTALE);
	free(maps);
}

static void test_fallback(void **state)
{
	struct fixture f;
	int status;
	pid_t pid;

	(void)state;
	map_file(&f, "file", "mapped");
	assert_int_equal(chmod(f.dir, 0777), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setuid(65534))
			_exit(2);
		prctl(PR_SET_DUMPABLE, 1); /* setuid() took /proc/self away */
		check_fallback(&f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unmap_file(&f);
}

/* By the path that spantrace sees, when the process is gone: that very file, or none. */
static void test_open_here(void **state)
{
	struct procmap *maps = NULL, map;
	struct fixture f;

	(void)state;
	map_file(&f, "file", "mapped");
	map = *find(getpid(), f.page, &maps);
	map.task = INT_MAX; /* there is none */
	assert_int_equal(procmaps_open(&map), -ESRCH);
	check_content(procmaps_open_here(&map), "mapped");
	map.inode++;
	assert_int_equal(procmaps_open_here(&map), -ESTALE);
	map.inode--;
	map.dev++;
	assert_int_equal(procmaps_open_here(&map), -ESTALE);
	map.dev--;
	map.deleted = true;
	assert_int_equal(procmaps_open_here(&map), -ESTALE);
	map.deleted = false;
	assert_int_equal(unlink(f.path), 0);
	assert_int_equal(procmaps_open_here(&map), -ENOENT);
	free(maps);
	unmap_file(&f);
}

static void test_device(void **state)
{
	int fd = open("/dev/zero", O_RDWR);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	struct procmap *maps = NULL;
	const struct procmap *map;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	map = find(getpid(), page, &maps);
	assert_string_equal(map->path, "/dev/zero");
	assert_int_equal(procmaps_open(map), -EINVAL);
	free(maps);
	munmap(page, 4096);
	close(fd);
}

static void test_mapping_gone(void **state)
{
	struct procmap *maps = NULL;
	const struct procmap *map;
	struct fixture f;

	(void)state;
	map_file(&f, "file", "x");
	map = find(getpid(), f.page, &maps);
	unmap_file(&f);
	assert_int_equal(procmaps_open(map), geteuid() == 0 ? -ESRCH : -ESTALE);
	free(maps);
}

static void test_no_process(void **state)
{
	struct procmap *maps = NULL;
	size_t n = 7;
	siginfo_t info;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	/* A zombie has no memory any more … */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(procmaps_read(pid, &maps, &n), 0);
	assert_int_equal(n, 0);
	free(maps);
	/* … and then it is gone. */
	maps = NULL;
	n = 7;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(procmaps_read(pid, &maps, &n), -ESRCH);
	assert_null(maps);
	assert_int_equal(n, 7);
}

static void *wait_for_end(void *fd)
{
	char byte;

	(void)!read(*(int *)fd, &byte, 1);
	_exit(0);
}

/* A process whose main thread has ended while another runs on. */
static void test_dead_leader(void **state)
{
	struct procmap *maps = NULL;
	const struct procmap *map;
	int ends[2], status, fd;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		close(ends[1]);
		if (pthread_create(&thread, NULL, wait_for_end, &ends[0]))
			_exit(1);
		pthread_exit(NULL);
	}
	for (int i = 0;; i++) {
		char path[64], text[512] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "r");
		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		fclose(file);
		if (!strncmp(strrchr(text, ')'), ") Z", 3))
			break;
		assert_true(i < 1000);
		usleep(10000);
	}
	map = find(pid, (const void *)(uintptr_t)test_dead_leader, &maps);
	assert_int_not_equal(map->task, pid);
	fd = procmaps_open(map);
	assert_true(fd >= 0);
	close(fd);
	free(maps);
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_own_program),
		cmocka_unit_test(test_odd_path_and_deleted),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_open_here),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_mapping_gone),
		cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_dead_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
