/* SPDX-License-Identifier: MIT */
/* One program under coz: what it needs is checked first, then it runs as any traced command does, with libcoz and the shim
 * preloaded and coz_driver.c beside it. coz's own program `coz run` is not needed: it sets the same environment. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../session/session.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "coz.h"
#include "coz_driver.h"
#include "coz_program.h"

#define FAILED 125 /* spantrace, not the command */

static bool profiles_main(const struct coz_options *o)
{
	size_t i;

	if (!o->nbinaries)
		return true;
	for (i = 0; i < o->nbinaries; i++)
		if (!strcmp(o->binaries[i], "MAIN"))
			return true;
	return false;
}

/* 0, or the exit status with the message printed. */
static int check_program(const struct coz_options *o, const struct coz_library *library)
{
	const char *name = o->trace.argv[0];
	struct coz_debug debug;
	char path[4096];
	char why[8192];
	int err = coz_program_find(name, path, sizeof(path));

	if (err == -ENOENT) {
		log_error("%s: not found", name);
		return 127;
	}
	if (err) {
		log_error("cannot run %s: %s", name, strerror(-err));
		return 126;
	}
	err = coz_program_check(path, library, &debug, why, sizeof(why));
	if (!err && debug.verdict != COZ_PROGRAM_GOOD) {
		coz_program_explain(path, library, &debug, why, sizeof(why));
		err = -EINVAL;
		/* With lines of other files to look for, it need not have any. */
		if (debug.verdict > COZ_PROGRAM_STATIC && !profiles_main(o))
			err = 0;
	}
	if (err)
		log_error("%s", why);
	return err ? FAILED : 0;
}

static int set_list(const char *name, const char **items, size_t n, const char *standard)
{
	AUTO_FREE char *list = NULL;
	size_t size, i;
	FILE *memory;

	if (!n)
		return setenv(name, standard, 0);
	memory = open_memstream(&list, &size);
	if (!memory)
		return -1;
	for (i = 0; i < n; i++)
		fprintf(memory, "%s%s", i ? "\t" : "", items[i]);
	return fclose(memory) || setenv(name, list, 1);
}

/* Libraries that are preloaded already stay, before coz's; the shim comes last. */
static int set_preload(const char *libcoz, const char *shim)
{
	const char *before = getenv("LD_PRELOAD");
	AUTO_FREE char *all = NULL;

	if (asprintf(&all, "%s%s%s:%s", before ? before : "", before && *before ? ":" : "", libcoz,
		     shim) < 0) {
		all = NULL;
		return -1;
	}
	return setenv("LD_PRELOAD", all, 1);
}

/* What the command finds in its environment; spantrace itself starts nothing else. */
static int set_environment(const struct coz_options *o, const char *libcoz, const char *shim,
			   const char *profile, int fd)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	if (set_preload(libcoz, shim) || setenv(COZ_SHIM_ENV, number, 1) ||
	    setenv("COZ_OUTPUT", profile, 1) ||
	    set_list("COZ_BINARY_SCOPE", o->binaries, o->nbinaries, "MAIN") ||
	    set_list("COZ_SOURCE_SCOPE", o->sources, o->nsources, "%"))
		return -ENOMEM;
	if (o->fixed_line && setenv("COZ_FIXED_LINE", o->fixed_line, 1))
		return -ENOMEM;
	if (o->fixed_speedup && setenv("COZ_FIXED_SPEEDUP", o->fixed_speedup, 1))
		return -ENOMEM;
	return 0;
}

/* Makes the profile, or empties it: coz only ever adds to it. Puts where it is, whatever directory the program goes to,
 * into *PATH. */
static int open_profile(const struct coz_options *o, char **path)
{
	AUTO_CLOSE int fd = open(o->output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd >= 0 && (o->append || ftruncate(fd, 0) == 0))
		*path = realpath(o->output, NULL);
	if (*path)
		return 0;
	log_error("-o %s: cannot write it: %s", o->output, strerror(errno));
	return -errno;
}

/* What the shim did not say. 0, or the exit status with the message printed. */
static int judge_driver(const struct coz_options *o, const struct coz_driver *driver,
			const struct coz_driver_facts *facts)
{
	if (!facts->hello) {
		log_error(
			"nothing could be preloaded into %s: is it set-user-ID, or does its start take LD_PRELOAD away?",
			o->trace.argv[0]);
		return FAILED;
	}
	if (!facts->libcoz) {
		log_error("coz was not loaded into %s; its own message is above", o->trace.argv[0]);
		return FAILED;
	}
	coz_driver_say(driver);
	if (!facts->counted) {
		log_error(
			"no point has moved, so coz made no experiment: see the spans and events that the program has with `spantrace list`, and how often they come with a plain trace");
		return FAILED;
	}
	log_info("%llu points, %llu hits; counters written %llu times, at most %.1f ms apart",
		 (unsigned long long)facts->counted, (unsigned long long)facts->hits,
		 (unsigned long long)facts->writes, (double)facts->late_ns / 1e6);
	return 0;
}

int coz_session(struct coz_options *o, bool *ran)
{
	CLEANUP(coz_driver_free) struct coz_driver *driver = NULL;
	const struct coz_choice choice = {
		.latency = o->latency,
		.nlatency = o->nlatency,
		.progress = o->progress,
		.nprogress = o->nprogress,
	};
	AUTO_FREE char *profile = NULL;
	struct coz_driver_facts facts;
	struct coz_library library;
	char shim[4096];
	char why[8192];
	int err, status;

	*ran = false;
	if (coz_library_find(o->libcoz, &library, why, sizeof(why)) ||
	    coz_shim_find(shim, sizeof(shim), why, sizeof(why))) {
		log_error("%s", why);
		return FAILED;
	}
	status = check_program(o, &library);
	if (status)
		return status;
	if (open_profile(o, &profile))
		return FAILED;
	err = coz_driver_new(&choice, &driver);
	if (!err)
		err = set_environment(o, library.path, shim, profile, coz_driver_fd(driver));
	if (err) {
		log_error("cannot start: %s", strerror(-err));
		return FAILED;
	}
	o->trace.coz = driver;
	status = session_run(&o->trace);
	o->trace.coz = NULL;
	coz_driver_facts(driver, &facts);
	/* The session has said why. */
	if (status >= FAILED && !facts.hello)
		return status;
	err = judge_driver(o, driver, &facts);
	*ran = !err;
	return status ? status : err;
}
