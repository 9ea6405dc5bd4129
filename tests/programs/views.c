/* SPDX-License-Identifier: MIT */
/* Does what it is told on stdin, a line each, and answers "done": spans by itself, by children, by another program, by a
 * library that it opens.
 *
 *   work N          N spans views:work
 *   child N         a child does N spans views:child inside an open views:around of this process
 *   daemon N        a grandchild whose parents are gone does N spans views:daemon
 *   crowd M N       M children at one time, N spans views:work each
 *   series M N      M children one after another that exec this program anew: N spans views:once each
 *   open FILE N     dlopen FILE, built from this source with -DVIEWS_LIBRARY; N spans viewslib:work in it
 *   exec FILE       becomes FILE, which goes on reading
 *
 *   views once N    N spans views:once, and ends
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spantrace.h"

static volatile unsigned long sink;

#ifdef VIEWS_LIBRARY
void views_library(int n);
void views_library(int n)
{
	for (int i = 0; i < n; i++) {
		SPAN_ENTER(viewslib, work);
		sink++;
		SPAN_EXIT(viewslib, work);
	}
}
#else

#ifndef VIEWS_STATIC
#include <dlfcn.h>

static void do_open(const char *path, int n)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*run)(int) = NULL;

	if (library)
		*(void **)&run = dlsym(library, "views_library");
	if (!run) {
		puts(dlerror());
		exit(1);
	}
	/* Its probes come a moment later: the test says when they stand. */
	puts("opened");
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	run(n);
}
#else
static void do_open(const char *path, int n)
{
	printf("no dlopen of %s for %d\n", path, n);
	exit(1);
}
#endif

__attribute__((noinline)) static void work(int n)
{
	for (int i = 0; i < n; i++) {
		SPAN_ENTER(views, work);
		sink++;
		SPAN_EXIT(views, work);
	}
}

__attribute__((noinline)) static void once(int n)
{
	for (int i = 0; i < n; i++) {
		SPAN_ENTER(views, once);
		sink++;
		SPAN_EXIT(views, once);
	}
}

static void wait_all(void)
{
	int status, bad = 0;

	while (wait(&status) > 0)
		bad |= status;
	if (bad)
		abort();
}

static void do_child(int n)
{
	SPAN_ENTER(views, around);
	if (fork() == 0) {
		for (int i = 0; i < n; i++) {
			SPAN_ENTER(views, child);
			sink++;
			SPAN_EXIT(views, child);
		}
		_exit(0);
	}
	wait_all();
	SPAN_EXIT(views, around);
}

static void do_daemon(int n)
{
	int done[2];
	char c;

	if (pipe(done))
		abort();
	if (fork() == 0) {
		setsid();
		if (fork())
			_exit(0);
		for (int i = 0; i < n; i++) {
			SPAN_ENTER(views, daemon);
			sink++;
			SPAN_EXIT(views, daemon);
		}
		_exit(write(done[1], "", 1) != 1);
	}
	wait_all();
	close(done[1]);
	if (read(done[0], &c, 1) != 1)
		abort();
	close(done[0]);
}

static void do_crowd(int m, int n)
{
	int go[2], ready[2];
	char c;

	if (pipe(go) || pipe(ready))
		abort();
	for (int i = 0; i < m; i++) {
		if (fork())
			continue;
		close(go[1]);
		if (write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 0)
			abort();
		work(n);
		_exit(0);
	}
	for (int i = 0; i < m; i++)
		if (read(ready[0], &c, 1) != 1)
			abort();
	close(go[1]); /* all of them go */
	wait_all();
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
}

static void do_series(int m, const char *n)
{
	for (int i = 0; i < m; i++) {
		if (fork() == 0) {
			execl("/proc/self/exe", "views", "once", n, (char *)NULL);
			_exit(1);
		}
		wait_all();
	}
}

int main(int argc, char **argv)
{
	char line[4096];

	if (argc > 2 && strcmp(argv[1], "once") == 0) {
		once(atoi(argv[2]));
		return 0;
	}
	puts("ready");
	fflush(stdout);
	/* No line is read ahead: another program may go on reading. */
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		const char *what = strtok(line, " \n"), *a = strtok(NULL, " \n"),
			   *b = strtok(NULL, " \n");

		if (!what || !a)
			continue;
		if (strcmp(what, "work") == 0)
			work(atoi(a));
		else if (strcmp(what, "child") == 0)
			do_child(atoi(a));
		else if (strcmp(what, "daemon") == 0)
			do_daemon(atoi(a));
		else if (strcmp(what, "crowd") == 0 && b)
			do_crowd(atoi(a), atoi(b));
		else if (strcmp(what, "series") == 0 && b)
			do_series(atoi(a), b);
		else if (strcmp(what, "open") == 0 && b)
			do_open(a, atoi(b));
		else if (strcmp(what, "exec") == 0)
			execl(a, "views", (char *)NULL);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
#endif
