/* SPDX-License-Identifier: MIT */
/* What `spantrace list` prints for files made by hand, and its statuses for real ones. */
#define _GNU_SOURCE 1 /* pipe2 */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../include/version.h"
#include "../../user/list.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct elfnote_site app_sites[] = {
	{
		.provider = "app",
		.name = "job__enter",
		.vaddr = 0x401301,
		.offset = 0x1301,
		.sema_vaddr = 0x404010,
		.sema_offset = 0x3010,
		.nop = ELFNOTE_NOP1,
		.nargs = 2,
		.args = {{.text = "8@%rdi", .key = "size"},
			 {.text = "8f@%xmm0", .why = "it is a floating-point number"}},
		.args_text = "8@%rdi 8f@%xmm0",
		.source_file = "job.c",
		.source_line = 12,
		.has_meta = true,
	},
	{
		.provider = "app",
		.name = "job__exit",
		.vaddr = 0x401310,
		.offset = 0x1310,
		.nop = ELFNOTE_NOP1_NOP5,
		.args_text = "",
	},
	{
		.provider = "app",
		.name = "job__enter",
		.vaddr = 0x401400,
		.offset = 0x1400,
		.sema_vaddr = 0x404010,
		.sema_offset = 0x3010,
		.nop = ELFNOTE_NOP1,
		.args_text = "",
	},
	{
		.provider = "app",
		.name = "bad\033__exit",
		.vaddr = 0x10,
		.args_text = "",
		.refused = "its site is not in executable text",
	},
};

static struct elfnote_site lib_sites[] = {
	{
		.provider = "lib",
		.name = "f__entry",
		.vaddr = 0x20,
		.offset = 0x20,
		.nop = ELFNOTE_NOP1,
		.nargs = 13,
		.args = {{.text = "1@$0"},
			 {.text = "1@$1"},
			 {.text = "1@$2"},
			 {.text = "1@$3"},
			 {.text = "1@$4"},
			 {.text = "1@$5"},
			 {.text = "1@$6"},
			 {.text = "1@$7"},
			 {.text = "1@$8"},
			 {.text = "1@$9"},
			 {.text = "1@$10"},
			 {.text = "1@$11"}},
		.args_text = "",
	},
	{
		.provider = "lib",
		.name = "f__return",
		.vaddr = 0x30,
		.offset = 0x30,
		.nop = ELFNOTE_NOP1,
		.args_text = "",
	},
};

static struct elfnote_file app_notes = {
	.sites = app_sites,
	.nsites = COUNT(app_sites),
	.machine = EM_X86_64,
	.build_id = "0123abcd",
	.inode = 7,
	.device = 1,
};

static struct elfnote_file lib_notes = {
	.sites = lib_sites,
	.nsites = COUNT(lib_sites),
	.machine = EM_AARCH64,
	.inode = 8,
	.device = 1,
	.damaged = "its notes are cut",
};

static pid_t pids[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static struct list_file files[] = {
	{.path = (char *)"./a\nprogram", .notes = &app_notes},
	{.path = (char *)"/lib/lib.so", .notes = &lib_notes, .pids = pids, .npids = COUNT(pids)},
};

/* Lists the first N of `files` into a string for free(). */
static char *print(size_t n, bool json, bool verbose, const struct pair_options *options)
{
	struct list list = {.files = files, .nfiles = n};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(list_pair(&list, options), 0);
	if (json)
		list_print_json(&list, out);
	else
		assert_int_equal(list_print(&list, out, verbose), 0);
	fclose(out);
	/* The files are nobody's to free. */
	free(list.markers);
	pair_plan_free(&list.plan);
	return text;
}

static void test_table(void **state)
{
	char *text = print(1, false, false, NULL);

	(void)state;
	assert_string_equal(
		text,
		"./a program: 3 markers at 4 sites, x86-64, build-id 0123abcd\n"
		"  MARKER          ADDRESS   OFFSET  SEMAPHORE  ARGUMENTS\n"
		"  app:job__enter  0x401301  0x1301  yes        size=8@%rdi 8f@%xmm0 [it is a floating-point number]\n"
		"                  0x401400  0x1400  yes\n"
		"  app:job__exit   0x401310  0x1310  no\n"
		"  refused:\n"
		"    app:bad\xef\xbf\xbd__exit at 0x10  its site is not in executable text\n"
		"\n"
		"spans and events:\n"
		"  KIND         NAME     WHY                  MARKERS\n"
		"  thread span  app:job  by `__enter/__exit`  enter job__enter, exit job__exit\n");
	free(text);
}

static void test_table_verbose(void **state)
{
	char *text = print(1, false, true, NULL);

	(void)state;
	assert_non_null(strstr(text, "NOP"));
	assert_non_null(strstr(text, "job.c:12"));
	assert_non_null(strstr(text, "  nop+nop5\n"));
	free(text);
}

static void test_two_files(void **state)
{
	char *text = print(2, false, false, NULL);

	(void)state;
	assert_non_null(strstr(
		text,
		"/lib/lib.so: 2 markers at 2 sites, arm64, pids 4, 5, 6, 7, 8, 9, 10, 11 and 2 more\n"
		"  damaged: its notes are cut\n"));
	/* More arguments than spantrace reads. */
	assert_non_null(strstr(text, "1@$10 1@$11 …\n"));
	/* One table of definitions, over both files. */
	assert_non_null(strstr(
		text,
		"  thread span  app:job  by `__enter/__exit`               enter job__enter, exit job__exit\n"
		"  thread span  lib:f    by `__entry/__return`, recursive  enter f__entry, exit f__return\n"));
	free(text);
}

static void test_options(void **state)
{
	const char *provider = "lib";
	struct pair_spec *spec = NULL;
	struct pair_options options = {
		.providers = &provider, .nproviders = 1, .specs = &spec, .nspecs = 1};
	char why[128], *text;

	(void)state;
	assert_int_equal(pair_spec_new("x=app:job__enter..lib:f__return", &spec, why, sizeof(why)),
			 0);
	text = print(2, false, false, &options);
	/* A marker of another provider than the span's is given in full. */
	assert_non_null(strstr(text, "  thread span  app:x         by --span"));
	assert_non_null(strstr(text, "enter job__enter, exit lib:f__return\n"));
	assert_non_null(strstr(
		text,
		"  event        lib:f__entry  `f__return` beside it belongs to another span\n"));
	assert_null(strstr(text, "event        app:job__exit"));
	free(text);
	pair_spec_free(&spec);
}

static void test_json(void **state)
{
	char *text = print(1, true, false, NULL);

	(void)state;
	assert_string_equal(
		text,
		"{\n"
		"\t\"schema\": 1,\n"
		"\t\"version\": \"" SPANTRACE_VERSION "\",\n"
		"\t\"files\": [\n"
		"\t\t{\n"
		"\t\t\t\"path\": \"./a\\nprogram\",\n"
		"\t\t\t\"build_id\": \"0123abcd\",\n"
		"\t\t\t\"machine\": \"x86-64\",\n"
		"\t\t\t\"sites\": [\n"
		"\t\t\t\t{\"marker\": \"app:job__enter\", \"address\": 4199169, \"offset\": 4865, \"semaphore\": 4210704, \"nop\": \"nop\", \"file\": \"job.c\", \"line\": 12, \"args\": [{\"text\": \"8@%rdi\", \"key\": \"size\"}, {\"text\": \"8f@%xmm0\", \"unreadable\": \"it is a floating-point number\"}]},\n"
		"\t\t\t\t{\"marker\": \"app:job__exit\", \"address\": 4199184, \"offset\": 4880, \"nop\": \"nop+nop5\", \"args\": []},\n"
		"\t\t\t\t{\"marker\": \"app:job__enter\", \"address\": 4199424, \"offset\": 5120, \"semaphore\": 4210704, \"nop\": \"nop\", \"args\": []},\n"
		"\t\t\t\t{\"marker\": \"app:bad\\u001b__exit\", \"address\": 16, \"offset\": 0, \"nop\": \"none\", \"args\": [], \"refused\": \"its site is not in executable text\"}\n"
		"\t\t\t]\n"
		"\t\t}\n"
		"\t],\n"
		"\t\"definitions\": [\n"
		"\t\t{\"kind\": \"thread span\", \"label\": \"app:job\", \"why\": \"by `__enter/__exit`\", \"markers\": [{\"role\": \"enter\", \"marker\": \"app:job__enter\"}, {\"role\": \"exit\", \"marker\": \"app:job__exit\"}]}\n"
		"\t],\n"
		"\t\"left_out\": [],\n"
		"\t\"problems\": []\n"
		"}\n");
	free(text);

	text = print(2, true, false, NULL);
	assert_non_null(strstr(text, "\"pids\": [4, 5, 6, 7, 8, 9, 10, 11, 12, 13]"));
	assert_non_null(strstr(text, "\"damaged\": \"its notes are cut\""));
	assert_non_null(strstr(text, "\"label\": \"lib:f\", \"recursive\": 1, \"why\""));
	free(text);
}

static void test_same_file(void **state)
{
	struct elfnote_file a = {.inode = 1, .device = 1, .build_id = "aa"};
	struct elfnote_file b = a;

	(void)state;
	assert_true(elfnote_same_file(&a, &b));
	b.device = 2; /* an overlay */
	assert_true(elfnote_same_file(&a, &b));
	b.build_id[0] = 'b';
	assert_false(elfnote_same_file(&a, &b));
	b = a;
	b.inode = 2;
	assert_false(elfnote_same_file(&a, &b));
	/* Without build-ids the device must do. */
	a.build_id[0] = '\0';
	b = a;
	assert_true(elfnote_same_file(&a, &b));
	b.device = 2;
	assert_false(elfnote_same_file(&a, &b));
}

/* list_run() in a child with its streams in a file: status, and what it wrote to both. */
static int run(const char *word1, const char *word2, char *text, size_t size)
{
	FILE *file = tmpfile();
	int status;
	size_t n;
	pid_t pid;

	assert_non_null(file);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *argv[] = {(char *)"list", (char *)word1, (char *)word2, NULL};

		dup2(fileno(file), STDOUT_FILENO);
		dup2(fileno(file), STDERR_FILENO);
		status = list_run(word2 ? 3 : word1 ? 2 : 1, argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	rewind(file);
	n = fread(text, 1, size - 1, file);
	text[n] = '\0';
	fclose(file);
	return WEXITSTATUS(status);
}

static void test_statuses(void **state)
{
	static const struct {
		const char *words[2];
		int status;
		const char *text;
	} cases[] = {
		{{NULL}, 2, "spantrace: nothing to list; "},
		{{"--help"}, 0, "usage: spantrace list "},
		{{"/nowhere/at-all"}, 1, "spantrace: /nowhere/at-all: No such file or directory\n"},
		{{"/etc/passwd"}, 1, "spantrace: /etc/passwd: it is not an ELF file\n"},
		{{"/"}, 1, "spantrace: /: it is not a regular file\n"},
		{{"/bin/true"}, 1, "spantrace: warning: /bin/true: it has no markers\n"},
		{{"-p", "2147483647"}, 1, "spantrace: pid 2147483647: there is no such process\n"},
		{{"-p", "0"}, 2, "spantrace: -p: \"0\" is not a process id; "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[8192];
		int status = run(cases[i].words[0], cases[i].words[1], text, sizeof(text));

		assert_int_equal(status, cases[i].status);
		if (strncmp(text, cases[i].text, strlen(cases[i].text)) != 0)
			assert_string_equal(text, cases[i].text);
	}
}

/* A process without markers: that is said, with the number of files looked at. (Not this one:
 * what it has mapped depends on how it was built.) */
static void test_process(void **state)
{
	char text[8192], word[16], byte;
	int ends[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* its end closes when it has become sleep */
	close(ends[0]);
	snprintf(word, sizeof(word), "%d", pid);
	assert_int_equal(run("-p", word, text, sizeof(text)), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(strncmp(text, "spantrace: no markers in the ", 29), 0);
	assert_non_null(strstr(text, " files that are mapped to execute\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),     cmocka_unit_test(test_table_verbose),
		cmocka_unit_test(test_two_files), cmocka_unit_test(test_options),
		cmocka_unit_test(test_json),      cmocka_unit_test(test_same_file),
		cmocka_unit_test(test_statuses),  cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
