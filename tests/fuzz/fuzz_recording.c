// SPDX-License-Identifier: MIT
/* Throws damaged recordings at user/replay.c and the readers below it, and checks what comes back: no span that cannot
 * be, every name whole, totals that the exporters survive. Meant for -fsanitize=address,undefined.
 *
 *   fuzz_recording [-n COUNT] [-s SEED] [FILE…]
 *
 * makes COUNT (100,000) files by changing the FILEs, or some that it records itself; the same SEED makes the same ones.
 * Most get right checksums, so that they reach what stands behind those. Prints how many were read, and what they held.
 * When it fails, the file is left in fuzz_recording.crash, or, if a sanitizer ended the program, is made again with -n
 * and -s and a debugger.
 *
 * With -DFUZZ_LIBFUZZER and -fsanitize=fuzzer it is a target for libFuzzer instead.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "../../exporters/exporter.h"
#include "../../include/recording.h"
#include "../../user/recording/replay.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER sizeof(struct recording_block_header)

static unsigned long files_read, files_refused, files_finished, files_damaged;
static unsigned long spans, events, labels, unknown, exported, snapshots;

static void check_labels(const struct model_label *items, u32 n)
{
	CHECK(n <= MODEL_MAX_LABELS);
	for (u32 i = 0; i < n; i++) {
		CHECK(strlen(items[i].key) <= RECORDING_TEXT_MAX);
		CHECK(!items[i].text || strlen(items[i].text) <= RECORDING_TEXT_MAX);
	}
	labels += n;
}

static void check_place(const struct model_thread *thread, const struct model_path *path)
{
	CHECK(thread->serial);
	CHECK(memchr(thread->comm, '\0', MODEL_COMM_LEN));
	CHECK(path->depth && path->parent && path->parent->depth == path->depth - 1);
	CHECK(path->def->kind >= MODEL_THREAD_SPAN && path->def->kind <= MODEL_EVENT);
	CHECK(strlen(path->def->provider) <= RECORDING_TEXT_MAX);
	CHECK(strlen(path->def->name) <= RECORDING_TEXT_MAX);
}

static int check_span(void *context, const struct model_span *span)
{
	const struct replay *const *replay = context;
	u64 wall = span->end_ns - span->start_ns;

	CHECK(span->start_ns <= span->end_ns);
	CHECK(span->start_ns >= replay_info(*replay)->start_ns);
	CHECK(span->self_ns <= span->busy_ns);
	CHECK(span->self_alloc.objects <= span->alloc.objects &&
	      span->self_alloc.bytes <= span->alloc.bytes);
	CHECK(span->total.cpu_ns <= span->busy_ns && span->self_cpu_ns <= span->self_ns);
	CHECK(span->flags & MODEL_ASYNC || span->busy_ns <= wall);
	check_place(span->thread, span->path);
	check_labels(span->labels, span->nlabels);
	spans++;
	return 0;
}

static int check_event(void *context, const struct model_event *event)
{
	const struct replay *const *replay = context;

	CHECK(event->time_ns >= replay_info(*replay)->start_ns);
	check_place(event->thread, event->path);
	check_labels(event->labels, event->nlabels);
	events++;
	return 0;
}

/* Every format of totals, into nothing. */
static void export_all(const struct profile *profile)
{
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	int err;
	for (size_t i = 0; exporters_all[i]; i++) {
		struct exporter e = {
			.ops = exporters_all[i], .options = EXPORT_OPTIONS_DEFAULT, .out = nowhere};

		if (e.ops->span)
			continue;
		err = e.ops->finish(&e, profile);
		CHECK(err == 0 || err == -ENODATA);
		if (e.ops->free)
			e.ops->free(&e);
	}
	exported++;
}

static void check_profile(const struct replay *replay, const struct profile *profile)
{
	CHECK(profile->end_ns >= profile->start_ns);
	for (size_t i = 0; i < profile->nrows; i++)
		if (profile->rows[i].path->def)
			check_place(profile->rows[i].thread, profile->rows[i].path);
	for (size_t i = 0; i < profile->nthreads; i++)
		CHECK(profile->threads[i].thread->start_ns >= profile->start_ns);
	for (size_t i = 0; i < profile->nrefused; i++)
		CHECK(profile->refused[i].marker && profile->refused[i].why);
	files_finished += replay_info(replay)->finished;
	files_damaged += !!profile->losses[REPLAY_DAMAGED_BLOCKS].count;
	unknown += profile->losses[REPLAY_UNKNOWN_NAMES].count;
}

static void check_heap(void *context, u64 time_ns)
{
	struct replay *const *replay = context;
	struct profile then;

	CHECK(trace_profile(replay_trace(*replay), time_ns, &then) == 0);
	snapshots++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const pid_t pids[] = {10};
	static const char *globs[] = {"app:*", "b"};
	const struct replay_filter filter = {
		.pids = pids, .npids = 1, .spans = globs, .nspans = 2, .from_ns = 5, .to_ns = 90};
	struct replay *replay = NULL;
	const struct trace_sink sink = {
		.context = &replay, .span = check_span, .event = check_event};
	static int fd = -1;
	static char path[32];
	struct profile profile;

	if (fd < 0) {
		fd = memfd_create("fuzz_recording", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		/* What is said of each file is not of interest; what a sanitizer says goes to the descriptor. */
		stderr = fopen("/dev/null", "we");
	}
	CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (replay_open(path, &replay)) {
		CHECK(!replay);
		files_refused++;
		return 0;
	}
	files_read++;
	CHECK(trace_add_sink(replay_trace(replay), &sink) == 0);
	replay_on_heap(replay, check_heap, &replay);
	CHECK(replay_run(replay, size % 8 ? NULL : &filter) == 0);
	CHECK(replay_profile(replay, &profile) == 0);
	check_profile(replay, &profile);
	if (files_read % 64 == 0)
		export_all(&profile);
	replay_free(&replay);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#define MAX_SEEDS 64

static struct elfbuf seeds[MAX_SEEDS];
static size_t nseeds;

static const struct model_def defs[] = {
	{.id = 0, .kind = MODEL_THREAD_SPAN, .provider = "app", .name = "a", .binary = "/bin/app"},
	{.id = 1, .kind = MODEL_THREAD_SPAN, .provider = "lib", .name = "b"},
	{.id = 2, .kind = MODEL_ASYNC_SPAN, .provider = "app", .name = "job"},
	{.id = 3, .kind = MODEL_EVENT, .provider = "app", .name = "tick"},
};
static const struct model_path paths[] = {
	{.id = 0},
	{.id = 2, .depth = 1, .parent = &paths[0], .def = &defs[0]},
	{.id = 3, .depth = 2, .parent = &paths[1], .def = &defs[1], .name = "b of its own"},
	{.id = 4, .depth = 1, .parent = &paths[0], .def = &defs[2]},
	{.id = 5, .depth = 2, .parent = &paths[1], .def = &defs[3]},
};
static const struct model_thread threads[] = {
	{.serial = 1, .pid = 10, .tid = 10, .comm = "one", .start_ns = 1000},
	{.serial = 2, .pid = 20, .tid = 20, .comm = "two", .start_ns = 1005},
};

static struct model_span seed_span(unsigned i)
{
	struct model_span span = {
		.thread = &threads[i / 3 % 2],
		.path = &paths[1 + i % 3],
		.start_ns = 1010 + i * 10,
		.end_ns = 1018 + i * 10,
		.busy_ns = 8,
		.self_ns = i % 2 ? 8 : 3,
		.total = {.cpu_ns = i % 4 ? 8 : 5, .vol_switches = i % 4 == 0},
		.flags = i % 5 ? 0 : MODEL_ABANDONED,
	};

	span.self_cpu_ns = span.self_ns;
	if (i % 4 == 1) {
		span.alloc = (struct model_alloc){i, i * 1000};
		span.self_alloc = (struct model_alloc){i / 2, i * 300};
	}
	if (i % 3 == 2) {
		span.flags |= i % 2 ? MODEL_ASYNC : MODEL_SEGMENT;
		span.id = 300 + i;
	}
	if (i % 7 == 0) {
		span.nlabels = 2;
		span.labels[0] = (struct model_label){.key = "user", .text = "ann"};
		span.labels[1] = (struct model_label){.key = "n", .number = -5};
	}
	return span;
}

/* So many spans and some events in blocks of so many, through the real exporter. */
static void record_seed(unsigned n, unsigned block)
{
	static const struct model_loss losses[] = {{"ring_full", "", 3}};
	static const struct model_refused refused[] = {{"app:bad at 0x10", "not a nop"}};
	const struct model_thread_row rows[] = {{&threads[0], 50, 5000}, {&threads[1], 40, 5000}};
	static const struct model_row memory[] = {
		{.thread = &threads[0], .path = &paths[0], .alloc_bytes = 300, .map_calls = 2},
		{.thread = &threads[1], .path = &paths[2], .inuse_bytes = 70, .leak_bytes = 9},
	};
	struct exporter e = {.ops = exporter_by_name("recording"),
			     .options = EXPORT_OPTIONS_DEFAULT};
	struct profile run = {.version = "1", .kernel = "6", .clock = "c", .target = "t"};
	char *bytes = NULL;
	size_t size;

	run.start_ns = run.end_ns = 1000;
	run.metrics = METRIC_WALL | METRIC_CPU | METRIC_ALLOC | METRIC_HEAP | METRIC_MMAP;
	run.losses = losses;
	run.nlosses = 1;
	e.out = open_memstream(&bytes, &size);
	CHECK(e.out && e.ops->begin(&e, &run) == 0);
	for (unsigned i = 0; i < n; i++) {
		struct model_span span = seed_span(i);
		struct model_event event = {.thread = span.thread, .path = &paths[4]};

		event.time_ns = span.end_ns;
		event.has_value = i % 2;
		event.value = -(s64)i;
		CHECK(e.ops->span(&e, &span) == 0);
		CHECK(i % 4 || e.ops->event(&e, &event) == 0);
		run.end_ns = i % block ? 1000 : 3000000000u;
		CHECK(e.ops->tick(&e, &run) == 0);
	}
	run.threads = rows;
	run.nthreads = 2;
	run.rows = memory;
	run.nrows = 2;
	run.memory = (struct model_memory){.processes = 1, .functions = 2, .sample = 512};
	CHECK(e.ops->heap(&e, &run) == 0);
	run.refused = refused;
	run.nrefused = 1;
	CHECK(e.ops->finish(&e, &run) == 0);
	fclose(e.out);
	e.ops->free(&e);
	elfbuf_add(&seeds[nseeds++], bytes, size);
	free(bytes);
}

static void read_seed(const char *path)
{
	CHECK(nseeds < MAX_SEEDS);
	fuzz_read(path, &seeds[nseeds++]);
}

/* Overwrites, inserts or takes away a few bytes of the payload that begins at AT, the end of OUT. */
static void damage_payload(struct fuzz_random *r, struct elfbuf *out, size_t at)
{
	size_t to = at + fuzz_below(r, out->size - at + 1);
	u64 number = fuzz_number(r, out->size - at, 1);
	uint8_t bytes[16];
	size_t n = 0;

	do
		bytes[n++] = (uint8_t)(number | (number > 127 ? 0x80 : 0));
	while ((number >>= 7));
	switch (fuzz_below(r, 6)) {
	case 0: /* a number that somebody may trust, in place of what is there */
		if (n > out->size - to)
			n = out->size - to;
		memcpy(out->data + to, bytes, n);
		break;
	case 1: /* … or between */
		elfbuf_add(out, bytes, n);
		memmove(out->data + to + n, out->data + to, out->size - n - to);
		memcpy(out->data + to, bytes, n);
		break;
	case 2:
		n = fuzz_below(r, 4);
		if (n > out->size - to)
			n = out->size - to;
		memmove(out->data + to, out->data + to + n, out->size - to - n);
		out->size -= n;
		break;
	case 3:
		if (to < out->size)
			out->data[to] ^= (uint8_t)(1u << fuzz_below(r, 8));
		break;
	default: /* a small number: a tag, a reference */
		if (to < out->size)
			out->data[to] = (uint8_t)fuzz_below(r, 16);
		break;
	}
}

static void damage_header(struct fuzz_random *r, struct recording_block_header *header)
{
	switch (fuzz_below(r, 6)) {
	case 0:
		header->length = (u32)fuzz_number(r, header->length, header->length);
		break;
	case 1:
		header->sequence = (u32)fuzz_number(r, header->sequence, header->sequence);
		break;
	case 2:
		header->first_ns = fuzz_number(r, header->first_ns, header->first_ns);
		break;
	case 3:
		header->last_ns = fuzz_number(r, header->last_ns, header->last_ns);
		break;
	default:
		header->kind = (u8)fuzz_below(r, 8);
		break;
	}
}

/* Appends a block of the seed, damaged or not, with checksums that fit. */
static void add_block(struct fuzz_random *r, const uint8_t *block, u32 sequence, bool damage,
		      struct elfbuf *out)
{
	const size_t from = offsetof(struct recording_block_header, crc);
	struct recording_block_header header;
	size_t at = out->size;

	memcpy(&header, block, HEADER);
	elfbuf_add(out, block, HEADER + header.length);
	header.sequence = sequence;
	for (size_t n = damage ? 1 + fuzz_below(r, 3) : 0; n; n--)
		damage_payload(r, out, at + HEADER);
	header.length = (u32)(out->size - at - HEADER);
	header.crc = (u32)crc32(0, out->data + at + HEADER, header.length);
	if (damage && !fuzz_below(r, 8))
		damage_header(r, &header);
	header.header_crc = (u32)crc32(0, (uint8_t *)&header + from, HEADER - from);
	memcpy(out->data + at, &header, HEADER);
}

/* Puts a damaged SEED into OUT: blocks changed, doubled or left out; now and then its bytes as they are. */
static void damage_seed(struct fuzz_random *r, const struct elfbuf *seed, struct elfbuf *out)
{
	size_t at = sizeof(struct recording_file_header);
	struct recording_block_header header;
	u32 sequence = 0;

	out->size = 0;
	elfbuf_add(out, seed->data, at);
	for (; at + HEADER <= seed->size; at += HEADER + header.length) {
		memcpy(&header, seed->data + at, HEADER);
		if (header.length > seed->size - at - HEADER)
			break;
		if (!fuzz_below(r, 32)) {
			sequence++;
			continue;
		}
		/* Names that are lost take all that uses them along. */
		add_block(r, seed->data + at, sequence++,
			  !fuzz_below(r, header.kind == RECORDING_NAMES ? 8 : 2), out);
		if (!fuzz_below(r, 32))
			add_block(r, seed->data + at, sequence++, false, out);
	}
	if (!fuzz_below(r, 8))
		out->data[fuzz_below(r, out->size)] ^= (uint8_t)(1u << fuzz_below(r, 8));
	if (!fuzz_below(r, 8))
		out->size = fuzz_below(r, out->size + 1);
}

/* The input that is being read. */
static struct elfbuf input;

int main(int argc, char **argv)
{
	struct fuzz_random random;
	unsigned long count = fuzz_options(argc, argv, &random);
	bool own;

	for (; optind < argc; optind++)
		read_seed(argv[optind]);
	own = !nseeds;
	if (own) {
		record_seed(3, 100);
		record_seed(8, 3);
		record_seed(20, 100);
	}
	fuzz_keep((const uint8_t *const *)&input.data, &input.size);
	for (size_t i = 0; i < nseeds; i++)
		LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
	CHECK(!own || (files_finished == files_read && !files_damaged && !unknown));
	for (unsigned long i = 0; i < count; i++) {
		damage_seed(&random, &seeds[fuzz_below(&random, nseeds)], &input);
		LLVMFuzzerTestOneInput(input.data, input.size);
	}
	printf("%lu files: %lu read, %lu of them to their end, %lu damaged; %lu refused; %lu exported\n",
	       count, files_read, files_finished, files_damaged, files_refused, exported);
	printf("%lu spans, %lu events, %lu labels, %lu of unknown names\n", spans, events, labels,
	       unknown);
	CHECK(!own || !count ||
	      (spans && events && labels && unknown && files_damaged && snapshots));
	for (size_t i = 0; i < nseeds; i++)
		free(seeds[i].data);
	free(input.data);
	return 0;
}

#endif
