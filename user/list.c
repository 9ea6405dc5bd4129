/* SPDX-License-Identifier: MIT */
/* The command `spantrace list`: gathers the files, pairs their markers, prints. See list.h. */
#define _GNU_SOURCE 1 /* tdestroy */
#include "list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "target/procmaps.h"
#include "util/cleanup.h"
#include "util/grow.h"
#include "util/log.h"

/* A mapped file that was looked at, so that each is read once for a whole machine. The path is
 * part of the key because some file systems have one inode number twice on what the kernel calls
 * one device. */
struct seen {
	dev_t dev;
	u64 inode;
	char *path;
	size_t file; /* index into list->files, or NOTHING: no markers */
};

#define NOTHING SIZE_MAX

struct gather {
	struct list *list;
	void *seen;     /* a tree of struct seen */
	size_t nfiles;  /* looked at */
	size_t nhidden; /* processes of -a that could not be looked at */
	bool failed;    /* something that was asked for could not be read; said already */
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen *sa = a, *sb = b;
	int order = (sa->dev > sb->dev) - (sa->dev < sb->dev);

	if (!order)
		order = (sa->inode > sb->inode) - (sa->inode < sb->inode);
	return order ? order : strcmp(sa->path, sb->path);
}

static void seen_free(void *seen)
{
	free(((struct seen *)seen)->path);
	free(seen);
}

static void gather_free(struct gather *g)
{
	tdestroy(g->seen, seen_free);
	g->seen = NULL;
}

/* Takes *NOTES into the list, unless it is there already. *INDEX is where it stands. */
static int add_file(struct list *list, const char *path, struct elfnote_file **notes, size_t *index)
{
	char *copy;

	for (size_t i = 0; i < list->nfiles; i++) {
		if (!elfnote_same_file(list->files[i].notes, *notes))
			continue;
		elfnote_free(notes);
		*index = i;
		return 0;
	}
	copy = strdup(path);
	if (!copy || GROW(list->files, list->nfiles)) {
		free(copy);
		return -ENOMEM;
	}
	*index = list->nfiles;
	list->files[list->nfiles++] = (struct list_file){.path = copy, .notes = TAKE_PTR(*notes)};
	return 0;
}

static int add_pid(struct list_file *file, pid_t pid)
{
	int err;

	if (file->npids && file->pids[file->npids - 1] == pid)
		return 0;
	err = GROW(file->pids, file->npids);
	if (!err)
		file->pids[file->npids++] = pid;
	return err;
}

/* One FILE of the command line. Only -ENOMEM is an error here; all else is said and noted. */
static int gather_path(struct gather *g, const char *path)
{
	CLEANUP(elfnote_free) struct elfnote_file *notes = NULL;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why = NULL;
	size_t index;
	int err = fd < 0 ? -errno : elfnote_read(fd, &notes, &why);

	if (err == -ENOMEM)
		return err;
	if (err) {
		log_error("%s: %s", path, why ? why : strerror(-err));
		g->failed = true;
		return 0;
	}
	g->nfiles++;
	if (notes && notes->nsites)
		return add_file(g->list, path, &notes, &index);
	log_warn("%s: %s", path, notes && notes->damaged ? notes->damaged : "it has no markers");
	return 0;
}

/* Reads the file behind MAP. *INDEX is NOTHING where there is nothing to list in it. */
static int read_mapped(struct gather *g, const struct procmap *map, pid_t pid, size_t *index)
{
	CLEANUP(elfnote_free) struct elfnote_file *notes = NULL;
	AUTO_CLOSE int fd = procmaps_open(map);
	const char *why = NULL;
	int err;

	*index = NOTHING;
	if (fd == -EACCES || fd == -EPERM || fd == -ESTALE)
		log_warn("pid %d: %s cannot be opened: %s; run spantrace as root", pid, map->path,
			 fd == -ESTALE ? "the file was replaced" : strerror(-fd));
	if (fd < 0)
		return 0;
	err = elfnote_read(fd, &notes, &why);
	if (err == -ENOMEM)
		return err;
	g->nfiles++;
	/* What else is mapped to execute, compiled code of some language say, is no news. */
	if (err == -ENOEXEC)
		log_debug("%s: %s", map->path, why ? why : strerror(-err));
	else if (err)
		log_warn("%s: %s", map->path, why ? why : strerror(-err));
	if (err || !notes->nsites)
		return 0;
	return add_file(g->list, map->path, &notes, index);
}

static int gather_map(struct gather *g, const struct procmap *map, pid_t pid)
{
	struct seen key = {.dev = map->dev, .inode = map->inode, .path = (char *)map->path};
	struct seen **found = tfind(&key, &g->seen, compare_seen);
	struct seen *seen;
	size_t index;
	int err;

	if (!found) {
		err = read_mapped(g, map, pid, &index);
		if (err)
			return err;
		seen = malloc(sizeof(*seen));
		if (!seen)
			return -ENOMEM;
		*seen = (struct seen){map->dev, map->inode, strdup(map->path), index};
		if (!seen->path || !tsearch(seen, &g->seen, compare_seen)) {
			seen_free(seen);
			return -ENOMEM;
		}
	} else {
		index = (*found)->file;
	}
	return index == NOTHING ? 0 : add_pid(&g->list->files[index], pid);
}

/* One process. ASKED: by its number, so that it must be there. */
static int gather_process(struct gather *g, pid_t pid, bool asked)
{
	AUTO_FREE struct procmap *maps = NULL;
	size_t n = 0;
	int err = procmaps_read(pid, &maps, &n);

	if (err == -ENOMEM)
		return err;
	if (err && !asked) {
		g->nhidden += err != -ESRCH;
		return 0;
	}
	if (err == -ESRCH)
		log_error("pid %d: there is no such process", pid);
	else if (err == -EACCES || err == -EPERM)
		log_error("pid %d: %s; run spantrace as root", pid, strerror(-err));
	else if (err)
		log_error("pid %d: cannot read its mappings: %s", pid, strerror(-err));
	else if (n == 0 && asked)
		log_error("pid %d has no program mapped: it is a kernel thread, or has ended", pid);
	if (err || (n == 0 && asked))
		g->failed = true;

	n = procmaps_unique(maps, err ? 0 : n);
	err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = gather_map(g, &maps[i], pid);
	return err;
}

static void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int gather_all(struct gather *g)
{
	CLEANUP(cleanup_closedir) DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	if (!dir) {
		log_error("/proc: %s", strerror(errno));
		g->failed = true;
		return 0;
	}
	while (!err && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid > 0)
			err = gather_process(g, pid, false);
	}
	if (g->nhidden)
		log_warn("%zu process%s could not be looked at; run spantrace as root", g->nhidden,
			 g->nhidden == 1 ? "" : "es");
	return err;
}

int list_pair(struct list *list, const struct pair_options *options)
{
	size_t n = 0;

	for (size_t i = 0; i < list->nfiles; i++)
		n += list->files[i].notes->nsites;
	list->markers = calloc(n + 1, sizeof(*list->markers));
	if (!list->markers)
		return -ENOMEM;
	for (size_t i = 0; i < list->nfiles; i++) {
		const struct elfnote_file *notes = list->files[i].notes;

		for (size_t j = 0; j < notes->nsites; j++) {
			const struct elfnote_site *site = &notes->sites[j];

			if (site->refused)
				continue;
			list->markers[list->nmarkers++] = (struct pair_marker){
				.provider = site->provider,
				.name = site->name,
				.nargs = site->nargs < ELFNOTE_MAX_ARGS ? site->nargs
									: ELFNOTE_MAX_ARGS,
				.has_meta = site->has_meta,
			};
		}
	}
	return pair_plan_new(list->markers, list->nmarkers, options, &list->plan);
}

void list_free(struct list *list)
{
	for (size_t i = 0; i < list->nfiles; i++) {
		elfnote_free(&list->files[i].notes);
		free(list->files[i].path);
		free(list->files[i].pids);
	}
	free(list->files);
	free(list->markers);
	pair_plan_free(&list->plan);
	*list = (struct list){0};
}

static int gather(struct gather *g, const struct options *options)
{
	int err = 0;

	if (options->mode == MODE_ALL)
		err = gather_all(g);
	for (size_t i = 0; i < options->npids && !err; i++)
		err = gather_process(g, options->pids[i], true);
	for (size_t i = 0; i < options->argc && !err; i++)
		err = gather_path(g, options->argv[i]);
	return err;
}

/* Gathers, pairs and prints. 0, or -errno after a message; *FAILED as in struct gather. */
static int list_options(const struct options *options, bool *failed)
{
	const struct pair_options pairs = options_pairing(options);
	CLEANUP(list_free) struct list list = {0};
	CLEANUP(gather_free) struct gather g = {.list = &list};
	int err = gather(&g, options);

	if (!err)
		err = list_pair(&list, &pairs);
	if (!err && options->json)
		list_print_json(&list, stdout);
	else if (!err)
		err = list_print(&list, stdout, options->verbose > 0);
	if (err) {
		log_error("out of memory");
		return err;
	}
	for (size_t i = 0; i < list.plan->nproblems; i++)
		log_warn("%s", list.plan->problems[i]);
	/* One file that has none was told so already. */
	if (!list.nfiles && g.nfiles && options->mode != MODE_NONE)
		log_error("no markers in the %zu files that are mapped to execute", g.nfiles);
	*failed = g.failed || !list.nfiles;
	return 0;
}

static void print_help(void)
{
	puts("usage: spantrace list [OPTION…] FILE…\n"
	     "       spantrace list [OPTION…] -p PID[,PID…]\n"
	     "       spantrace list [OPTION…] -a\n"
	     "\n"
	     "Prints the markers of files, or of what processes have mapped, where they stand,\n"
	     "and the spans and events they make and why. It probes nothing.\n"
	     "\n"
	     "options (-v: the kind of nop and the source line of each site as well):");
	cli_print_list_options(stdout);
	puts("\n"
	     "exit status: 0 markers were found; 1 none were, or something could not be read;\n"
	     "2 bad usage");
}

int list_run(int argc, char **argv)
{
	CLEANUP(options_free) struct options options = {0};
	bool failed = false;
	int err = cli_parse_list(argc, argv, &options);

	if (err)
		return cli_status_of(err);
	if (options.action == ACTION_HELP) {
		print_help();
		return CLI_DONE;
	}
	cli_set_log(options.quiet, options.verbose);
	if (list_options(&options, &failed))
		return CLI_FAILED;
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write the list: %s", strerror(errno));
		return CLI_FAILED;
	}
	return failed ? CLI_FAILED : CLI_DONE;
}
