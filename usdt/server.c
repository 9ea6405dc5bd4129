/* SPDX-License-Identifier: MIT */
/* A small server at work, and its own clients: the program to read first. Nothing in it but the
 * SPAN_ lines is there for the tracer.
 *
 *	server:request                   one for each connection, labels: route, bytes
 *	  server:parse                   the head of the request
 *	  server:lookup                  /item and /search: the records asked for
 *	    server:wait                  asleep, while a slow disk would read
 *	    (event) server:cache_hit     value: bytes that need not be read
 *	    (event) server:cache_miss    value: bytes read
 *	  server:wait                    /report: blocked until the client has sent the text
 *	  server:render                  records to text
 *	  server:compress
 *	  (event) server:response        labels: route, status
 *	  server:job                     async. A worker makes it for a /report and answers at once;
 *	    server:index                 the indexer works on it, then
 *	    server:compress              the packer, and the mailer closes it
 *
 * It listens on an abstract unix socket, so there is no file to clean up and no port to choose.
 * What a request asks for follows from its number, so --requests N is always the same work. At the
 * end it prints the truth lines of example.h, and `route NAME COUNT` for each route.
 */
#define _GNU_SOURCE 1 /* pthread_setname_np */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "example.h"
#include "spantrace.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

static long seconds = 10, requests, workers = 2, wait_first;

static const struct example_option options[] = {
	{"--seconds", &seconds, "seconds to run; 0: until Ctrl-C"},
	{"--requests", &requests, "requests to serve, however long it takes; 0: see --seconds"},
	{"--workers", &workers, "threads that serve, at least 1, and clients"},
	{"--wait", &wait_first, "1: wait for a line of input first"},
};

enum route { ITEM, SEARCH, REPORT, UNKNOWN, ROUTES };

static struct {
	const char *name;
	int status;
	atomic_long served;
} routes[ROUTES] = {{"/item", 200, 0}, {"/search", 200, 0}, {"/report", 202, 0}, {"/?", 404, 0}};

/* ---- The data: made up, the same in each run ---- */

#define RECORDS 4096

static struct record {
	unsigned number, score;
	char title[24];
} records[RECORDS];

#define CACHE_SLOTS 24

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct record *cache[CACHE_SLOTS];
static atomic_long hits, hit_bytes, misses, miss_bytes;

struct text {
	size_t size;
	char bytes[16384];
};

static unsigned hash(const char *bytes, size_t size, unsigned seed)
{
	unsigned h = 2166136261U ^ seed;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)bytes[i]) * 16777619U;
	return h;
}

static void make_records(void)
{
	static const char *const things[] = {"lamp", "table", "kettle", "clock", "mirror"};

	for (unsigned i = 0; i < RECORDS; i++) {
		records[i].number = i;
		snprintf(records[i].title, sizeof(records[i].title), "%s %u",
			 things[i % ARRAY_SIZE(things)], i);
	}
}

/* ---- What a request needs done ---- */

static void parse(const char *head, enum route *route, unsigned *number)
{
	SPAN_SCOPE(server, parse);

	*number = 0;
	for (*route = 0; *route < UNKNOWN; (*route)++) {
		size_t length = strlen(routes[*route].name);

		if (strncmp(head, routes[*route].name, length) == 0 && head[length] == '/') {
			*number = (unsigned)strtoul(head + length + 1, NULL, 10);
			return;
		}
	}
}

static void read_from_disk(void)
{
	SPAN_SCOPE(server, wait);

	example_sleep(1000);
}

/* One record, from the cache where it is there. */
static size_t lookup_item(unsigned number, struct record *found)
{
	const struct record *record = &records[number % RECORDS];
	const struct record **slot = &cache[number % CACHE_SLOTS];
	long bytes = (long)strlen(record->title);
	int is_hit;

	SPAN_SCOPE(server, lookup);
	pthread_mutex_lock(&cache_lock);
	is_hit = *slot == record;
	*slot = record;
	pthread_mutex_unlock(&cache_lock);
	if (is_hit) {
		SPAN_EVENT_VALUE(server, cache_hit, bytes);
		hits++;
		hit_bytes += bytes;
	} else {
		SPAN_EVENT_VALUE(server, cache_miss, bytes);
		misses++;
		miss_bytes += bytes;
		read_from_disk();
	}
	*found = *record;
	return 1;
}

static int by_score(const void *a, const void *b)
{
	const struct record *left = (const struct record *)a, *right = (const struct record *)b;

	return (left->score < right->score) - (left->score > right->score);
}

/* Every record gets a score, and half of them are sorted by it: the best go to FOUND. */
static size_t lookup_best(unsigned query, struct record *found, size_t max)
{
	struct record matches[RECORDS];
	size_t count = 0;

	SPAN_SCOPE(server, lookup);
	for (size_t i = 0; i < RECORDS; i++) {
		matches[count] = records[i];
		matches[count].score = hash(records[i].title, strlen(records[i].title), query);
		count += matches[count].score % 2;
	}
	qsort(matches, count, sizeof(*matches), by_score);
	if (count > max)
		count = max;
	memcpy(found, matches, count * sizeof(*found));
	return count;
}

static void render(const struct record *found, size_t count, struct text *page)
{
	SPAN_SCOPE(server, render);

	page->size = 0;
	for (size_t i = 0; i < count; i++)
		page->size += (size_t)snprintf(
			page->bytes + page->size, sizeof(page->bytes) - page->size,
			"<tr><td>%u</td><td>%s</td><td>%.3f</td></tr>\n", found[i].number,
			found[i].title, found[i].score / 4294967296.0);
}

/* In place: four bytes or more that were there before become a length, marked by the top bit, and
 * how far back they are. */
static void compress(struct text *text)
{
	size_t last[1024] = {0}, used = 0;
	struct text out;

	SPAN_SCOPE(server, compress);
	for (size_t at = 0; at < text->size;) {
		size_t rest = text->size - at, length = 0, back;
		size_t *seen = &last[hash(text->bytes + at, rest < 4 ? rest : 4, 0) % 1024];

		back = at - *seen;
		while (back && length < rest && length < 127 &&
		       text->bytes[at + length] == text->bytes[*seen + length])
			length++;
		*seen = at;
		if (length < 4) {
			out.bytes[used++] = text->bytes[at++];
			continue;
		}
		out.bytes[used++] = (char)(0x80 | length);
		out.bytes[used++] = (char)(back >> 8);
		out.bytes[used++] = (char)back;
		at += length;
	}
	memcpy(text->bytes, out.bytes, used);
	text->size = used;
}

/* ---- Jobs: what goes on after the answer, from thread to thread ---- */

struct job {
	struct job *next;
	struct text text;
	unsigned words[256];
};

/* A thread that does one thing to each job and hands it on. Last in, first out will do here. */
static struct stage {
	const char *name;
	void (*work)(struct job *job);
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct job *jobs;
	int closed;
} stages[3];

/* JOB NULL: no more will come. */
static void stage_put(struct stage *stage, struct job *job)
{
	pthread_mutex_lock(&stage->lock);
	if (job) {
		job->next = stage->jobs;
		stage->jobs = job;
	} else {
		stage->closed = 1;
	}
	pthread_cond_signal(&stage->wake);
	pthread_mutex_unlock(&stage->lock);
}

static struct job *stage_take(struct stage *stage)
{
	struct job *job;

	pthread_mutex_lock(&stage->lock);
	while (!stage->jobs && !stage->closed)
		pthread_cond_wait(&stage->wake, &stage->lock);
	job = stage->jobs;
	if (job)
		stage->jobs = job->next;
	pthread_mutex_unlock(&stage->lock);
	return job;
}

static void work_index(struct job *job)
{
	SPAN_SCOPE(server, index);

	for (size_t i = 0; i + 8 <= job->text.size; i++)
		job->words[hash(job->text.bytes + i, 8, 0) % ARRAY_SIZE(job->words)]++;
}

static void work_pack(struct job *job)
{
	compress(&job->text);
}

static void *run_stage(void *arg)
{
	struct stage *stage = (struct stage *)arg, *next = stage + 1;
	struct job *job;

	pthread_setname_np(pthread_self(), stage->name);
	while ((job = stage_take(stage))) {
		if (stage->work) {
			SPAN_ENTER_ID(server, job, job);
			stage->work(job);
			SPAN_EXIT_ID(server, job, job);
			stage_put(next, job);
		} else {
			SPAN_CLOSE(server, job, job);
			free(job);
		}
	}
	return NULL;
}

