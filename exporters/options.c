/* SPDX-License-Identifier: MIT */
/* Options of an output (`-o FORMAT,KEY=VALUE:PATH`), and what a stack's weight can be. */
#include "exporter.h"

#include <errno.h>
#include <string.h>

/* One row for each enum export_value, in its order. */
static const struct value_type {
	const char *name;
	const char *unit;
	u32 metrics; /* all of them are needed */
} values[] = {
	[EXPORT_BUSY] = {"busy", "ns", METRIC_WALL},
	[EXPORT_WALL] = {"wall", "ns", METRIC_WALL},
	[EXPORT_CPU] = {"cpu", "ns", METRIC_CPU},
	[EXPORT_CPU_USER] = {"cpu_user", "ns", METRIC_CPU_SPLIT},
	[EXPORT_CPU_SYSTEM] = {"cpu_system", "ns", METRIC_CPU_SPLIT},
	[EXPORT_RUN_DELAY] = {"run_delay", "ns", METRIC_CPU},
	[EXPORT_BLOCKED] = {"blocked", "ns", METRIC_WALL | METRIC_CPU},
	[EXPORT_ALLOC_OBJECTS] = {"alloc_objects", "objects", METRIC_ALLOC},
	[EXPORT_ALLOC_SPACE] = {"alloc_space", "bytes", METRIC_ALLOC},
	[EXPORT_INUSE_OBJECTS] = {"inuse_objects", "objects", METRIC_HEAP},
	[EXPORT_INUSE_SPACE] = {"inuse_space", "bytes", METRIC_HEAP},
};

#define NVALUES (sizeof(values) / sizeof(*values))

_Static_assert(NVALUES == EXPORT_INUSE_SPACE + 1, "a row for each value");

static const char *const counters[] = {
	[EXPORT_COUNTER_WALL_TIME] = "wall-time",
	[EXPORT_COUNTER_CPU_TIME] = "cpu-time",
	[EXPORT_COUNTER_RUN_DELAY] = "run-delay",
	[EXPORT_COUNTER_ALLOC_SPACE] = "allocated-bytes",
};

_Static_assert(sizeof(counters) / sizeof(*counters) == EXPORT_COUNTERS, "a name for each counter");

const char *export_counter_name(enum export_counter counter)
{
	return counters[counter];
}

const char *export_value_name(enum export_value value)
{
	return values[value].name;
}

const char *export_value_unit(enum export_value value)
{
	return values[value].unit;
}

bool export_value_measured(u32 metrics, enum export_value value)
{
	return (metrics & values[value].metrics) == values[value].metrics;
}

u64 export_value_of(const struct model_row *row, enum export_value value)
{
	u64 on_cpu_or_ready = row->work.cpu_ns + row->work.run_delay_ns;

	switch (value) {
	case EXPORT_BUSY:
		return row->work.busy_ns;
	case EXPORT_WALL:
		return row->work.busy_ns + row->work.idle_ns;
	case EXPORT_CPU:
		return row->work.cpu_ns;
	case EXPORT_CPU_USER:
		return row->work.cpu_ns - row->work.cpu_system_ns;
	case EXPORT_CPU_SYSTEM:
		return row->work.cpu_system_ns;
	case EXPORT_RUN_DELAY:
		return row->work.run_delay_ns;
	case EXPORT_BLOCKED:
		/* The clocks are read one after the other, so the difference can be a hair below
		 * 0. */
		return row->work.busy_ns > on_cpu_or_ready ? row->work.busy_ns - on_cpu_or_ready
							   : 0;
	case EXPORT_ALLOC_OBJECTS:
		return row->work.alloc_objects;
	case EXPORT_ALLOC_SPACE:
		return row->work.alloc_bytes;
	case EXPORT_INUSE_OBJECTS:
		return row->work.inuse_objects;
	case EXPORT_INUSE_SPACE:
		return row->work.inuse_bytes;
	}
	return 0;
}

/* A piece of the option's text. */
struct slice {
	const char *at;
	size_t len;
};

static bool slice_is(struct slice s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static int set_bool(bool *out, struct slice value)
{
	if (!slice_is(value, "0") && !slice_is(value, "1"))
		return -EINVAL;
	*out = value.at[0] == '1';
	return 0;
}

static int set_value(enum export_value *out, struct slice value)
{
	for (size_t i = 0; i < NVALUES; i++) {
		if (slice_is(value, values[i].name)) {
			*out = (enum export_value)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_counter(enum export_counter *out, struct slice value)
{
	for (size_t i = 0; i < EXPORT_COUNTERS; i++) {
		if (slice_is(value, counters[i])) {
			*out = (enum export_counter)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int set_encoding(enum export_encoding *out, struct slice value)
{
	if (slice_is(value, "json"))
		*out = EXPORT_ENCODING_JSON;
	else if (slice_is(value, "protobuf"))
		*out = EXPORT_ENCODING_PROTOBUF;
	else
		return -EINVAL;
	return 0;
}

static int set_title(char *out, struct slice value)
{
	if (value.len >= EXPORT_TITLE_SIZE || memchr(value.at, '\0', value.len))
		return -EINVAL;
	memcpy(out, value.at, value.len);
	out[value.len] = '\0';
	return 0;
}

static int set_width(unsigned *out, struct slice value)
{
	unsigned width = 0;

	if (!value.len || value.len > 5)
		return -EINVAL;
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return -EINVAL;
		width = width * 10 + (unsigned)(value.at[i] - '0');
	}
	*out = width;
	return 0;
}

int export_option_set(const struct exporter_ops *ops, struct export_options *o, const char *text,
		      size_t len)
{
	const char *equals = memchr(text, '=', len);
	struct slice key = {.at = text, .len = equals ? (size_t)(equals - text) : len};
	struct slice value = {.at = text + len};
	bool taken = false;

	for (size_t i = 0; ops->keys && ops->keys[i]; i++)
		taken |= slice_is(key, ops->keys[i]);
	if (!taken)
		return -ENOENT;
	if (!equals)
		return -EINVAL;
	value.at = equals + 1;
	value.len = len - key.len - 1;

	if (slice_is(key, "empty_samples"))
		return set_bool(&o->empty_samples, value);
	if (slice_is(key, "threads_collapsed"))
		return set_bool(&o->threads_collapsed, value);
	if (slice_is(key, "module_path"))
		return set_bool(&o->module_path, value);
	if (slice_is(key, "file_and_line"))
		return set_bool(&o->file_and_line, value);
	if (slice_is(key, "args"))
		return set_bool(&o->args, value);
	if (slice_is(key, "split"))
		return set_bool(&o->split, value);
	if (slice_is(key, "color"))
		return set_bool(&o->color, value);
	if (slice_is(key, "value"))
		return set_value(&o->value, value);
	if (slice_is(key, "counter"))
		return set_counter(&o->counter, value);
	if (slice_is(key, "encoding"))
		return set_encoding(&o->encoding, value);
	if (slice_is(key, "title") || slice_is(key, "service"))
		return set_title(o->title, value);
	if (slice_is(key, "width"))
		return set_width(&o->width, value);
	return -ENOENT;
}
