/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../attach/allocator.h"
#include "../attach/attach.h"
#include "../target/procmaps.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/log.h"
#include "memory_markers.h"

struct memory_file {
	dev_t device;
	ino_t inode;
	int fd; /* -1: it has no allocator */
	struct allocator
		*allocators[2]; /* what is found by itself, what --allocator names; or NULL */
	struct memory_markers *markers; /* or NULL */
	char *shown;
};

struct memory_process {
	pid_t pid; /* 0: all */
	struct attach_set *probes;
	struct memory_file **files; /* that are probed, or have nothing to probe */
	size_t nfiles;
	size_t functions;
	size_t nprobed, nmarked; /* files, by their functions and markers */
	size_t markers;          /* probed, instead of functions of the heap */
	bool leaderless;         /* and nothing of it probed; said */
};

struct memory {
	struct kernel *kernel;
	const struct memory_options *options;
	struct memory_file **files;
	size_t nfiles;
	struct memory_process **processes;
	size_t nprocesses;
	struct memory_counts counts;
	u32 next_site; /* of markers */
	bool *used;    /* of each --allocator */
};

int memory_new(struct kernel *kernel, const struct memory_options *options, struct memory **out)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	memory->used = calloc(options->nfiles + 1, sizeof(*memory->used));
	if (!memory->used) {
		free(memory);
		return -ENOMEM;
	}
	memory->kernel = kernel;
	memory->options = options;
	*out = memory;
	return 0;
}

static void process_free(struct memory_process *process)
{
	attach_free(&process->probes);
	free(process->files);
	free(process);
}

void memory_free(struct memory **out)
{
	struct memory *memory = *out;
	size_t i;

	if (!memory)
		return;
	*out = NULL;
	for (i = 0; i < memory->nprocesses; i++)
		process_free(memory->processes[i]);
	for (i = 0; i < memory->nfiles; i++) {
		allocator_free(&memory->files[i]->allocators[0]);
		allocator_free(&memory->files[i]->allocators[1]);
		cleanup_close(&memory->files[i]->fd);
		memory_markers_free(&memory->files[i]->markers);
		free(memory->files[i]->shown);
		free(memory->files[i]);
	}
	free(memory->processes);
	free(memory->files);
	free(memory->used);
	free(memory);
}

static struct attach_probe probe_of(const struct allocator_function *function,
				    enum kernel_program program, u32 flags)
{
	return (struct attach_probe){
		.offset = function->probe,
		.cookie = COOKIE(0, function->kind, flags),
		.program = program,
	};
}

/* The probes of one function, at most two, into PROBES. Returns how many. */
static size_t function_probes(const struct memory *memory, const struct memory_process *process,
			      const struct allocator_function *function,
			      struct attach_probe *probes)
{
	const struct memory_options *options = memory->options;
	bool returns = !options->no_returns && !function->throws;
	bool heap = allocator_is_heap(function->kind);
	u32 flags = (function->entry_tells ? ALLOC_ENTRY_TELLS : 0) |
		    (function->inner ? ALLOC_INNER : 0);
	size_t n = 0;

	if (!(heap ? options->alloc && !process->markers : options->map))
		return 0;
	if (function->kind == ALLOC_FREE) {
		if (options->heap && !options->no_returns)
			probes[n++] = probe_of(function, KERNEL_FREE_ENTER, flags);
		return n;
	}
	if (!heap) {
		if (!returns)
			return 0;
		if (options->session) {
			probes[n++] = probe_of(function, KERNEL_MAP_SESSION, 0);
			return n;
		}
		probes[n++] = probe_of(function, KERNEL_MAP_RETURN, 0);
		probes[n++] = probe_of(function, KERNEL_MAP_ENTER, 0);
		return n;
	}
	/* Without a return it cannot be told when the inner one is over. */
	if (options->no_returns && function->inner && function->kind != ALLOC_REALLOC)
		return 0;
	if (returns && options->session) {
		probes[n++] = probe_of(function, KERNEL_ALLOC_SESSION, flags | ALLOC_RETURN_SEEN);
		return n;
	}
	/* The return first: a call that is seen to begin is then seen to end. */
	if (returns && (options->heap || !function->entry_tells)) {
		flags |= ALLOC_RETURN_SEEN;
		probes[n++] = probe_of(function, KERNEL_ALLOC_RETURN, flags);
	}
	probes[n++] = probe_of(function, KERNEL_ALLOC_ENTER, flags);
	return n;
}

static bool is_found(const struct allocator *allocator, u64 probe)
{
	size_t i;

	for (i = 0; allocator && i < allocator->nfunctions; i++)
		if (allocator->functions[i].probe == probe)
			return true;
	return false;
}

static void memory_attach_probes(const struct memory_file *file, struct memory_process *process,
				 struct attach_probe *probes, size_t n)
{
	size_t i, failed = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	attach_file(process->probes, path, probes, n);
	for (i = 0; i < n; i++) {
		/* A process that has ended needs none. */
		if (!probes[i].error || probes[i].error == -ESRCH || failed++)
			continue;
		log_warn(
			"%s: cannot probe the allocator at 0x%llx: %s; what it allocates is not counted",
			file->shown, (unsigned long long)probes[i].offset,
			strerror(-probes[i].error));
	}
}

/* Puts probes on the functions of FILE into PROCESS. */
static void memory_attach(const struct memory *memory, const struct memory_file *file,
			  struct memory_process *process, const struct allocator *allocator)
{
	AUTO_FREE struct attach_probe *probes =
		calloc(2 * allocator->nfunctions + 1, sizeof(*probes));
	size_t i, n = 0;

	if (!probes)
		return;
	for (i = 0; i < allocator->nfunctions; i++) {
		const struct allocator_function *function = &allocator->functions[i];
		size_t more;

		if (allocator != file->allocators[0] &&
		    is_found(file->allocators[0], function->probe))
			continue;
		more = function_probes(memory, process, function, probes + n);
		process->functions += more > 0;
		n += more;
	}
	memory_attach_probes(file, process, probes, n);
}

/* The same of its markers. */
static void memory_attach_markers(const struct memory_file *file, struct memory_process *process)
{
	memory_attach_probes(file, process, file->markers->probes, file->markers->n);
	process->markers += file->markers->n;
}

static void find(struct memory_file *file, int fd, const char *prefix, size_t which)
{
	struct allocator *allocator = NULL;
	const char *why = NULL;
	int err = allocator_find(fd, prefix, &allocator, &why);

	if (err && err != -ENOEXEC)
		log_debug("%s: %s", file->shown, why ? why : strerror(-err));
	if (err)
		return;
	if (!allocator->nfunctions) {
		allocator_free(&allocator);
		return;
	}
	log_debug("%s: allocator %s, %zu functions", file->shown, allocator->kind,
		  allocator->nfunctions);
	file->allocators[which] = allocator;
}

/* Looks for what --allocator names in FILE. */
static void find_named(struct memory *memory, struct memory_file *file, int fd)
{
	size_t i;

	for (i = 0; i < memory->options->nfiles; i++) {
		const char *text = memory->options->files[i];
		const char *colon = strrchr(text, ':');
		AUTO_FREE char *path = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
		struct stat st;

		if (!path || ((stat(path, &st) || st.st_ino != file->inode) &&
			      strcmp(path, file->shown) != 0))
			continue;
		memory->used[i] = true;
		find(file, fd, colon ? colon + 1 : "", 1);
		if (!file->allocators[1])
			log_warn("--allocator %s: %s has no function %smalloc or the like", text,
				 file->shown, colon ? colon + 1 : "");
	}
}

/* Looks for the markers of FILE, and gives each site its number. */
static void find_markers(struct memory *memory, struct memory_file *file, int fd)
{
	const char *why = NULL;
	size_t i;

	if (memory_markers_find(fd, memory->options->heap, &file->markers, &why))
		return;
	if (file->markers && file->markers->n > ALLOC_SITES_MAX - memory->next_site) {
		memory_markers_free(&file->markers);
		why = "there are too many of them";
	}
	if (why)
		log_warn(
			"%s: its otel_memory markers do not serve: %s; its allocator is probed instead",
			file->shown, why);
	for (i = 0; file->markers && i < file->markers->n; i++) {
		u32 site = memory->next_site++;

		kernel_set_alloc_site(memory->kernel, site, &file->markers->values[i]);
		file->markers->probes[i].cookie = COOKIE(0, site, 0);
	}
}

/* The file open at FD, looked at once; NULL: no memory. */
static struct memory_file *memory_file(struct memory *memory, int fd, const char *shown)
{
	struct memory_file *file;
	struct stat st;
	size_t i;

	if (fstat(fd, &st))
		return NULL;
	for (i = 0; i < memory->nfiles; i++)
		if (memory->files[i]->inode == st.st_ino && memory->files[i]->device == st.st_dev)
			return memory->files[i];
	file = calloc(1, sizeof(*file));
	if (!file || GROW(memory->files, memory->nfiles)) {
		free(file);
		return NULL;
	}
	*file = (struct memory_file){.device = st.st_dev, .inode = st.st_ino, .fd = -1};
	memory->files[memory->nfiles++] = file;
	file->shown = strdup(shown);
	if (!file->shown)
		return NULL;
	find(file, fd, NULL, 0);
	find_named(memory, file, fd);
	if (memory->options->alloc && memory->options->confined)
		find_markers(memory, file, fd);
	if (file->allocators[0] || file->allocators[1] || file->markers)
		file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return file;
}

static struct memory_process *memory_process(struct memory *memory, pid_t pid, bool forked)
{
	struct memory_process *process;
	bool alone = memory->options->confined;
	size_t i;

	for (i = 0; i < memory->nprocesses; i++)
		if (memory->processes[i]->pid == (alone ? pid : 0))
			return memory->processes[i];
	process = calloc(1, sizeof(*process));
	if (!process || GROW(memory->processes, memory->nprocesses) ||
	    attach_new(memory->kernel, memory->options->uprobe_multi, &pid, alone ? 1 : 0,
		       &process->probes)) {
		free(process);
		return NULL;
	}
	process->pid = alone ? pid : 0;
	memory->counts.processes++;
	memory->counts.late += alone && forked;
	memory->processes[memory->nprocesses++] = process;
	return process;
}

static bool process_has(const struct memory_process *process, const struct memory_file *file)
{
	size_t i;

	for (i = 0; i < process->nfiles; i++)
		if (process->files[i] == file)
			return true;
	return false;
}

/* The kernel's filter knows a process by its first thread. */
static void say_leaderless(struct memory *memory, struct memory_process *process, pid_t pid)
{
	if (process->leaderless || process->nfiles)
		return;
	process->leaderless = true;
	memory->counts.processes--;
	log_warn(
		"process %d: its first thread has ended, so no probe can be kept within it: its allocations are not counted",
		pid);
}

/* Takes the probes of PROCESS out: it has markers, as came out late. */
static int memory_begin_again(struct memory *memory, struct memory_process *process)
{
	struct attach_set *probes = NULL;
	int err = attach_new(memory->kernel, memory->options->uprobe_multi, &process->pid, 1,
			     &probes);

	if (err)
		return err;
	attach_free(&process->probes);
	process->probes = probes;
	process->nprobed = 0;
	memory->counts.functions -= process->functions;
	process->functions = 0;
	return 0;
}

/* Probes the files of PROCESS that are new. MARKED: its first markers are among them. */
static int memory_probe(struct memory *memory, struct memory_process *process, pid_t pid,
			bool marked)
{
	size_t functions, markers = process->markers, i, j;
	int err = marked && process->nprobed ? memory_begin_again(memory, process) : 0;

	if (err)
		return err;
	functions = process->functions;
	for (i = 0; i < process->nfiles; i++)
		if (process->files[i]->markers && i >= process->nmarked)
			memory_attach_markers(process->files[i], process);
	for (i = process->nprobed; i < process->nfiles; i++)
		for (j = 0; j < 2; j++)
			if (process->files[i]->allocators[j])
				memory_attach(memory, process->files[i], process,
					      process->files[i]->allocators[j]);
	process->nprobed = process->nmarked = process->nfiles;
	if (process->markers > markers)
		log_info("process %d: its own markers tell of allocations, at %zu sites", pid,
			 process->markers);
	if (process->functions > functions)
		log_info("process %d: %zu functions of its allocators are probed", pid,
			 process->functions - functions);
	memory->counts.functions += process->functions - functions;
	memory->counts.markers += process->markers - markers;
	return 0;
}

int memory_add_process(struct memory *memory, pid_t pid, bool forked)
{
	AUTO_FREE struct procmap *maps = NULL;
	struct memory_process *process;
	bool fresh = false, marked = false;
	size_t i, n = 0;
	int err;

	err = procmaps_read(pid, &maps, &n);
	if (err)
		return err;
	process = memory_process(memory, pid, forked);
	if (!process)
		return -ENOMEM;
	if (memory->options->confined && n && maps[0].task != pid) {
		say_leaderless(memory, process, pid);
		return 0;
	}
	n = procmaps_unique(maps, n);
	for (i = 0; i < n; i++) {
		AUTO_CLOSE int fd = procmaps_open(&maps[i]);
		struct memory_file *file;

		if (fd < 0)
			continue;
		file = memory_file(memory, fd, maps[i].path);
		if (!file)
			return -ENOMEM;
		if (process_has(process, file))
			continue;
		if (GROW(process->files, process->nfiles))
			return -ENOMEM;
		process->files[process->nfiles++] = file;
		marked |= file->markers && !process->markers;
		fresh = true;
	}
	if (!fresh)
		return 0;
	return memory_probe(memory, process, pid, marked);
}

void memory_end_process(struct memory *memory, pid_t pid)
{
	size_t i;

	for (i = 0; i < memory->nprocesses; i++)
		if (memory->processes[i]->pid == pid) {
			process_free(memory->processes[i]);
			memory->processes[i] = memory->processes[--memory->nprocesses];
			return;
		}
}

void memory_count(const struct memory *memory, struct memory_counts *out)
{
	*out = memory->counts;
}

const char *memory_unused_file(const struct memory *memory)
{
	size_t i;

	for (i = 0; i < memory->options->nfiles; i++)
		if (!memory->used[i])
			return memory->options->files[i];
	return NULL;
}
