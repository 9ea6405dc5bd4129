/* SPDX-License-Identifier: MIT */
/* `spantrace coz`:
 *
 *   -- CMD   checks ▸ the run, with coz's counters driven from outside ▸ profile.coz ▸ the report
 *   --report                                                             a profile   ▸ the report
 */
#include "coz.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../report/report_options.h"
#include "../util/cleanup.h"
#include "../util/log.h"
#include "coz_report.h"

static int draw(const struct coz_options *o, const struct coz_profile *profile)
{
	bool html = o->plot[strlen(o->plot) - 1] == 'l'; /* it ends in .svg or .html */
	FILE *out = fopen(o->plot, "we");
	int err;

	if (!out) {
		log_error("--plot %s: cannot write it: %s", o->plot, strerror(errno));
		return -errno;
	}
	err = coz_draw(profile, o->top, html, out);
	if (err == -ENOMEM)
		fclose(out);
	else if (fflush(out) || fclose(out))
		err = -errno;
	if (err)
		log_error("--plot %s: cannot write it: %s", o->plot, strerror(-err));
	return err;
}

int coz_show(const struct coz_options *o, const char *path)
{
	CLEANUP(coz_profile_free) struct coz_profile *profile = NULL;
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	int err;

	if (!file) {
		err = errno;
		log_error("%s: %s", path, strerror(err));
		return -err;
	}
	err = coz_profile_new(&profile);
	if (!err)
		err = coz_profile_read(profile, file);
	if (err) {
		log_error("%s: %s", path,
			  err == -EBADMSG  ? "this is not a profile of coz"
			  : err == -EFBIG  ? "more than a profile of coz can have"
			  : err == -ENOMEM ? "out of memory"
					   : strerror(-err));
		return err;
	}
	if (profile->damaged)
		log_warn("%s: %llu lines that are not coz's are left out", path,
			 (unsigned long long)profile->damaged);
	if (!profile->experiments)
		return -ENODATA;
	err = o->json ? coz_print_json(profile, stdout) : coz_print(profile, o->top, stdout);
	err = report_finish("coz", err);
	if (!err && o->plot)
		err = draw(o, profile);
	return err;
}

static int report(const struct coz_options *o)
{
	int err = coz_show(o, o->report);

	if (err == -ENODATA)
		log_error("%s: there is no experiment in it", o->report);
	return err ? CLI_FAILED : CLI_DONE;
}

static int run(struct coz_options *o)
{
	bool ran;
	int status = coz_session(o, &ran);
	int err;

	if (!ran)
		return status;
	err = coz_show(o, o->output);
	if (err == -ENODATA)
		log_error(
			"coz finished no experiment: each takes half a second or more, and is kept only if every point has moved %d times in it; let the program run longer, or choose other points",
			COZ_VISITS_MIN);
	return status ? status : err ? 125 : 0;
}

int coz_run(int argc, char **argv)
{
	CLEANUP(coz_options_free) struct coz_options o = {0};
	int err = coz_options_parse(argc, argv, &o);

	if (err || o.helped)
		return cli_status_of(err);
	cli_set_log(o.trace.quiet, o.trace.verbose);
	return o.report ? report(&o) : run(&o);
}
