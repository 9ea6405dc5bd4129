/* SPDX-License-Identifier: MIT */
/* Reads what coz wrote; see coz_profile.h. coz_estimate.c says what it means. */
#include "coz_profile.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/grow.h"

#define LINE_MAX_BYTES (1u << 16)
#define DURATION_MAX   1e15 /* ns: beyond eleven days it is an underflow */
#define COUNT_MAX      1e15
#define CELLS_MAX      (1u << 15)
#define INSIDE_MAX \
	1e9 /* visits at one time: coz 0.2.2 counts latencies from memory that it did not clear */

/* One line of the file, whichever form it has. */
enum record_kind {
	RECORD_OTHER,
	RECORD_STARTUP,
	RECORD_EXPERIMENT,
	RECORD_THROUGHPUT,
	RECORD_LATENCY,
	RECORD_SAMPLES,
};

struct record {
	enum record_kind kind;
	const char *name; /* selected, name or location */
	double speedup;
	double duration;
	double delta;
	double arrivals, difference;
	double count;
};

/* The experiment that the points which follow belong to. */
struct experiment {
	bool open;
	u32 line;
	double speedup;
	double duration;
};

int coz_profile_new(struct coz_profile **out)
{
	struct coz_profile *profile = calloc(1, sizeof(*profile));
	int err;

	if (!profile)
		return -ENOMEM;
	err = strtab_new(&profile->strings);
	if (err) {
		free(profile);
		return err;
	}
	*out = profile;
	return 0;
}

void coz_profile_free(struct coz_profile **out)
{
	struct coz_profile *profile = *out;
	size_t i;

	if (!profile)
		return;
	*out = NULL;
	for (i = 0; i < profile->ncells; i++) {
		free(profile->cells[i]->bins);
		free(profile->cells[i]->trials);
		free(profile->cells[i]);
	}
	free(profile->cells);
	free(profile->lines);
	free(profile->points);
	intmap_free(&profile->lines_by_name);
	intmap_free(&profile->points_by_name);
	intmap_free(&profile->cells_by_key);
	strtab_free(&profile->strings);
	free(profile);
}

/* An index stands in a map as a pointer that is never NULL. */
static void *as_value(size_t index)
{
	return (void *)(index + 1);
}

static u32 as_index(void *const *found)
{
	return (u32)((size_t)*found - 1);
}

static int profile_line(struct coz_profile *profile, const char *name, u32 *line)
{
	void **found;
	u32 id;

	if (strtab_add(profile->strings, name, strlen(name), &id))
		return -ENOMEM;
	found = intmap_find(&profile->lines_by_name, id);
	if (found) {
		*line = as_index(found);
		return 0;
	}
	if (GROW(profile->lines, profile->nlines) ||
	    intmap_set(&profile->lines_by_name, id, as_value(profile->nlines)))
		return -ENOMEM;
	*line = (u32)profile->nlines;
	profile->lines[profile->nlines++] =
		(struct coz_line){.name = strtab_get(profile->strings, id)};
	return 0;
}

static int profile_point(struct coz_profile *profile, const char *name, enum coz_point_kind kind,
			 struct coz_point **point)
{
	void **found;
	u64 key;
	u32 id;

	if (strtab_add(profile->strings, name, strlen(name), &id))
		return -ENOMEM;
	key = (u64)kind << 32 | id;
	found = intmap_find(&profile->points_by_name, key);
	if (found) {
		*point = &profile->points[as_index(found)];
		return 0;
	}
	if (GROW(profile->points, profile->npoints) ||
	    intmap_set(&profile->points_by_name, key, as_value(profile->npoints)))
		return -ENOMEM;
	*point = &profile->points[profile->npoints++];
	**point = (struct coz_point){.name = strtab_get(profile->strings, id), .kind = kind};
	return 0;
}

static struct coz_cell *profile_cell(struct coz_profile *profile, u32 line, u32 point)
{
	u64 key = (u64)line << 32 | point;
	void **found = intmap_find(&profile->cells_by_key, key);
	struct coz_cell *cell;

	if (found)
		return *found;
	cell = calloc(1, sizeof(*cell));
	if (!cell)
		return NULL;
	cell->line = line;
	cell->point = point;
	cell->bins = calloc(COZ_STEPS, sizeof(*cell->bins));
	if (!cell->bins || GROW(profile->cells, profile->ncells) ||
	    intmap_set(&profile->cells_by_key, key, cell)) {
		free(cell->bins);
		free(cell);
		return NULL;
	}
	profile->cells[profile->ncells++] = cell;
	return cell;
}

/* Y is the time of one visit. More visits know it better; so does more time, for coz puts delays in and takes them out in
 * lots of ten milliseconds. */
static int cell_add(struct coz_cell *cell, const struct experiment *experiment, double y,
		    double visits)
{
	struct coz_bin *bin = &cell->bins[(u32)(experiment->speedup * 100 + 0.5)];

	if (GROW(cell->trials, cell->n))
		return -ENOMEM;
	cell->trials[cell->n++] = (struct coz_trial){
		.x = experiment->speedup,
		.y = y,
		.w = visits * experiment->duration / 1e9,
	};
	bin->n++;
	bin->visits += (u64)visits;
	bin->ns += y * visits;
	return 0;
}

static int profile_visits(struct coz_profile *profile, const struct experiment *experiment,
			  const struct record *record)
{
	bool latency = record->kind == RECORD_LATENCY;
	double visits = latency ? record->arrivals : record->delta;
	double y = experiment->duration / visits;
	struct coz_point *point;
	struct coz_cell *cell;
	int err;

	err = profile_point(profile, record->name,
			    latency ? COZ_POINT_LATENCY : COZ_POINT_THROUGHPUT, &point);
	if (err)
		return err;
	if (latency) {
		y *= record->difference;
		if (!(record->difference >= 0 && record->difference < INSIDE_MAX)) {
			point->unusable++;
			return 0;
		}
	}
	if (profile->ncells == CELLS_MAX)
		return -EFBIG;
	cell = profile_cell(profile, experiment->line, (u32)(point - profile->points));
	if (!cell)
		return -ENOMEM;
	if (visits < COZ_VISITS_MIN) {
		cell->few++;
		return 0;
	}
	point->experiments++;
	point->visits += (u64)visits;
	return cell_add(cell, experiment, y, visits);
}

static int profile_record(struct coz_profile *profile, struct experiment *experiment,
			  const struct record *record)
{
	u32 line;
	int err;

	switch (record->kind) {
	case RECORD_THROUGHPUT:
	case RECORD_LATENCY:
		return experiment->open ? profile_visits(profile, experiment, record) : 0;
	case RECORD_EXPERIMENT:
		experiment->open = record->speedup >= 0 && record->speedup <= 1 &&
				   record->duration >= 1 && record->duration < DURATION_MAX;
		profile->damaged += !experiment->open;
		if (!experiment->open)
			return 0;
		err = profile_line(profile, record->name, &experiment->line);
		if (err)
			return err;
		experiment->speedup = record->speedup;
		experiment->duration = record->duration;
		profile->lines[experiment->line].experiments++;
		profile->experiments++;
		return 0;
	case RECORD_SAMPLES:
		/* Written more than once in a run, each time all of them; told of by lines that have experiments. */
		err = profile_line(profile, record->name, &line);
		if (!err && record->count > (double)profile->lines[line].samples)
			profile->lines[line].samples = (u64)record->count;
		return err;
	case RECORD_STARTUP:
		profile->runs++;
		break;
	default:
		break;
	}
	experiment->open = false;
	return 0;
}

/* The words of both forms. */
static enum record_kind kind_of(const char *word)
{
	static const struct {
		const char *word;
		enum record_kind kind;
	} kinds[] = {
		{"experiment", RECORD_EXPERIMENT},     {"throughput-point", RECORD_THROUGHPUT},
		{"latency-point", RECORD_LATENCY},     {"samples", RECORD_SAMPLES},
		{"startup", RECORD_STARTUP},           {"runtime", RECORD_OTHER},
		{"progress-point", RECORD_THROUGHPUT},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(word, kinds[i].word))
			return kinds[i].kind;
	return (enum record_kind) - 1;
}

/* Where the number KEY of a record goes; NULL: it is none that we need. */
static double *number_of(struct record *record, const char *key)
{
	static const struct {
		const char *key;
		size_t offset;
	} numbers[] = {
		{"speedup", offsetof(struct record, speedup)},
		{"duration", offsetof(struct record, duration)},
		{"delta", offsetof(struct record, delta)},
		{"arrivals", offsetof(struct record, arrivals)},
		{"difference", offsetof(struct record, difference)},
		{"count", offsetof(struct record, count)},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key))
			return (double *)((char *)record + numbers[i].offset);
	return NULL;
}

static bool is_name(const char *key)
{
	return !strcmp(key, "name") || !strcmp(key, "selected") || !strcmp(key, "location");
}

/* Not what a damaged file may say, of which sums and weights are no numbers. */
static bool is_count(double value)
{
	return value >= 0 && value < COUNT_MAX;
}

/* Numbers that the record's kind must have were set to NAN before. */
static bool record_is_whole(const struct record *r)
{
	switch (r->kind) {
	case RECORD_EXPERIMENT:
		return r->name && isfinite(r->speedup) && isfinite(r->duration);
	case RECORD_THROUGHPUT:
		return r->name && is_count(r->delta);
	case RECORD_LATENCY:
		return r->name && is_count(r->arrivals) && isfinite(r->difference);
	case RECORD_SAMPLES:
		return r->name && is_count(r->count);
	default:
		return true;
	}
}

/* One `word TAB key=value TAB …`, which is cut up. */
static bool parse_legacy(char *text, struct record *record)
{
	char *rest = text;
	char *word = strsep(&rest, "\t");

	record->kind = kind_of(word);
	if (record->kind == (enum record_kind) - 1)
		return false;
	while (rest) {
		char *key = strsep(&rest, "\t");
		char *value = strchr(key, '=');
		double *number;
		char *end;

		if (!value)
			continue;
		*value++ = '\0';
		number = number_of(record, key);
		if (number) {
			*number = strtod(value, &end);
			if (end == value || *end)
				*number = NAN;
		} else if (is_name(key)) {
			record->name = value;
		}
	}
	return record_is_whole(record);
}

/* The strings of RECORD are those of ROOT. */
static bool parse_json(json_t *root, struct record *record)
{
	const char *type = json_string_value(json_object_get(root, "type"));
	const char *key;
	json_t *value;

	record->kind = type ? kind_of(type) : (enum record_kind) - 1;
	if (record->kind == (enum record_kind) - 1)
		return false;
	json_object_foreach(root, key, value)
	{
		double *number = number_of(record, key);

		if (number && json_is_number(value))
			*number = json_number_value(value);
		else if (is_name(key) && json_is_string(value))
			record->name = json_string_value(value);
	}
	return record_is_whole(record);
}

static int profile_text(struct coz_profile *profile, struct experiment *experiment, char *text,
			size_t len)
{
	struct record record = {.speedup = NAN,
				.duration = NAN,
				.delta = NAN,
				.arrivals = NAN,
				.difference = NAN,
				.count = NAN};
	json_t *root = NULL;
	bool good;
	int err = 0;

	if (*text == '{') {
		root = json_loadb(text, len, 0, NULL);
		good = root && parse_json(root, &record);
	} else {
		good = strlen(text) == len && parse_legacy(text, &record);
	}
	if (good)
		err = profile_record(profile, experiment, &record);
	else
		profile->damaged++;
	json_decref(root);
	return err;
}

int coz_profile_read(struct coz_profile *profile, FILE *file)
{
	struct experiment experiment = {0};
	char text[LINE_MAX_BYTES];
	u64 good = 0, damaged;
	int err = 0;

	while (!err && fgets(text, sizeof(text), file)) {
		size_t len = strlen(text);

		if (len == sizeof(text) - 1 && text[len - 1] != '\n')
			return -EFBIG;
		while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
			text[--len] = '\0';
		if (!len)
			continue;
		damaged = profile->damaged;
		err = profile_text(profile, &experiment, text, len);
		good += profile->damaged == damaged;
		if (profile->damaged > 100 && !good)
			return -EBADMSG;
	}
	if (!err && ferror(file))
		err = errno ? -errno : -EIO;
	if (!err && !good && profile->damaged)
		err = -EBADMSG;
	return err;
}
