/* SPDX-License-Identifier: MIT */
/* One table of operations for every output format, so that a format is one file here and one line in
 * exporters.c. Exporters are pure: a trace in, bytes out; no /proc, no BPF, no state but their own. */
#ifndef SPANTRACE_EXPORTER_H
#define SPANTRACE_EXPORTER_H

#include <stdbool.h>
#include <stdio.h>

#include "../include/model.h"

/* What a stack's weight is; the names are those of the vocabulary ("value=run_delay"). */
enum export_value {
	EXPORT_BUSY,
	EXPORT_WALL,
	EXPORT_CPU,
	EXPORT_CPU_USER,
	EXPORT_CPU_SYSTEM,
	EXPORT_RUN_DELAY,
	EXPORT_BLOCKED,
	EXPORT_ALLOC_OBJECTS,
	EXPORT_ALLOC_SPACE,
	EXPORT_INUSE_OBJECTS,
	EXPORT_INUSE_SPACE,
};

/* What the times of an mm_profdata file count; the names are measureme's, or made like them ("cpu-time"). */
enum export_counter {
	EXPORT_COUNTER_WALL_TIME,
	EXPORT_COUNTER_CPU_TIME,
	EXPORT_COUNTER_RUN_DELAY,
	EXPORT_COUNTER_ALLOC_SPACE,
	EXPORT_COUNTERS,
};

/* How an otlp file is written. */
enum export_encoding {
	EXPORT_ENCODING_BY_PATH, /* protobuf where it ends in .pb or is a URL, else JSON */
	EXPORT_ENCODING_JSON,
	EXPORT_ENCODING_PROTOBUF,
};

#define EXPORT_TITLE_SIZE 128

/* `-o FORMAT,KEY=VALUE,…:PATH`, parsed. A format lists the keys it takes in ops->keys. */
struct export_options {
	bool empty_samples; /* time outside every span stands on the thread's own frame (default 1) */
	bool threads_collapsed; /* one frame "all-threads" in place of one a thread (default 0) */
	bool module_path;       /* provider::name, else name (default 1) */
	bool file_and_line;     /* frame:file:line (default 0) */
	bool args; /* chrome, perfetto: labels and other facts with each slice (default 1) */
	enum export_value value;
	enum export_counter counter;   /* mm_profdata */
	enum export_encoding encoding; /* otlp */
	char title[EXPORT_TITLE_SIZE]; /* empty: the format's own; otlp: of the service */
	bool color;                    /* summary: to a terminal */
	unsigned width;                /* summary: columns of the terminal; 0: do not cut */
	u64 last_ns; /* recording: only what ended in the last so many, at finish(); 0: everything, as it comes */
	u64 last_bytes;  /* … and of that at most so much in memory */
	bool split;      /* pprof: a file for each family of sample types (default 0) */
	u64 interval_ns; /* one for each stretch of the trace so long, not for all of it: pprof: a file, where there is something in it; summary: on the screen */
};

#define EXPORT_OPTIONS_DEFAULT                                            \
	(struct export_options)                                           \
	{                                                                 \
		.empty_samples = true, .module_path = true, .args = true, \
		.last_bytes = 256ull << 20                                \
	}

struct exporter;
struct text_buf;

struct exporter_ops {
	const char *name;      /* "folded" */
	const char *extension; /* ".folded": what a path that names no format ends in; NULL: none */
	const char *const *keys; /* option keys it takes, NULL-terminated */
	bool binary;             /* refuse to write it to a terminal */
	bool spans_only; /* finish looks at no rows and no events of the profile: they need not be added up */
	bool times_of_spans; /* the same where options.value is a time */
	bool parts; /* after finish, begin may be called again, with another e->out: the next file */
	bool again; /* finish may be called for each options.interval_ns, one after the other */
	bool flight; /* heeds options.last_ns: finish writes what it has kept of the last seconds, again and again */
	/* Formats that take options.split or interval_ns: the word that the name of file FILE begins with, "" where METRICS
	 * give it nothing to hold, NULL past the last. finish() is called for each, with e->file and e->out set; it returns
	 * -ENODATA where there is to be no file. */
	const char *(*file)(const struct exporter *e, u32 metrics, u32 file);
	/* Each returns 0 or -errno; write errors on e->out may be left to the caller, who checks it at the end.
	 * All but finish may be NULL; a format without span needs totals only. Spans and events come in the order of
	 * their ends on each thread (an async span's is that of the thread it was made on: no order). */
	/* Before the first of them. RUN holds what is known when a trace begins: who and what, when, which metrics; it has no
	 * rows, no losses and no end. Borrowed for the call. */
	int (*begin)(struct exporter *e, const struct profile *run);
	int (*span)(struct exporter *e, const struct model_span *span);
	int (*event)(struct exporter *e, const struct model_event *event);
	/* Some ten times a second while the trace runs: what has waited long enough is to be written. SO_FAR is RUN
	 * with the time by now as its end, and the losses by now. */
	int (*tick)(struct exporter *e, const struct profile *so_far);
	/* With METRIC_HEAP, every --heap-interval and, before finish, at the end: a snapshot, whose rows hold what is in use. */
	int (*heap)(struct exporter *e, const struct profile *so_far);
	/* -ENODATA, with nothing written, when the profile lacks what options.value asks for. */
	int (*finish)(struct exporter *e, const struct profile *profile);
	void (*free)(struct exporter *e); /* releases e->state; NULL where there is none */
};

/* One output of a run: a format, where it goes, and what the format keeps in between. */
struct exporter {
	const struct exporter_ops *ops;
	struct export_options options;
	FILE *out; /* borrowed */
	u32 file;  /* of those that ops->file() names */
	/* Where a format that writes requests (otlp) gives each whole one to, in place of OUT; it may take the bytes away.
	 * NULL: nowhere. 0 or -errno. */
	int (*send)(void *to, struct text_buf *request);
	void *send_to;
	void *state; /* the format's own */
};

/* The format called NAME, or NULL. */
const struct exporter_ops *exporter_by_name(const char *name);
/* The format whose extension PATH ends in (the longest that fits), or NULL. */
const struct exporter_ops *exporter_by_path(const char *path);
/* Every format, NULL-terminated, in the order that help prints them. */
extern const struct exporter_ops *const exporters_all[];

/* Takes one "KEY=VALUE" (LEN bytes of TEXT) into O for a format that lists KEY. Returns 0; -ENOENT for a key
 * that OPS does not take; -EINVAL for a value that KEY does not take. */
int export_option_set(const struct exporter_ops *ops, struct export_options *o, const char *text,
		      size_t len);
/* What PATH, a file's or a server's, says of options that were not given. */
void export_options_settle(const struct exporter_ops *ops, struct export_options *o,
			   const char *path, bool is_url);
/* "busy", "alloc_space", … and its unit, "ns", "bytes" or "objects". */
const char *export_value_name(enum export_value value);
const char *export_value_unit(enum export_value value);
const char *export_counter_name(enum export_counter counter);
/* Whether a trace that measured METRICS (METRIC_*) holds VALUE. */
bool export_value_measured(u32 metrics, enum export_value value);
/* The row's weight under VALUE, exclusive of deeper frames. */
u64 export_value_of(const struct model_row *row, enum export_value value);

#endif
