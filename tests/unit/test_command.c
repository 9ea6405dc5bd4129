/* SPDX-License-Identifier: MIT */
/* `-- CMD` without probes: real programs are started, held, stepped to their entry and let go. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../user/target/command.h"
#include "elfbuild.h"

/* A folder of its own for each test, and in it one file. */
struct folder {
	char path[64];
	char file[96];
};

static int setup(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "/tmp/test_command.XXXXXX");
	if (!mkdtemp(f->path))
		return -1;
	snprintf(f->file, sizeof(f->file), "%s/out", f->path);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct folder *f = *state;

	unlink(f->file);
	rmdir(f->path);
	free(f);
	return 0;
}

static void put(const char *path, const void *data, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

/* Starts ARGV, which must end up held. */
static struct command_child start(char *const *argv)
{
	struct command_child child = {0};

	assert_int_equal(command_start(argv, &child), 0);
	assert_true(child.pid > 0);
	assert_true(child.held);
	assert_false(child.ended);
	return child;
}

static struct command_child start_shell(const char *script)
{
	char *const argv[] = {"sh", "-c", (char *)script, NULL};

	return start(argv);
}

/* Whether PID has a file mapped whose name holds PART. */
static bool has_mapped(pid_t pid, const char *part)
{
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, part) != NULL;
	fclose(file);
	return found;
}

/* Lets it go and waits for its end. */
static int run_to_end(struct command_child *child)
{
	assert_int_equal(command_release(child), 0);
	assert_false(child->held);
	assert_true(command_reap(child, true));
	assert_true(child->ended);
	return command_exit_status(child);
}

static void test_true(void **state)
{
	char *const argv[] = {"/bin/true", NULL};
	struct command_child child = start(argv);

	(void)state;
	assert_int_equal(run_to_end(&child), 0);
	assert_true(command_reap(&child, true)); /* once is enough */
	assert_int_equal(command_exit_status(&child), 0);
	assert_int_equal(command_release(&child), 0); /* nothing to let go */
}

static void test_path_is_searched(void **state)
{
	char *const argv[] = {"false", NULL};
	struct command_child child = start(argv);

	(void)state;
	assert_int_equal(run_to_end(&child), 1);
}

static void check_refused(const char *path, int err)
{
	char *const argv[] = {(char *)path, NULL};
	struct command_child child = {0};

	assert_int_equal(command_start(argv, &child), err);
	assert_false(child.held);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left of it */
	assert_int_equal(errno, ECHILD);
}

static void test_refused(void **state)
{
	struct folder *f = *state;

	check_refused("/nonexistent/program", -ENOENT);
	check_refused("no-such-program-in-the-path", -ENOENT);
	check_refused("", -ENOENT);
	check_refused(f->path, -EACCES);
	put(f->file, "#!/bin/sh\n", 10, 0644);
	check_refused(f->file, -EACCES);
	unlink(f->file);
	put(f->file, "#!/nonexistent/shell\n", 21, 0755);
	check_refused(f->file, -ENOENT);
}

/* As in a shell, a file without #! that is no program is the shell's. */
static void test_script_without_shell(void **state)
{
	struct folder *f = *state;
	char *const argv[] = {f->file, "4", NULL};
	struct command_child child;

	put(f->file, "exit $1\n", 8, 0755);
	child = start(argv);
	assert_int_equal(run_to_end(&child), 4);
}

static void test_statuses(void **state)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = {
		{"exit 0", 0},       {"exit 7", 7},          {"exit 255", 255},
		{"kill -9 $$", 137}, {"kill -TERM $$", 143}, {"kill -SEGV $$", 139},
	};
	struct command_child child;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		child = start_shell(cases[i].script);
		assert_int_equal(run_to_end(&child), cases[i].status);
	}
}

/* Nothing of it has run before it is let go. */
static void test_held(void **state)
{
	struct folder *f = *state;
	struct command_child child;
	char script[128];

	snprintf(script, sizeof(script), "echo x >%s", f->file);
	child = start_shell(script);
	usleep(50000);
	assert_int_equal(access(f->file, F_OK), -1);
	assert_false(command_reap(&child, false));
	assert_false(child.ended);
	assert_int_equal(run_to_end(&child), 0);
	assert_int_equal(access(f->file, F_OK), 0);
}

/* At exec only the program and its loader are there; then it stops with each library, and at last
 * at its entry with all of them, still not run. */
static void test_steps_of_a_dynamic_program(void **state)
{
	struct folder *f = *state;
	struct command_child child;
	char script[128];
	int next, steps = 0;

	snprintf(script, sizeof(script), "echo x >%s; exit 3", f->file);
	child = start_shell(script);
	assert_false(has_mapped(child.pid, "/libc"));
	while ((next = command_next(&child)) == 1) {
		steps++;
		assert_true(child.held);
	}
	assert_int_equal(next, 0);
	assert_true(steps >= 1);
	assert_true(child.held);
	assert_true(has_mapped(child.pid, "/libc"));
	usleep(20000);
	assert_int_equal(access(f->file, F_OK), -1);
	assert_int_equal(run_to_end(&child), 3);
	assert_int_equal(access(f->file, F_OK), 0);
	assert_int_equal(command_next(&child), -ECHILD);
}

/* Let go half-way, it goes on as if nothing had been planted. */
static void test_released_between_steps(void **state)
{
	struct command_child child = start_shell("exit 5");

	(void)state;
	assert_int_equal(command_next(&child), 1);
	assert_int_equal(run_to_end(&child), 5);
	assert_int_equal(command_next(&child), -ECHILD);
}

/* mov $42, %edi; mov $60 (exit), %eax; syscall */
static const unsigned char exit_42[] = {0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05};

static void test_static_program(void **state)
{
	struct folder *f = *state;
	char *const argv[] = {f->file, NULL};
	struct command_child child;
	struct elfbuild b;
	struct elfbuf image;

	elfbuild_init(&b, ELFBUILD_TEXT_SIZE);
	b.type = ET_EXEC;
	memcpy(b.text, exit_42, sizeof(exit_42));
	image = elfbuild_image(&b);
	((Elf64_Ehdr *)image.data)->e_entry = ELFBUILD_TEXT;
	put(f->file, image.data, image.size, 0755);
	free(image.data);
	elfbuild_free(&b);
	child = start(argv);
	assert_int_equal(command_next(&child), 0); /* no loader, no libraries */
	assert_int_equal(command_next(&child), 0);
	assert_int_equal(run_to_end(&child), 42);
}

static void test_killed_while_held(void **state)
{
	struct command_child child;
	siginfo_t info;
	int round;

	(void)state;
	/* Before its loader has run and after; while it dies and when it is dead. */
	for (round = 0; round < 4; round++) {
		child = start_shell("exit 0");
		if (round & 1)
			assert_int_equal(command_next(&child), 1);
		kill(child.pid, SIGKILL);
		if (round & 2)
			waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
		assert_int_equal(command_next(&child), -ECHILD);
		assert_true(child.ended);
		assert_false(child.held);
		assert_int_equal(command_exit_status(&child), 137);
		assert_true(command_reap(&child, false));
		assert_int_equal(command_release(&child), 0);
	}
}

static void test_killed_before_it_is_let_go(void **state)
{
	struct command_child child = start_shell("exit 0");

	(void)state;
	kill(child.pid, SIGKILL);
	command_release(&child);
	assert_true(command_reap(&child, true));
	assert_int_equal(command_exit_status(&child), 137);
}

/* A signal that comes while it loads is its own, and reaches it. */
static void test_signal_while_loading(void **state)
{
	struct command_child child = start_shell("exit 0");
	int next;

	(void)state;
	assert_int_equal(command_next(&child), 1);
	kill(child.pid, SIGUSR1);
	do
		next = command_next(&child);
	while (next == 1);
	assert_int_equal(next, -ECHILD);
	assert_int_equal(command_exit_status(&child), 128 + SIGUSR1);
}

/* Spantrace blocks signals for itself, not for the command. */
static void test_signal_mask(void **state)
{
	struct command_child child;
	sigset_t set, old;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &old);
	child = start_shell("kill -TERM $$; exit 3");
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_int_equal(run_to_end(&child), 143);
}

static void test_reap_does_not_wait(void **state)
{
	struct command_child child = start_shell("exec sleep 100");

	(void)state;
	assert_int_equal(command_release(&child), 0);
	assert_false(command_reap(&child, false));
	assert_false(child.ended);
	kill(child.pid, SIGKILL);
	assert_true(command_reap(&child, true));
	assert_int_equal(command_exit_status(&child), 137);
}

/* Waits for a watched child's next exec, or its end; returns whether it has ended. */
static bool watch(struct command_child *child)
{
	assert_int_equal(command_watch(child), 0);
	assert_false(child->held);
	return command_reap(child, true);
}

/* `env`, `nice`, a shell that execs: held again at the program that it becomes. */
static void test_watched_until_exec(void **state)
{
	struct command_child child = start_shell("exec sh -c 'exec sh -c \"exit 9\"'");
	int i, next, steps;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_false(watch(&child));
		assert_true(child.held);
		assert_false(has_mapped(child.pid, "/libc"));
		for (steps = 0; (next = command_next(&child)) == 1; steps++)
			;
		assert_int_equal(next, 0);
		assert_true(steps >= 1);
	}
	assert_true(watch(&child));
	assert_int_equal(command_exit_status(&child), 9);
}

static void test_watched_to_its_end(void **state)
{
	static const struct {
		const char *script;
		int status;
	} cases[] = {
		{"exit 4", 4},
		{"/bin/true; /bin/false", 1}, /* its children's execs are not its own */
		{"kill -9 $$", 137},
		{"kill -TERM $$", 143},
		{"trap 'exit 6' USR1; kill -USR1 $$; exit 7", 6},
	};
	struct command_child child;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		child = start_shell(cases[i].script);
		assert_true(watch(&child));
		assert_int_equal(command_exit_status(&child), cases[i].status);
	}
}

static int next_fd(void)
{
	int fd = dup(STDOUT_FILENO);

	close(fd);
	return fd;
}

/* Neither here nor in the command. */
static void test_descriptors(void **state)
{
	const int before = next_fd();
	struct command_child child;
	char script[64];

	(void)state;
	snprintf(script, sizeof(script), "test ! -e /proc/self/fd/%d", before);
	child = start_shell(script);
	assert_int_equal(next_fd(), before);
	assert_int_equal(run_to_end(&child), 0);
}

/* Starts a command in a process of its own, which is then killed; what becomes of the command. */
static int status_after_kill(int (*let_go)(struct command_child *child))
{
	char *const argv[] = {"sh", "-c", "sleep 0.2; exit 8", NULL};
	struct command_child child = {0};
	int told[2], status;
	pid_t holder;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* its child becomes ours */
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	holder = fork();
	if (holder == 0) {
		if (command_start(argv, &child) || (let_go && let_go(&child)) ||
		    write(told[1], &child.pid, sizeof(pid_t)) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(read(told[0], &child.pid, sizeof(pid_t)), sizeof(pid_t));
	assert_int_equal(waitpid(holder, &status, 0), holder);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(told[0]);
	close(told[1]);
	return status;
}

/* The end of spantrace leaves a command that runs as it is. One that is still held, with probes
 * half attached, must not stay stopped for ever. */
static void test_end_of_the_holder(void **state)
{
	int status;

	(void)state;
	status = status_after_kill(command_release);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 8);
	status = status_after_kill(command_watch);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 8);
	status = status_after_kill(NULL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_true),
		TEST(test_path_is_searched),
		TEST(test_refused),
		TEST(test_script_without_shell),
		TEST(test_statuses),
		TEST(test_held),
		TEST(test_steps_of_a_dynamic_program),
		TEST(test_released_between_steps),
		TEST(test_static_program),
		TEST(test_killed_while_held),
		TEST(test_killed_before_it_is_let_go),
		TEST(test_signal_while_loading),
		TEST(test_signal_mask),
		TEST(test_reap_does_not_wait),
		TEST(test_watched_until_exec),
		TEST(test_watched_to_its_end),
		TEST(test_descriptors),
		TEST(test_end_of_the_holder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
