/* SPDX-License-Identifier: MIT */
/* The status line, on a terminal of its own. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <termios.h>

#include <cmocka.h>

#include "../../user/session/status.h"
#include "captured.h"
#include "traced.h"

#define SECOND 1000000000ull

/* Stderr as a terminal from terminal_begin() to terminal_end(): nothing may be asserted between. */
struct terminal {
	int master, saved;
	char text[4096];
};

static void terminal_begin(struct terminal *terminal)
{
	struct termios mode;
	int slave;

	terminal->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(terminal->master >= 0);
	assert_int_equal(grantpt(terminal->master), 0);
	assert_int_equal(unlockpt(terminal->master), 0);
	slave = open(ptsname(terminal->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(tcgetattr(slave, &mode), 0);
	cfmakeraw(&mode);
	assert_int_equal(tcsetattr(slave, TCSANOW, &mode), 0);
	fflush(NULL);
	terminal->saved = dup(STDERR_FILENO);
	dup2(slave, STDERR_FILENO);
	close(slave);
}

static const char *terminal_end(struct terminal *terminal)
{
	size_t used = 0;
	ssize_t n;

	fflush(NULL);
	dup2(terminal->saved, STDERR_FILENO);
	close(terminal->saved);
	/* Nobody writes to it any more: it ends with EIO once all is read. */
	while (used < sizeof(terminal->text) - 1 &&
	       (n = read(terminal->master, terminal->text + used,
			 sizeof(terminal->text) - 1 - used)) > 0)
		used += (size_t)n;
	close(terminal->master);
	terminal->text[used] = '\0';
	return terminal->text;
}

static void test_not_on_a_file(void **state)
{
	struct traced *t = *state;
	struct status_line line;
	struct captured c;
	bool due;

	captured_begin(&c, STDERR_FILENO);
	status_begin(&line, false, SECOND);
	due = status_due(&line, 10 * SECOND);
	status_show(&line, t->trace, 0, 10 * SECOND);
	status_end(&line);
	captured_end(&c);
	assert_false(due);
	assert_string_equal(c.text, "");
}

static void test_quiet(void **state)
{
	struct traced *t = *state;
	struct terminal terminal;
	struct status_line line;
	bool due;

	terminal_begin(&terminal);
	status_begin(&line, true, SECOND);
	due = status_due(&line, 10 * SECOND);
	status_show(&line, t->trace, 0, 10 * SECOND);
	status_end(&line);
	terminal_end(&terminal);
	assert_false(due);
	assert_string_equal(terminal.text, "");
}

static void test_line(void **state)
{
	struct wire_event event = make_event(2, PATH_TICK, 1);
	struct traced *t = *state;
	struct terminal terminal;
	struct status_line line;
	bool early, due, after;
	size_t i;

	feed_span(t, 1, PATH_A, 1, 1, 1);
	for (i = 0; i < 3; i++)
		feed(t, &event);
	terminal_begin(&terminal);
	status_begin(&line, false, 5 * SECOND);
	early = status_due(&line, 6 * SECOND - 1);
	due = status_due(&line, 6 * SECOND);
	status_show(&line, t->trace, 0, 6 * SECOND);
	after = status_due(&line, 6 * SECOND);
	/* Rates are of the time since the last line, here two seconds. */
	for (i = 0; i < 100; i++)
		feed_span(t, 1, PATH_A, 1, 1, 1);
	status_show(&line, t->trace, 17, 8 * SECOND);
	status_show(&line, t->trace, 18, 8 * SECOND); /* at once again: no rate, no line */
	status_end(&line);
	status_end(&line);
	terminal_end(&terminal);
	assert_false(early);
	assert_true(due);
	assert_false(after);
	assert_string_equal(terminal.text, "\r\033[K1 s  2 threads  1 spans/s  3 events/s  0 lost"
					   "\r\033[K3 s  2 threads  50 spans/s  0 events/s  17 lost"
					   "\r\033[K");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, traced_setup, traced_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_not_on_a_file),
		TEST(test_quiet),
		TEST(test_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
