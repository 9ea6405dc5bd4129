/* SPDX-License-Identifier: MIT */
/* See tags.h. */
#include "tags.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../exporters/text.h"
#include "../../include/limits.h"
#include "../util/cleanup.h"
#include "../util/grow.h"
#include "../util/intmap.h"
#include "../util/log.h"

#define STATICS_MAX 16u
#define LABEL_MAX   128u
#define VALUE_MAX   1024u /* servers take 2048 bytes */
#define ENVIRON_MAX (128u << 10)
#define CGROUP_MAX  4096u
#define ID_LEN      64u /* of a container's id, in hex */

/* A process image. */
struct process {
	u32 image;
	bool ended;
	struct set *set;
};

struct set {
	struct tag_set public; /* first: a tag_set that is handed out is one of these */
	size_t refs;
};

struct tags {
	const char *app;
	struct pyroscope_label statics[STATICS_MAX];
	size_t nstatics;
	char hostname[256];
	struct process **processes;
	size_t nprocesses;
	struct intmap by_image;
	struct set **sets;
	size_t nsets;
	u32 last_serial;
	size_t ended;
};

/* --- text ------------------------------------------------------------------------------------------- */

void tags_name(const char *name, char *out, size_t size)
{
	size_t at = 0;

	while (name[0] == '_' && name[1] == '_')
		name++;
	if (isdigit((unsigned char)*name))
		out[at++] = '_';
	for (; *name && at + 1 < size; name++)
		out[at++] = isalnum((unsigned char)*name) ? *name : '_';
	out[at] = '\0';
}

/* What servers take as a value, owned: text without what is no text, and not too much of it. NULL: no memory. */
static char *make_value(const char *text)
{
	AUTO_TEXT value = {0};

	text_add_safe(&value, text);
	while (value.len > VALUE_MAX)
		text_cut(&value, value.len - 1);
	/* Not in the middle of a code point. */
	while (value.len && value.len == VALUE_MAX && ((u8)value.data[value.len - 1] & 0x80))
		text_cut(&value, value.len - 1);
	if (value.failed)
		return NULL;
	return value.data ? TAKE_PTR(value.data) : strdup("");
}

/* What a container's runtime writes into the path: …/docker-ID.scope, …/ID, …/cri-containerd-ID.scope; the innermost. */
bool tags_container(const char *cgroup, char id[65])
{
	bool found = false;
	size_t run = 0;

	for (const char *at = cgroup;; at++) {
		if (*at && strchr("0123456789abcdef", *at)) {
			run++;
			continue;
		}
		if (run == ID_LEN) {
			memcpy(id, at - ID_LEN, ID_LEN);
			id[ID_LEN] = '\0';
			found = true;
		}
		if (!*at)
			return found;
		run = 0;
	}
}

/* %41 stands for A. In place. */
static void decode_percent(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned code;

		if (*text == '%' && isxdigit((unsigned char)text[1]) &&
		    isxdigit((unsigned char)text[2]) && sscanf(text + 1, "%2x", &code) == 1 &&
		    code) {
			*to++ = (char)code;
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* The value of KEY in "KEY=VALUE,KEY=VALUE". */
static char *find_attribute(const char *list, const char *key)
{
	size_t len = strlen(key);

	for (;;) {
		list += strspn(list, " \t");
		if (strncmp(list, key, len) == 0 && list[len] == '=') {
			char *value = strndup(list + len + 1, strcspn(list + len + 1, ","));

			if (value)
				decode_percent(value);
			return value;
		}
		list += strcspn(list, ",");
		if (!*list++)
			return NULL;
	}
}

char *tags_service(const char *environment, size_t len)
{
	static const char name[] = "OTEL_SERVICE_NAME=", list[] = "OTEL_RESOURCE_ATTRIBUTES=";
	const char *end = environment + len;
	char *service = NULL;

	for (const char *at = environment; at < end; at += strlen(at) + 1) {
		if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)]) {
			free(service);
			return strdup(at + strlen(name));
		}
		if (!service && strncmp(at, list, strlen(list)) == 0)
			service = find_attribute(at + strlen(list), "service.name");
	}
	if (service && !*service) {
		free(service);
		service = NULL;
	}
	return service;
}

/* --- sets ------------------------------------------------------------------------------------------- */

static void set_free(struct set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->public.n; i++) {
		free((char *)set->public.labels[i].name);
		free((char *)set->public.labels[i].value);
	}
	free(set);
}

static void set_free_at(struct set **set)
{
	set_free(*set);
}

/* Sets the label NAME, new or not. 0 or -ENOMEM. */
static int set_put(struct set *set, const char *name, const char *value)
{
	struct pyroscope_label *labels = set->public.labels;
	size_t at = 0, n = set->public.n;
	char *copy = make_value(value);

	if (!copy)
		return -ENOMEM;
	while (at < n && strcmp(labels[at].name, name) < 0)
		at++;
	if (at < n && strcmp(labels[at].name, name) == 0) {
		free((char *)labels[at].value);
		labels[at].value = copy;
		return 0;
	}
	name = n < TAGS_MAX ? strdup(name) : NULL;
	if (!name) {
		free(copy);
		return -ENOMEM;
	}
	memmove(labels + at + 1, labels + at, (n - at) * sizeof(*labels));
	labels[at] = (struct pyroscope_label){name, copy};
	set->public.n++;
	return 0;
}

static const char *set_get(const struct set *set, const char *name)
{
	for (size_t i = 0; i < set->public.n; i++)
		if (strcmp(set->public.labels[i].name, name) == 0)
			return set->public.labels[i].value;
	return NULL;
}

static bool set_equals(const struct set *a, const struct set *b)
{
	if (a->public.n != b->public.n)
		return false;
	for (size_t i = 0; i < a->public.n; i++)
		if (strcmp(a->public.labels[i].name, b->public.labels[i].name) != 0 ||
		    strcmp(a->public.labels[i].value, b->public.labels[i].value) != 0)
			return false;
	return true;
}

/* Takes MADE: the one there is, or this. NULL: no memory. */
static struct set *keep_set(struct tags *t, struct set *made)
{
	for (size_t i = 0; i < t->nsets; i++) {
		if (!set_equals(t->sets[i], made))
			continue;
		set_free(made);
		return t->sets[i];
	}
	if (GROW(t->sets, t->nsets)) {
		set_free(made);
		return NULL;
	}
	made->public.serial = ++t->last_serial;
	return t->sets[t->nsets++] = made;
}

/* --- processes -------------------------------------------------------------------------------------- */

/* Reads /proc/PID/NAME, at most MAX bytes, with a NUL behind them. NULL: it is not there. */
static char *read_proc(u32 pid, const char *name, size_t max, size_t *len)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *text = malloc(max + 1);
	char path[64];
	size_t at = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !text)
		return NULL;
	while (at < max && (n = read(fd, text + at, max - at)) > 0)
		at += (size_t)n;
	text[at] = '\0';
	*len = at;
	return TAKE_PTR(text);
}

/* The path in cgroup v2; else that of the first line, of version 1. In place; NULL: none, or the root. */
static char *find_cgroup(char *text)
{
	char *line = strstr(text, "0::");
	char *path;

	if (!line || (line != text && line[-1] != '\n'))
		line = text;
	path = strchr(line, ':');
	path = path ? strchr(path + 1, ':') : NULL;
	if (!path)
		return NULL;
	path++;
	path[strcspn(path, "\n")] = '\0';
	return strcmp(path, "/") != 0 && *path ? path : NULL;
}

static int put_cgroup(struct set *set, u32 pid, const struct set *from)
{
	size_t len;
	AUTO_FREE char *text = read_proc(pid, "cgroup", CGROUP_MAX, &len);
	const char *path = text ? find_cgroup(text) : from ? set_get(from, "cgroup") : NULL;
	char id[ID_LEN + 1];
	int err = path ? set_put(set, "cgroup", path) : 0;

	if (!err && path && tags_container(path, id))
		err = set_put(set, "container_id", id);
	return err;
}

static int put_service(struct tags *t, struct set *set, u32 pid, const char *comm,
		       const struct set *from)
{
	AUTO_FREE char *text = NULL;
	AUTO_FREE char *service = NULL;
	const char *name = t->app;
	size_t len;

	if (!name) {
		text = read_proc(pid, "environ", ENVIRON_MAX, &len);
		service = text ? tags_service(text, len) : NULL;
		name = service;
	}
	/* Its parent had the same environment; only a name that came from there is the child's too. */
	if (!name && !text && from &&
	    strcmp(set_get(from, "service_name"), set_get(from, "comm")) != 0)
		name = set_get(from, "service_name");
	return set_put(set, "service_name", name ? name : comm);
}

static struct set *make_set(struct tags *t, u32 pid, const char *comm, const struct set *from)
{
	CLEANUP(set_free_at) struct set *set = calloc(1, sizeof(*set));
	int err = set ? set_put(set, "comm", comm) : -ENOMEM;

	if (!err)
		err = put_service(t, set, pid, comm, from);
	if (!err && *t->hostname)
		err = set_put(set, "hostname", t->hostname);
	if (!err)
		err = put_cgroup(set, pid, from);
	for (size_t i = 0; i < t->nstatics && !err; i++)
		err = set_put(set, t->statics[i].name, t->statics[i].value);
	return err ? NULL : TAKE_PTR(set);
}

static struct process *find(const struct tags *t, u32 image)
{
	void **found = intmap_find(&t->by_image, image);

	return found ? *found : NULL;
}

const struct tag_set *tags_of(const struct tags *tags, u32 image)
{
	const struct process *process = find(tags, image);

	return process ? &process->set->public : NULL;
}

void tags_see(struct tags *t, u32 image, u32 from, u32 pid, const char *comm)
{
	char name[COMM_LEN + 1] = {0};
	const struct process *parent = find(t, from);
	struct process *process;
	struct set *set;

	if (find(t, image))
		return;
	strncat(name, *comm ? comm : "unknown", COMM_LEN);
	set = make_set(t, pid, name, parent ? parent->set : NULL);
	set = set ? keep_set(t, set) : NULL;
	process = set ? calloc(1, sizeof(*process)) : NULL;
	if (!process || GROW(t->processes, t->nprocesses) ||
	    intmap_set(&t->by_image, image, process)) {
		free(process);
		return;
	}
	*process = (struct process){.image = image, .set = set};
	set->refs++;
	t->processes[t->nprocesses++] = process;
}

void tags_end(struct tags *t, u32 image)
{
	struct process *process = find(t, image);

	if (!process || process->ended)
		return;
	process->ended = true;
	t->ended++;
}

/* Sets that nobody has any more. */
static void sweep_sets(struct tags *t)
{
	size_t left = 0;

	for (size_t i = 0; i < t->nsets; i++) {
		if (t->sets[i]->refs)
			t->sets[left++] = t->sets[i];
		else
			set_free(t->sets[i]);
	}
	t->nsets = left;
}

void tags_sweep(struct tags *t)
{
	struct intmap map = {0};
	size_t left = 0;

	/* The map is made anew, for nothing is taken out of one; where there is no memory, another time. */
	for (size_t i = 0; i < t->nprocesses && t->ended; i++)
		if (!t->processes[i]->ended &&
		    intmap_set(&map, t->processes[i]->image, t->processes[i])) {
			intmap_free(&map);
			return;
		}
	if (!t->ended)
		return;
	for (size_t i = 0; i < t->nprocesses; i++) {
		if (!t->processes[i]->ended) {
			t->processes[left++] = t->processes[i];
			continue;
		}
		t->processes[i]->set->refs--;
		free(t->processes[i]);
	}
	t->nprocesses = left;
	intmap_free(&t->by_image);
	t->by_image = map;
	t->ended = 0;
	sweep_sets(t);
}

/* --- begin and end ---------------------------------------------------------------------------------- */

static int add_static(struct tags *t, const char *text)
{
	char key[LABEL_MAX], name[LABEL_MAX + 1];

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, "="), text);
	tags_name(key, name, sizeof(name));
	if (!*name) {
		log_error("--tag %s: a label's name has letters, digits and _", text);
		return -EINVAL;
	}
	if (t->nstatics == STATICS_MAX) {
		log_error("--tag %s: there can be %u of them", text, STATICS_MAX);
		return -EINVAL;
	}
	t->statics[t->nstatics].name = strdup(name);
	if (!t->statics[t->nstatics].name)
		return -ENOMEM;
	t->statics[t->nstatics++].value = strchr(text, '=') + 1;
	return 0;
}

int tags_new(const char *app, const char *const *statics, size_t n, struct tags **out)
{
	CLEANUP(tags_free) struct tags *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	if (!err) {
		t->app = app;
		gethostname(t->hostname, sizeof(t->hostname) - 1);
	}
	for (size_t i = 0; i < n && !err; i++)
		err = add_static(t, statics[i]);
	if (!err)
		*out = TAKE_PTR(t);
	return err;
}

void tags_free(struct tags **out)
{
	struct tags *t = *out;

	if (!t)
		return;
	*out = NULL;
	for (size_t i = 0; i < t->nprocesses; i++)
		free(t->processes[i]);
	for (size_t i = 0; i < t->nsets; i++)
		set_free(t->sets[i]);
	for (size_t i = 0; i < t->nstatics; i++)
		free((char *)t->statics[i].name);
	free(t->processes);
	free(t->sets);
	intmap_free(&t->by_image);
	free(t);
}
