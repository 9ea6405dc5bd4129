/* SPDX-License-Identifier: MIT */
/* Adds the rows of profiles up by key. See report_rows.h.
 *
 * measureme's kinds are counted as its own tools do: a query that was loaded, blocked or hashed was not executed, so it
 * has no count; hashing goes on inside the query and is no time of its own; cache hits are events.
 */
#include "report_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../exporters/text.h"
#include "../util/histogram.h"

enum kind {
	KIND_SPAN, /* any that its tools give no meaning to */
	KIND_QUERY,
	KIND_BLOCKED,
	KIND_LOAD,
	KIND_HASHING,
	KIND_CACHE_HIT,
	KIND_CACHE_HIT_COUNT,
	KIND_ARTIFACT_SIZE,
};

static enum kind kind_of(const struct model_def *def, const struct report_source *source)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = {
		{"Query", KIND_QUERY},
		{"GenericActivity", KIND_QUERY},
		{"QueryBlocked", KIND_BLOCKED},
		{"IncrementalLoadResult", KIND_LOAD},
		{"IncrementalResultHashing", KIND_HASHING},
		{"QueryCacheHit", KIND_CACHE_HIT},
		{"QueryCacheHitCount", KIND_CACHE_HIT_COUNT},
		{"ArtifactSize", KIND_ARTIFACT_SIZE},
	};

	for (size_t i = 0; source->kinds && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(def->provider, kinds[i].name))
			return kinds[i].kind;
	return KIND_SPAN;
}

static u64 minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

void report_rows_clear(struct report_rows *rows)
{
	for (u32 i = 0; i < rows->nitems; i++)
		histogram_free(&rows->items[i].durations);
	if (rows->nitems)
		memset(rows->items, 0, rows->nitems * sizeof(*rows->items));
	if (rows->nevents)
		memset(rows->events, 0, rows->nevents * sizeof(*rows->events));
	if (rows->nartifacts)
		memset(rows->artifacts, 0, rows->nartifacts * sizeof(*rows->artifacts));
	rows->total_ns = 0;
}

void report_rows_free(struct report_rows *rows)
{
	report_rows_clear(rows);
	free(rows->items);
	free(rows->events);
	free(rows->artifacts);
	*rows = (struct report_rows){0};
}

/* Element AT of ITEMS, of which *N are there; new ones are zeroes. NULL: no memory. */
static void *reach(void **items, u32 *n, u32 at, size_t size)
{
	if (at >= *n) {
		u32 want = at < 64 ? 128 : at > UINT32_MAX / 2 ? UINT32_MAX : at * 2;
		char *grown = reallocarray(*items, want, size);

		if (!grown)
			return NULL;
		memset(grown + *n * size, 0, (want - *n) * size);
		*items = grown;
		*n = want;
	}
	return (char *)*items + at * size;
}

static struct report_item *item_at(struct report_rows *rows, u32 key)
{
	return reach((void **)&rows->items, &rows->nitems, key, sizeof(*rows->items));
}

const struct report_item *report_item(const struct report_rows *rows, u32 key)
{
	static const struct report_item none;

	return key < rows->nitems ? &rows->items[key] : &none;
}

static const struct report_sum no_sum;

const struct report_sum *report_event(const struct report_rows *rows, u32 event)
{
	return event < rows->nevents ? &rows->events[event] : &no_sum;
}

const struct report_sum *report_artifact(const struct report_rows *rows, u32 event)
{
	return event < rows->nartifacts ? &rows->artifacts[event] : &no_sum;
}

static int add_durations(const struct report_rows *rows, struct report_item *item,
			 const struct model_row *row)
{
	if (!row->count)
		return 0;
	if (!item->nwalls || row->min_ns < item->min_ns)
		item->min_ns = row->min_ns;
	if (row->max_ns > item->max_ns)
		item->max_ns = row->max_ns;
	item->nwalls += row->count;
	/* The mean has lost what is below a nanosecond. */
	item->walls_ns += row->open ? (unsigned __int128)row->mean_ns * row->count : row->wall_ns;
	if (!rows->durations || !row->durations)
		return 0;
	if (!item->durations && histogram_new(&item->durations))
		return -ENOMEM;
	return histogram_merge(item->durations, row->durations);
}

/* What ran on the row's thread: what threads and processes have for their self and total time. */
static void add_work(struct report_item *item, const struct model_row *row)
{
	item->v[REPORT_SELF] += row->work.busy_ns;
	item->v[REPORT_TOTAL] += row->work.busy_ns;
	item->v[REPORT_SELF_CPU] += row->work.cpu_ns;
	item->v[REPORT_CPU] += row->work.cpu_ns;
	item->v[REPORT_CPU_USER] += minus(row->work.cpu_ns, row->work.cpu_system_ns);
	item->v[REPORT_CPU_SYSTEM] += row->work.cpu_system_ns;
	item->v[REPORT_RUN_DELAY] += row->work.run_delay_ns;
	item->v[REPORT_BLOCKED] +=
		minus(minus(row->work.busy_ns, row->work.cpu_ns), row->work.run_delay_ns);
}

/* Memory is that of the row alone, where it was allocated: no other row has it too. */
static void add_memory(struct report_item *item, const struct model_row *row)
{
	item->v[REPORT_ALLOC_OBJECTS] += row->alloc_objects;
	item->v[REPORT_ALLOC_BYTES] += row->alloc_bytes;
	item->v[REPORT_INUSE_OBJECTS] += row->inuse_objects;
	item->v[REPORT_INUSE_BYTES] += row->inuse_bytes;
}

static bool has_memory(const struct model_row *row)
{
	return row->alloc_objects | row->alloc_bytes | row->inuse_objects | row->inuse_bytes;
}

static void add_times(struct report_item *item, const struct model_row *row, bool outermost)
{
	item->v[REPORT_SELF] += row->self_ns;
	item->v[REPORT_SELF_CPU] += row->self_cpu_ns;
	if (!outermost)
		return;
	item->v[REPORT_TOTAL] += row->busy_ns;
	item->v[REPORT_WALL] += row->wall_ns;
	item->v[REPORT_CPU] += row->total.cpu_ns;
	item->v[REPORT_CPU_USER] += minus(row->total.cpu_ns, row->total.cpu_system_ns);
	item->v[REPORT_CPU_SYSTEM] += row->total.cpu_system_ns;
	item->v[REPORT_RUN_DELAY] += row->total.run_delay_ns;
	item->v[REPORT_BLOCKED] +=
		minus(minus(row->busy_ns, row->total.cpu_ns), row->total.run_delay_ns);
}

static int add_row(struct report_rows *rows, struct report_index *index,
		   const struct model_row *row, const struct report_source *source)
{
	enum report_by by = rows->keys->by;
	bool by_work = by == REPORT_BY_THREAD || by == REPORT_BY_PROCESS;
	bool async = row->path->def && row->path->def->kind == MODEL_ASYNC_SPAN;
	enum kind kind = row->path->def ? kind_of(row->path->def, source) : KIND_SPAN;
	bool ran = row->count || row->open;
	bool timed = kind != KIND_HASHING || by != REPORT_BY_NAME;
	struct report_place place;
	struct report_item *item;

	/* Outside every span; or a row that tells of an async span's work alone. */
	if (!by_work && (!row->path->def || (!ran && !has_memory(row))))
		return 0;
	if (report_place(rows->keys, index, row, &place))
		return -ENOMEM;
	item = item_at(rows, place.key);
	if (!item)
		return -ENOMEM;
	item->seen = true;
	add_memory(item, row);
	if (by_work)
		add_work(item, row);
	else if (ran)
		add_times(item, row, timed && (async || !place.inner));
	item->v[REPORT_ABANDONED] += row->abandoned;
	item->v[REPORT_OPEN] += row->open;
	switch (kind) {
	case KIND_BLOCKED:
		item->v[REPORT_BLOCKED_TIME] += row->busy_ns;
		return 0;
	case KIND_LOAD:
		item->v[REPORT_LOAD_TIME] += row->self_ns;
		return 0;
	case KIND_HASHING:
		item->v[REPORT_HASHING_TIME] += row->self_ns;
		return 0;
	case KIND_QUERY:
		item->v[REPORT_CACHE_MISSES] += row->count;
		break;
	default:
		break;
	}
	item->v[REPORT_COUNT] += row->count;
	return add_durations(rows, item, row);
}

/* The sum that EVENT belongs to, by its name: that of an artifact has no kind. NULL: no memory. */
static struct report_sum *sum_of(struct report_rows *rows, const struct model_event_row *event,
				 bool artifact)
{
	const char *name = event->name ? event->name : event->def->name;
	AUTO_TEXT text = {0};
	u32 id;

	if (!artifact) {
		text_add_str(&text, event->def->provider);
		text_add_str(&text, ":");
	}
	text_add_str(&text, name);
	text_add(&text, "", 0);
	if (text.failed || strtab_add(rows->keys->events, text.data, text.len, &id))
		return NULL;
	if (artifact)
		return reach((void **)&rows->artifacts, &rows->nartifacts, id,
			     sizeof(*rows->artifacts));
	return reach((void **)&rows->events, &rows->nevents, id, sizeof(*rows->events));
}

/* The key that an event's cache hits belong to; 0: none, for an event does not tell its path. */
static int hits_key(struct report_rows *rows, struct report_index *index,
		    const struct model_event_row *event, u32 *key)
{
	switch (rows->keys->by) {
	case REPORT_BY_NAME:
		return report_key(rows->keys, 0, event->name ? event->name : event->def->name, key);
	case REPORT_BY_THREAD:
	case REPORT_BY_PROCESS:
		return report_thread_key(rows->keys, index, event->thread, key);
	case REPORT_BY_PATH:
		break;
	}
	*key = 0;
	return 0;
}

/* One input under way. */
struct adding {
	struct report_index *index;
	const struct report_source *source;
	struct pairmap counted; /* labels whose cache hits the file has counts of */
};

/* Cache hits stand in the file one by one, or once and for all in counts at its end, or both: then the counts are what
 * holds. */
static int add_hits(struct report_rows *rows, const struct adding *c,
		    const struct model_event_row *event, bool counts)
{
	struct report_item *item;
	u32 key, label;

	if (!counts &&
	    strtab_add(rows->keys->names, event->def->name, strlen(event->def->name), &label))
		return -ENOMEM;
	if (!counts && pairmap_get(&c->counted, label, 0, &label))
		return 0;
	if (hits_key(rows, c->index, event, &key))
		return -ENOMEM;
	if (!key)
		return 0;
	item = item_at(rows, key);
	if (!item)
		return -ENOMEM;
	item->seen = true;
	item->v[REPORT_CACHE_HITS] += counts ? (u64)event->sum : event->count;
	return 0;
}

static int add_event(struct report_rows *rows, const struct adding *c,
		     const struct model_event_row *event)
{
	enum kind kind = kind_of(event->def, c->source);
	struct report_sum *sum;

	if (kind == KIND_CACHE_HIT)
		return add_hits(rows, c, event, false);
	if (kind == KIND_CACHE_HIT_COUNT && event->has_sum)
		return add_hits(rows, c, event, true);
	sum = sum_of(rows, event, kind == KIND_ARTIFACT_SIZE && event->has_sum);
	if (!sum)
		return -ENOMEM;
	sum->count += event->count;
	sum->sum = (s64)((u64)sum->sum + (u64)event->sum);
	sum->has_sum |= event->has_sum;
	return 0;
}

static int add_events(struct report_rows *rows, struct adding *c, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nevents; i++) {
		const struct model_event_row *event = &profile->events[i];
		const char *name = event->def->name;
		u32 label, there;

		if (kind_of(event->def, c->source) != KIND_CACHE_HIT_COUNT || !event->has_sum)
			continue;
		if (strtab_add(rows->keys->names, name, strlen(name), &label))
			return -ENOMEM;
		if (!pairmap_get(&c->counted, label, 0, &there) &&
		    pairmap_put(&c->counted, label, 0, 1))
			return -ENOMEM;
	}
	for (size_t i = 0; i < profile->nevents; i++)
		if (add_event(rows, c, &profile->events[i]))
			return -ENOMEM;
	return 0;
}

static void add_losses(struct report_rows *rows, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nlosses; i++) {
		const struct model_loss *loss = &profile->losses[i];
		size_t at = 0;

		while (at < rows->nlosses && strcmp(rows->losses[at].name, loss->name) != 0)
			at++;
		if (at < rows->nlosses)
			rows->losses[at].count += loss->count;
		else if (at < REPLAY_LOSSES)
			rows->losses[rows->nlosses++] = *loss;
	}
}

static void adding_free(struct adding *c)
{
	report_index_free(&c->index);
	pairmap_free(&c->counted);
}

int report_rows_add(struct report_rows *rows, const struct profile *profile,
		    const struct report_source *source)
{
	CLEANUP(adding_free) struct adding c = {.source = source};
	int err = report_index_new(rows->keys, profile, source->naming, &c.index);

	for (size_t i = 0; i < profile->nrows && !err; i++)
		err = add_row(rows, c.index, &profile->rows[i], source);
	if (!err)
		err = add_events(rows, &c, profile);
	if (err)
		return err;
	add_losses(rows, profile);
	rows->metrics = rows->ninputs ? rows->metrics & profile->metrics : profile->metrics;
	rows->total_ns += source->total_ns;
	rows->ninputs++;
	return 0;
}
