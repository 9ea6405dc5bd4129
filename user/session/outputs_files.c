/* SPDX-License-Identifier: MIT */
/* Outputs of several files, each named by the time of its end (nanoseconds since 1970) and complete from the moment that
 * it has its name.
 *
 *   -o pprof,split=1:DIR                    DIR/wall_TIME.pb.gz, DIR/cpu_TIME.pb.gz …
 *   -o pprof:DIR/ or a folder               DIR/all_TIME.pb.gz
 *   -o pprof:run.pb.gz --interval 10s       run_TIME.pb.gz, one for each interval in which there was something
 *
 * A file of that name is replaced. One that cannot be written is said; the next may have more luck.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "outputs_impl.h"

/* The folder of the files, made where it is named as one and missing. */
static int find_folder(struct output *output, bool *is_file)
{
	const char *path = output->path, *slash = strrchr(path, '/');
	bool named = output->exporter.options.split || (slash && !slash[1]);
	AUTO_FREE char *folder = NULL;
	struct stat status;

	if (named && mkdir(path, 0777) && errno != EEXIST)
		return -errno;
	*is_file = !named && (stat(path, &status) || !S_ISDIR(status.st_mode));
	if (*is_file)
		folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	else
		folder = strdup(path);
	if (!folder)
		return -ENOMEM;
	output->real = realpath(folder, NULL);
	if (!output->real || stat(output->real, &status))
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	return access(output->real, W_OK | X_OK) ? -errno : 0;
}

/* What the names of its files begin with, but for their word: REAL becomes "FOLDER/run_", or "FOLDER/". */
static int find_prefix(struct output *output, bool is_file)
{
	const char *slash = strrchr(output->path, '/');
	const char *name = slash ? slash + 1 : output->path;
	const char *ending = output->exporter.ops->extension;
	size_t len = strlen(name), cut = strlen(ending);
	char *prefix;

	if (len > cut && !strcmp(name + len - cut, ending))
		len -= cut;
	if (asprintf(&prefix, "%s/%.*s%s", output->real, is_file ? (int)len : 0, name,
		     is_file ? "_" : "") < 0)
		return -ENOMEM;
	free(output->real);
	output->real = prefix;
	return 0;
}

static int check_alone(const struct output *output)
{
	const struct outputs *all = output->all;

	for (size_t i = 0; i < all->n; i++) {
		const struct output *other = &all->items[i];

		if (!other->real || strcmp(other->real, output->real) != 0)
			continue;
		log_error("-o: %s and %s are the same files; give each output a folder of its own",
			  other->path, output->path);
		return -EINVAL;
	}
	return 0;
}

int output_files_open(struct output *output)
{
	const char *format = output->exporter.ops->name;
	bool is_file = false;
	int err;

	if (!strcmp(output->path, "-")) {
		log_error("several files of %s do not go to stdout; write -o %s:FOLDER/", format,
			  format);
		return -EINVAL;
	}
	err = find_folder(output, &is_file);
	if (!err)
		err = find_prefix(output, is_file);
	if (err) {
		log_error("cannot write files of %s to %s: %s", format, output->path,
			  strerror(-err));
		return err;
	}
	return check_alone(output);
}

/* NAME gets its content by another one: whoever looks for files finds none that is half done. 0, 1 where there was nothing
 * to write, or -errno with the message printed. */
static int write_file(struct output *output, const char *name, const struct profile *profile)
{
	AUTO_FREE char *part = NULL;
	int err, closed;

	if (asprintf(&part, "%s.part", name) < 0)
		return -ENOMEM;
	unlink(part);
	err = output_open_file(output, part, O_EXCL | O_NOFOLLOW);
	if (err)
		return err;
	errno = 0;
	err = output->exporter.ops->finish(&output->exporter, profile);
	closed = output_close(output);
	if (!err)
		err = closed;
	if (!err && rename(part, name))
		err = -errno;
	if (err)
		unlink(part);
	if (err == -ENODATA)
		return 1;
	if (err)
		log_error("cannot write %s to %s: %s", output->exporter.ops->name, name,
			  strerror(-err));
	return err;
}

int output_files_write(struct output *output, const struct profile *now)
{
	struct exporter *e = &output->exporter;
	u64 end = now->start_realtime_ns + (now->end_ns - now->start_ns);
	bool written = false;
	struct profile part;
	const char *word;
	int first = 0;

	output_parts_profile(output, now, &part);
	for (e->file = 0; (word = e->ops->file(e, now->metrics, e->file)); e->file++) {
		bool folder = output->real[strlen(output->real) - 1] == '/';
		AUTO_FREE char *name = NULL;
		int err;

		if (!*word)
			continue;
		err = asprintf(&name, "%s%s%s%" PRIu64 "%s", output->real, folder ? word : "",
			       folder ? "_" : "", end, e->ops->extension) < 0
			      ? -ENOMEM
			      : write_file(output, name, &part);
		written |= err <= 0;
		if (err < 0 && !first)
			first = err;
	}
	/* Where nothing was written, the next file tells of this time too. */
	if (written)
		output_parts_told(output, now);
	if (first && !output->parts.error)
		output->parts.error = first;
	return first;
}
