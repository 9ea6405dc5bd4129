/* SPDX-License-Identifier: MIT */
/* Damaged event files through the whole reader, built with the address and undefined-behaviour sanitizers: nothing is read
 * beyond what the file holds, nothing runs for ever, and every span that comes out makes sense.
 *
 *   fuzz_mmprofdata [-n COUNT] [-s SEED] [FILE...]
 *
 * FILEs are used as seeds besides those that are made here. The same COUNT and SEED always try the same inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../exporters/exporter.h"
#include "../../user/recording/replay.h"
#include "../unit/eventfile.h"
#include "fuzz.h"

#define SEEDS_MAX  16
#define INPUT_ROOM 65536u

struct input {
	u8 data[INPUT_ROOM];
	size_t size;
};

static struct input seeds[SEEDS_MAX], input;
static const u8 *const input_data = input.data;
static size_t nseeds;
static unsigned long files_read, spans_read, events_read, labels_read;
static int file = -1;

/* --- the target --------------------------------------------------------------------------------------- */

static void check_labels(const struct model_label *labels, u32 n)
{
	CHECK(n <= MODEL_MAX_LABELS);
	for (u32 i = 0; i < n; i++) {
		CHECK(strlen(labels[i].key) < INPUT_ROOM);
		CHECK(!labels[i].text || strlen(labels[i].text) <= 65536);
	}
	labels_read += n;
}

static void check_path(const struct model_path *path)
{
	CHECK(path->def && path->def->name[0]);
	for (; path->parent; path = path->parent)
		CHECK(path->depth == path->parent->depth + 1);
}

static int take_span(void *context, const struct model_span *span)
{
	(void)context;
	CHECK(span->start_ns <= span->end_ns);
	CHECK(span->self_ns <= span->busy_ns);
	CHECK(span->thread);
	check_path(span->path);
	check_labels(span->labels, span->nlabels);
	spans_read++;
	return 0;
}

static int take_event(void *context, const struct model_event *event)
{
	(void)context;
	CHECK(event->thread);
	check_path(event->path);
	check_labels(event->labels, event->nlabels);
	events_read++;
	return 0;
}

static void read_input(void)
{
	const struct trace_sink sink = {.span = take_span, .event = take_event};
	struct replay *replay = NULL;
	struct profile profile = {0};
	char path[32];

	CHECK(ftruncate(file, 0) == 0);
	CHECK(pwrite(file, input.data, input.size, 0) == (ssize_t)input.size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (replay_open(path, &replay))
		return;
	CHECK(trace_add_sink(replay_trace(replay), &sink) == 0);
	CHECK(replay_run(replay, NULL) == 0);
	CHECK(replay_profile(replay, &profile) == 0);
	for (size_t i = 0; i < profile.nrows; i++)
		CHECK(profile.rows[i].self_ns <= profile.rows[i].busy_ns);
	files_read++;
	replay_free(&replay);
}

/* --- seeds -------------------------------------------------------------------------------------------- */

static struct input *add_seed(void)
{
	CHECK(nseeds < SEEDS_MAX);
	return &seeds[nseeds++];
}

/* What the library of measureme may write: nested, overlapping and late intervals, threads, arguments, virtual ids. */
static void build_foreign(bool old, size_t page)
{
	struct input *seed = add_seed();
	struct eventfile f;
	u64 kind, ids[4];
	char *image;

	eventfile_init(&f, old);
	eventfile_metadata(&f,
			   "{ \"start_time\": 1795225140068099112, \"process_id\": 17898, "
			   "\"cmd\": \"it\\'s \\u{e9}\", \"counter\": { \"name\": \"wall-time\", "
			   "\"units\": [[\"ns\", 1]] } }");
	kind = eventfile_string(&f, "GenericActivity");
	ids[0] = eventfile_string(&f, "outer");
	ids[1] = eventfile_joined(&f, "", ids[0],
				  "\x1e"
				  "arg one\x1e"
				  "arg2");
	ids[2] = 42;
	ids[3] = 99;
	eventfile_index(&f, 42, ids[1]);
	for (u64 i = 0; i < 12; i++)
		eventfile_event(&f, kind, ids[i & 3], 1 + i % 3, 100 * i,
				100 * i + 50 + 7 * (i & 1));
	eventfile_event(&f, kind, ids[0], 1, 100, 1000);
	eventfile_event(&f, kind, ids[1], 1, 50, 900);
	eventfile_event(&f, kind, ids[0], 1, 1500, MMP_INSTANT);
	eventfile_event(&f, kind, ids[1], 2, 12345, MMP_INTEGER);
	eventfile_event(&f, kind, ids[0], 1, 0, 2000);
	image = eventfile_image(&f, page, &seed->size);
	CHECK(seed->size <= INPUT_ROOM);
	memcpy(seed->data, image, seed->size);
	free(image);
	eventfile_free(&f);
}

static struct model_def defs[] = {
	{.id = 0, .kind = MODEL_THREAD_SPAN, .provider = "app", .name = "outer"},
	{.id = 1, .kind = MODEL_ASYNC_SPAN, .provider = "app", .name = "job;1"},
	{.id = 2, .kind = MODEL_EVENT, .provider = "app", .name = "tick"},
};

static void write_own(struct exporter *e)
{
	struct model_path root = {0},
			  outer = {.id = 2, .depth = 1, .parent = &root, .def = &defs[0]};
	struct model_path job = {.id = 3, .depth = 2, .parent = &outer, .def = &defs[1]};
	struct model_path tick = {.id = 4, .depth = 2, .parent = &outer, .def = &defs[2]};
	struct model_thread thread = {.serial = 1, .pid = 10, .tid = 11, .comm = "web"};
	struct model_thread_row row = {.thread = &thread, .inside_ns = 500, .end_ns = 2000};
	struct model_loss loss = {.name = "ring_full", .count = 3};
	struct profile run = {.version = "1",
			      .target = "x",
			      .start_ns = 1000,
			      .end_ns = 2000,
			      .metrics = METRIC_WALL,
			      .threads = &row,
			      .nthreads = 1,
			      .losses = &loss,
			      .nlosses = 1};
	struct model_span span = {
		.thread = &thread,
		.path = &job,
		.id = 7,
		.nlabels = 2,
		.labels = {{.key = "n", .number = -5}, {.key = "t", .text = "12"}}};
	struct model_event event = {
		.thread = &thread, .path = &tick, .value = 9, .has_value = true};

	CHECK(e->ops->begin(e, &run) == 0);
	for (u64 i = 0; i < 3; i++) {
		span.start_ns = 1000 + 100 * i;
		span.end_ns = span.start_ns + 150;
		span.busy_ns = 150;
		span.self_ns = 100;
		span.flags = MODEL_SEGMENT;
		CHECK(e->ops->span(e, &span) == 0);
		event.time_ns = span.end_ns;
		event.value = i ? -5 : 9;
		CHECK(e->ops->event(e, &event) == 0);
		span.flags = MODEL_ASYNC | MODEL_OPEN;
		CHECK(e->ops->span(e, &span) == 0);
	}
	span.path = &outer;
	span.flags = MODEL_ABANDONED;
	span.start_ns = 1000;
	CHECK(e->ops->span(e, &span) == 0);
	span.start_ns = span.end_ns;
	CHECK(e->ops->span(e, &span) == 0);
	CHECK(e->ops->finish(e, &run) == 0);
	e->ops->free(e);
}

/* What spantrace writes. */
static void build_own(void)
{
	struct input *seed = add_seed();
	struct exporter e = {.ops = exporter_by_name("mm_profdata"),
			     .options = EXPORT_OPTIONS_DEFAULT};
	char *bytes = NULL;

	e.out = open_memstream(&bytes, &seed->size);
	CHECK(e.out);
	write_own(&e);
	fclose(e.out);
	CHECK(seed->size <= INPUT_ROOM);
	memcpy(seed->data, bytes, seed->size);
	free(bytes);
}

static void read_seed(const char *path)
{
	struct input *seed = add_seed();
	FILE *from = fopen(path, "re");

	if (!from) {
		fprintf(stderr, "fuzz_mmprofdata: cannot read %s\n", path);
		exit(2);
	}
	seed->size = fread(seed->data, 1, INPUT_ROOM, from);
	fclose(from);
}

/* --- damage ------------------------------------------------------------------------------------------- */

/* Where a page begins, of those that can be walked to; 0 for none. */
static size_t some_page(struct fuzz_random *r)
{
	size_t at = MMP_HEADER_SIZE, stop = fuzz_below(r, 8), page = 0;

	for (; at + MMP_PAGE_HEADER <= input.size && stop; stop--) {
		page = at;
		at += MMP_PAGE_HEADER + mmp_get32(input.data + at + 1);
	}
	return page;
}

static void set_field(struct fuzz_random *r, size_t at, size_t width)
{
	u64 value = 0;

	if (at > input.size || width > input.size - at)
		return;
	memcpy(&value, input.data + at, width);
	value = fuzz_number(r, input.size, value);
	memcpy(input.data + at, &value, width);
}

/* Ids, addresses and times where ids, addresses and times stand. */
static void set_in_page(struct fuzz_random *r)
{
	static const size_t fields[] = {0, 8, 16, 20, 24, 28};
	size_t page = some_page(r), field = fuzz_below(r, 6);
	u64 id = MMP_FIRST_REGULAR + fuzz_below(r, 700);

	if (!page)
		return;
	page += MMP_PAGE_HEADER + MMP_HEADER_SIZE + 32 * fuzz_below(r, 24);
	if (field < 2 && page + 16 <= input.size && fuzz_below(r, 2))
		memcpy(input.data + page + fields[field], &id, sizeof(id));
	else
		set_field(r, page + fields[field], field < 2 ? 8 : 4);
}

static void damage(struct fuzz_random *r)
{
	size_t at = fuzz_below(r, input.size), n = fuzz_below(r, 40);

	switch (fuzz_below(r, 10)) {
	case 0:
		input.data[at] ^= (u8)(1u << fuzz_below(r, 8));
		break;
	case 1:
		input.data[at] = (u8)fuzz_next(r);
		break;
	case 2: /* what ends strings, and begins references and arguments */
		input.data[at] = (u8) "\xff\xfe\x1e#=\";@"[fuzz_below(r, 8)];
		break;
	case 3:
		set_field(r, some_page(r) + 1, 4);
		break;
	case 4:
		input.data[some_page(r)] = (u8)fuzz_below(r, 5);
		break;
	case 5: /* a piece somewhere else */
		if (at + n < input.size)
			memmove(input.data + fuzz_below(r, input.size - n), input.data + at, n);
		break;
	case 6:
		if (fuzz_below(r, 4) == 0)
			input.size = at;
		break;
	default:
		set_in_page(r);
	}
}
int main(int argc, char **argv)
{
	struct fuzz_random random;
	unsigned long count = fuzz_options(argc, argv, &random);

	build_foreign(false, 1 << 18);
	build_foreign(true, 1 << 18);
	build_foreign(false, 200);
	build_own();
	build_own(); /* twice as likely */
	for (; optind < argc; optind++)
		read_seed(argv[optind]);
	/* What is said of damaged files, but not what the sanitizers say. */
	stderr = fopen("/dev/null", "we");
	CHECK(stderr);
	file = memfd_create("fuzz", MFD_CLOEXEC);
	CHECK(file >= 0);
	fuzz_keep(&input_data, &input.size);
	for (size_t i = 0; i < nseeds; i++) {
		input = seeds[i];
		read_input();
	}
	CHECK(files_read == nseeds);
	for (unsigned long i = 0; i < count; i++) {
		const struct input *seed = &seeds[fuzz_below(&random, nseeds)];

		memcpy(input.data, seed->data, seed->size);
		input.size = seed->size;
		for (size_t n = 1 + fuzz_below(&random, 4); n && input.size; n--)
			damage(&random);
		read_input();
	}
	printf("%lu files: %lu read; %lu spans, %lu events, %lu labels\n", count, files_read,
	       spans_read, events_read, labels_read);
	close(file);
	fclose(stderr);
	return 0;
}
