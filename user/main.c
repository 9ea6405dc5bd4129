/* SPDX-License-Identifier: MIT */
/* spantrace: the table of its commands. */
#include "cli/cli.h"
#include "coz/coz.h"
#include "doctor.h"
#include "list.h"
#include "recording/export.h"
#include "recording/record.h"
#include "report/report.h"
#include "report/view.h"
#include "session/session.h"
#include "session/top.h"

static const struct command commands[] = {
	{"record", "trace into a file, a row of files, or a flight recorder", record_run},
	{"top", "what the spans of the last seconds took, again and again", top_run},
	{"list", "markers of files or processes, and the spans and events they make", list_run},
	{"export", "a recording or an event file in any other format", export_run},
	{"view", "the single spans and events of such a file", view_run},
	{"report", "totals of such files: time, counts, percentiles by span", report_run},
	{"diff", "what changed between two such files, or two sets of runs", diff_run},
	{"aggregate", "how much several runs of the same thing vary", aggregate_run},
	{"coz", "causal profiling: which lines would make spans faster", coz_run},
	{"doctor", "what works on this machine, and what to do about the rest", doctor_run},
	{0},
};

int main(int argc, char **argv)
{
	return cli_main(argc, argv, commands, session_run);
}
