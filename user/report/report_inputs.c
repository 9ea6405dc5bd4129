/* SPDX-License-Identifier: MIT */
/* From words of the command line to files, and from files to rows. See report_inputs.h. */
#include "report_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/intmap.h"
#include "../util/log.h"

/* --- which files ---------------------------------------------------------------------------------- */

void report_inputs_free(struct report_inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++)
		free(inputs->paths[i]);
	free(inputs->paths);
	*inputs = (struct report_inputs){0};
}

static int no_memory(void)
{
	log_error("out of memory");
	return -ENOMEM;
}

/* Takes *PATH. */
static int add_path(struct report_inputs *inputs, char **path)
{
	if (!*path || GROW(inputs->paths, inputs->n))
		return no_memory();
	inputs->paths[inputs->n++] = TAKE_PTR(*path);
	return 0;
}

static int is_recording(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot &&
	       (!strcmp(dot, ".spans") || !strcmp(dot, ".mm_profdata"));
}

static void free_entries(struct dirent **entries, int n)
{
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free((void *)entries);
}

static int add_directory(struct report_inputs *inputs, const char *directory)
{
	struct dirent **entries = NULL;
	int n = scandir(directory, &entries, is_recording, alphasort);
	int err = 0;

	if (n < 0) {
		err = -errno;
		log_error("cannot read %s: %s", directory, strerror(-err));
		return err;
	}
	if (!n) {
		log_error("%s: no file in it ends in .spans or .mm_profdata", directory);
		err = -ENOENT;
	}
	for (int i = 0; i < n && !err; i++) {
		AUTO_FREE char *path = NULL;

		if (asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
			path = NULL;
		err = add_path(inputs, &path);
	}
	free_entries(entries, n);
	return err;
}

int report_inputs_add(struct report_inputs *inputs, const char *word)
{
	AUTO_FREE char *path = NULL;
	struct stat st;

	if (stat(word, &st)) {
		int err = -errno;

		log_error("cannot read %s: %s", word, strerror(-err));
		return err;
	}
	if (S_ISDIR(st.st_mode))
		return add_directory(inputs, word);
	path = strdup(word);
	return add_path(inputs, &path);
}

int report_inputs_add_list(struct report_inputs *inputs, const char *list)
{
	AUTO_FREE char *copy = strdup(list);
	char *rest = copy, *word;
	struct stat st;
	int err = 0;

	if (!copy)
		return no_memory();
	if (!strchr(list, ',') || !stat(list, &st))
		return report_inputs_add(inputs, list);
	while (!err && (word = strsep(&rest, ",")))
		if (*word)
			err = report_inputs_add(inputs, word);
	if (!err && !inputs->n) {
		log_error("\"%s\" names no file", list);
		err = -ENOENT;
	}
	return err;
}

/* --- reading one ---------------------------------------------------------------------------------- */

/* From the start of a thread's first span to the end of its last. */
struct extent {
	u64 first_ns;
	u64 last_ns;
};

struct extents {
	struct intmap threads; /* serial → struct extent */
	u32 serial;            /* of LAST */
	struct extent *last;   /* most spans are of the thread that the span before was of */
};

static void extents_free(struct extents *e)
{
	for (size_t i = 0; i < e->threads.capacity; i++)
		free(e->threads.slots[i].value);
	intmap_free(&e->threads);
}

static int extents_find(struct extents *e, u32 serial)
{
	void **found = intmap_find(&e->threads, serial);
	struct extent *extent;

	if (found) {
		extent = *found;
	} else {
		extent = malloc(sizeof(*extent));
		if (!extent || intmap_set(&e->threads, serial, extent)) {
			free(extent);
			return -ENOMEM;
		}
		*extent = (struct extent){.first_ns = UINT64_MAX};
	}
	e->last = extent;
	e->serial = serial;
	return 0;
}

static int extents_span(void *context, const struct model_span *span)
{
	struct extents *e = context;

	/* An async span goes on without its thread; what is done for it are segments. */
	if (span->flags & MODEL_ASYNC)
		return 0;
	if ((!e->last || e->serial != span->thread->serial) &&
	    extents_find(e, span->thread->serial))
		return -ENOMEM;
	if (span->start_ns < e->last->first_ns)
		e->last->first_ns = span->start_ns;
	if (span->end_ns > e->last->last_ns)
		e->last->last_ns = span->end_ns;
	return 0;
}

static u64 extents_sum(const struct extents *e)
{
	u64 sum = 0;

	for (size_t i = 0; i < e->threads.capacity; i++) {
		const struct extent *extent = e->threads.slots[i].value;

		if (extent)
			sum += extent->last_ns - extent->first_ns;
	}
	return sum;
}

void report_reader_free(struct report_reader *reader)
{
	free(reader->counter);
	*reader = (struct report_reader){0};
}

/* Sums and differences are of one unit. */
static int check_counter(struct report_reader *reader, const struct replay_info *info)
{
	const char *counter =
		info->counter && strcmp(info->counter, "wall-time") != 0 ? info->counter : NULL;

	if (!reader->any) {
		reader->any = true;
		reader->counter = counter ? strdup(counter) : NULL;
		return counter && !reader->counter ? no_memory() : 0;
	}
	if (!counter == !reader->counter && (!counter || !strcmp(counter, reader->counter)))
		return 0;
	log_error("%s counts %s, the files before it %s; report them by themselves", info->path,
		  counter ? counter : "wall-time", reader->counter ? reader->counter : "wall-time");
	return -EINVAL;
}

int report_read(struct report_reader *reader, const char *path, struct report_rows *rows)
{
	CLEANUP(replay_free) struct replay *replay = NULL;
	CLEANUP(extents_free) struct extents extents = {0};
	const struct trace_sink sink = {.context = &extents, .span = extents_span};
	const struct replay_info *info;
	struct report_source source = {0};
	struct profile profile;
	int err = replay_open(path, &replay);

	if (err)
		return err;
	info = replay_info(replay);
	err = check_counter(reader, info);
	if (err)
		return err;
	if (trace_add_sink(replay_trace(replay), &sink) ||
	    (reader->sink && trace_add_sink(replay_trace(replay), reader->sink)))
		return no_memory();
	err = replay_run(replay, reader->filter);
	if (err)
		return err;
	if (replay_profile(replay, &profile))
		return no_memory();
	/* A file that measureme itself wrote; those that spantrace wrote say so, and have providers. */
	source.kinds = !strcmp(info->format, "mm_profdata") && !info->version;
	source.naming = source.kinds ? REPORT_NAME_ALONE : REPORT_PROVIDER_AND_NAME;
	source.total_ns = extents_sum(&extents);
	if (rows->ninputs && rows->metrics != profile.metrics && !reader->metrics_differ) {
		reader->metrics_differ = true;
		log_warn(
			"%s measured other metrics than the files before it; shown is what all have",
			path);
	}
	err = report_rows_add(rows, &profile, &source);
	return err ? no_memory() : 0;
}
