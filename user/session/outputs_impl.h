/* SPDX-License-Identifier: MIT */
/* What outputs.c (each output as one file), outputs_parts.c (a recording in several), outputs_files.c (a profile in
 * several), outputs_screen.c (a summary again and again) and outputs_push.c (to a server) share. */
#ifndef SPANTRACE_OUTPUTS_IMPL_H
#define SPANTRACE_OUTPUTS_IMPL_H

#include "../push/push.h"
#include "losses.h"
#include "outputs.h"

/* What an output that is written in parts knows of them. */
struct output_parts {
	const struct options_parts *options; /* NULL: it is one file */
	u64 begin_ns;                        /* of the current part; 0: that of the trace */
	u64 spans, events;                   /* in the current part */
	u32 unsized;                         /* of these, those since its size was looked at */
	u32 files;                           /* finished */
	u64 all_spans, all_events, bytes;    /* in these */
	struct model_loss losses[LOSS_CAUSES];
	u64 told[LOSS_CAUSES]; /* losses that parts before have told */
	bool wanted; /* the end of the part, or the flight recorder's file, is asked for */

	/* Flight recorder: the trigger that fired, and what came after it until it is written. */
	const struct trigger *trigger;
	char trigger_span[128];
	u64 trigger_wall_ns;
	u64 due_ns; /* when it is to be written; 0: no trigger has fired */
	u64 joined;
	int error; /* of the first file that could not be written */
};

/* Where requests go. */
struct output_push {
	struct push *push;
	const char *path, *type;
	u64 wait_ns; /* for the server, at the end */
	bool patient;
};

struct output {
	const char *path;
	char *real; /* PATH without symbolic links: where the parts stand, or how files begin; owned */
	struct exporter exporter;
	struct outputs *all;
	bool begun;
	int failed; /* what it could not go on with, which was said: it gets nothing more */
	struct output_parts parts;
	bool is_url;
	struct output_push to; /* with is_url */
};

struct outputs {
	struct output *items;
	size_t n;
	struct profile run;
	struct profile so_far; /* RUN as of the last tick */
	struct trace *trace;   /* what it listens to */
};

/* Opens PATH into OUTPUT with FLAGS added. 0, or -errno with the message printed. */
int output_open_file(struct output *output, const char *path, int flags);
/* Flushes and closes its file. 0 or -errno. */
int output_close(struct output *output);
/* Called before anything is written; only the first call does something. 0 or -errno. */
int output_begin(struct output *output);
/* The output gets nothing more; says why. Returns ERR. */
int output_fail(struct output *output, int err);

static inline bool output_in_parts(const struct output *output)
{
	return output->parts.options;
}

static inline bool output_in_flight(const struct output *output)
{
	return output->parts.options && output->parts.options->last_ns;
}

/* Whether it writes files of its own naming (outputs_files.c). */
static inline bool output_in_files(const struct output *output)
{
	const struct export_options *options = &output->exporter.options;

	return output->exporter.ops->file && (options->split || options->interval_ns);
}

/* Whether it shows one interval after the other (outputs_screen.c). */
static inline bool output_on_screen(const struct output *output)
{
	return output->exporter.ops->again && output->exporter.options.interval_ns;
}

/* PATH is the URL of a server. WAIT_NS and PATIENT as in outputs_deliver(). 0, or -errno with the message printed. */
int output_push_open(struct output *output, const struct push_access *access, u64 wait_ns,
		     bool patient);
/* The rest is delivered. 0, or -EIO with the message printed: the server has not all of it. */
int output_push_finish(struct output *output);
/* What the server says in the BODY of its answer, which ends in NUL, that it left out: how many spans, and WHY. */
u64 output_push_left_out(const char *body, size_t len, char *why, size_t size);

/* What stdout is, for formats that are read there: whether it has colours, how wide it is. *ROWS: how high; 0: no terminal. */
void output_terminal(struct output *output, unsigned *rows);
/* Shows an interval. 0 or -errno; the caller fails the output. */
int output_screen_show(struct output *output, const struct profile *gained);

/* Finds where the files go. 0, or -errno with the message printed. */
int output_files_open(struct output *output);
/* Writes the files of a profile that ends NOW. 0, or the -errno of the first that failed, with the messages printed; kept
 * in parts.error too. */
int output_files_write(struct output *output, const struct profile *now);
/* A part that ends NOW is written: the next begins there, and has its own losses. */
void output_parts_told(struct output *output, const struct profile *now);

/* Each returns 0 or -errno; the caller fails the output. */

/* OUTPUT, opened unless it is a flight recorder, becomes one of parts where its file can be. Prints its message. */
int output_parts_open(struct output *output, const struct options_parts *options);
/* Before a part begins: a recording of an earlier run that is in the way of a rotation becomes a part. */
int output_parts_begin(struct output *output);
/* What the current part is of the trace NOW. */
void output_parts_profile(struct output *output, const struct profile *now, struct profile *out);
/* A span or an event has been written. */
int output_parts_span(struct output *output, const struct model_span *span);
int output_parts_event(struct output *output, const struct model_event *event);
/* Ends the part where it is time. */
int output_parts_tick(struct output *output, const struct profile *so_far);
/* The end: the last part, or what the flight recorder holds. */
int output_parts_finish(struct output *output, const struct profile *profile);

#endif
