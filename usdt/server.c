/* SPDX-License-Identifier: MIT */
/* A small server at work, with its own clients: the example to read first. Only the SPAN_ lines are
 * there for a tracer.
 *
 *	server:request                   one for each connection; label: route
 *	  server:parse
 *	  server:lookup                  item and search
 *	    (event) server:cache_hit     value: bytes that need not be read
 *	    (event) server:cache_miss    value: bytes to read
 *	    server:wait                  after a miss: asleep, as if a slow disk read
 *	  server:wait                    report: blocked until the client has sent its text
 *	  server:render                  item and search
 *	  server:compress                search
 *	  (event) server:response        labels: route, status
 *	  server:job                     async; label: report. A report is answered at once, by the
 *	    server:index                 worker that makes the job; the indexer works on it, then
 *	    server:compress              the packer; the mailer closes it
 *
 * At the end it prints the truth lines that example.h describes, and `route NAME COUNT` for each
 * route. The same --requests give the same counts, but for what the cache holds when.
 */
#define _GNU_SOURCE 1 /* pthread_setname_np */
#include <pthread.h>
#include <signal.h>

#include "catalogue.h"
#include "clients.h"
#include "example.h"
#include "spantrace.h"

static long seconds = 10, requests, workers = 2, wait_first;

static const struct example_option options[] = {
	{"--seconds", &seconds, "seconds to run; 0: until Ctrl-C"},
	{"--requests", &requests, "requests to serve, however long it takes; 0: see --seconds"},
	{"--workers", &workers, "threads that serve, and as many clients; at least 1"},
	{"--wait", &wait_first, "1: wait for a line of input first"},
};

static int listener;

__attribute__((noreturn)) static void fail(int err, const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, strerror(err));
	exit(1);
}

static pthread_t start(const char *name, void *(*run)(void *), void *arg)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	if (err)
		fail(err, "cannot start a thread");
	pthread_setname_np(thread, name);
	return thread;
}

/* ---- Jobs: what goes on after the answer, from thread to thread ---- */

struct job {
	struct text text;
	unsigned words[256];
};

static void work_index(struct job *job)
{
	SPAN_SCOPE(server, index);

	for (size_t i = 0; i + 8 <= job->text.size; i++)
		job->words[catalogue_hash(job->text.bytes + i, 8, 0) % 256]++;
}

static void compress(struct text *text)
{
	SPAN_SCOPE(server, compress);

	catalogue_compress(text);
}

static void work_pack(struct job *job)
{
	compress(&job->text);
}

#define STAGES 3

/* A thread that takes jobs from its pipe, does one thing to each and hands it to the next. */
static struct stage {
	const char *name;
	void (*work)(struct job *job); /* NULL: the last stage */
	int pipe[2];
	pthread_t thread;
} stages[STAGES] = {{.name = "indexer", .work = work_index},
		    {.name = "packer", .work = work_pack},
		    {.name = "mailer"}};

static void stage_put(struct stage *stage, struct job *job)
{
	if (write(stage->pipe[1], &job, sizeof(job)) != sizeof(job))
		fail(errno, stage->name);
}

static void *run_stage(void *arg)
{
	struct stage *stage = (struct stage *)arg;
	struct job *job;

	while (read(stage->pipe[0], &job, sizeof(job)) == sizeof(job)) {
		if (stage->work) {
			/* Its address will do as the id: nothing else has it until it is freed. */
			SPAN_ENTER_ID(server, job, job);
			stage->work(job);
			SPAN_EXIT_ID(server, job, job);
			stage_put(stage + 1, job);
		} else {
			SPAN_CLOSE(server, job, job);
			free(job);
		}
	}
	return NULL;
}

/* ---- Requests ---- */

#define CACHE_SLOTS 24

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct record *cache[CACHE_SLOTS];
static atomic_long hits, hit_bytes, misses, miss_bytes;

static enum route find_route(const char *head)
{
	for (int i = ITEM; i < UNKNOWN; i++) {
		if (strncmp(head, routes[i].name, strlen(routes[i].name)) == 0)
			return (enum route)i;
	}
	return UNKNOWN;
}

static enum route parse(const char *head, unsigned *number)
{
	SPAN_SCOPE(server, parse);

	*number = (unsigned)strtoul(head + strcspn(head, "0123456789"), NULL, 10);
	return find_route(head);
}

/* The record of that number and those after it; the cache decides whether they must be read. */
static size_t lookup_item(unsigned number, struct record *found)
{
	const struct record *record = &catalogue[number % CATALOGUE_RECORDS];
	const struct record **slot = &cache[number % CACHE_SLOTS];
	long bytes = CATALOGUE_PAGE * sizeof(*found);
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
		SPAN_SCOPE(server, wait);
		example_sleep(1000);
	}
	for (unsigned i = 0; i < CATALOGUE_PAGE; i++)
		found[i] = catalogue[(number + i) % CATALOGUE_RECORDS];
	return CATALOGUE_PAGE;
}

static size_t lookup_best(unsigned query, struct record *found)
{
	SPAN_SCOPE(server, lookup);

	return catalogue_search(query, found);
}

static void render(const struct record *found, size_t count, struct text *page)
{
	SPAN_SCOPE(server, render);

	catalogue_print(found, count, page);
}

static void take_report(int fd, unsigned number)
{
	struct job *job = (struct job *)calloc(1, sizeof(*job));
	ssize_t size;

	if (!job)
		fail(ENOMEM, "no memory for a job");
	{
		SPAN_SCOPE(server, wait);
		size = recv(fd, job->text.bytes, REPORT_SIZE, MSG_WAITALL);
	}
	job->text.size = size > 0 ? (size_t)size : 0;
	SPAN_NEW_ARGS(server, job, job, report, number);
	stage_put(&stages[0], job);
}

static void serve(int fd, const char *head)
{
	struct record found[CATALOGUE_PAGE];
	struct text page = {0};
	enum route route;
	unsigned number;
	char status[4];

	/* The value of a label is worked out only while a tracer looks. */
	SPAN_SCOPE_ARGS(server, request, route, routes[find_route(head)].name);
	route = parse(head, &number);
	if (route == ITEM) {
		render(found, lookup_item(number, found), &page);
	} else if (route == SEARCH) {
		render(found, lookup_best(number, found), &page);
		compress(&page);
	} else if (route == REPORT) {
		take_report(fd, number);
	}
	snprintf(status, sizeof(status), "%d", routes[route].status);
	send(fd, status, 3, MSG_NOSIGNAL);
	send(fd, page.bytes, page.size, MSG_NOSIGNAL);
	routes[route].served++;
	SPAN_EVENT_ARGS(server, response, route, routes[route].name, status, routes[route].status);
}

static void *run_worker(void *unused)
{
	char head[HEAD_SIZE];
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (recv(fd, head, sizeof(head), MSG_WAITALL) == sizeof(head))
			serve(fd, head);
		close(fd);
	}
	return unused;
}

/* ---- All of it ---- */

static void print_truth(void)
{
	long item = routes[ITEM].served, search = routes[SEARCH].served;
	long report = routes[REPORT].served, all = item + search + report + routes[UNKNOWN].served;

	for (int i = 0; i < ROUTES; i++)
		printf("route %s %ld\n", routes[i].name, (long)routes[i].served);
	printf("truth server:request %ld\n", all);
	printf("truth server:request;server:parse %ld\n", all);
	printf("truth server:request;server:lookup %ld\n", item + search);
	printf("truth server:request;server:lookup;server:wait %ld\n", (long)misses);
	printf("truth server:request;server:wait %ld\n", report);
	printf("truth server:request;server:render %ld\n", item + search);
	printf("truth server:request;server:compress %ld\n", search);
	printf("truth server:request;server:job %ld\n", report);
	printf("truth server:request;server:job;server:index %ld\n", report);
	printf("truth server:request;server:job;server:compress %ld\n", report);
	printf("event server:request;server:response %ld 0\n", all);
	printf("event server:request;server:lookup;server:cache_hit %ld %ld\n", (long)hits,
	       (long)hit_bytes);
	printf("event server:request;server:lookup;server:cache_miss %ld %ld\n", (long)misses,
	       (long)miss_bytes);
}

static void stop(int signal)
{
	(void)signal;
	clients.stopping = 1;
}

int main(int argc, char **argv)
{
	pthread_t *threads;

	example_options(argc, argv, options, sizeof(options) / sizeof(*options));
	if (!workers)
		example_usage(argv[0], options, sizeof(options) / sizeof(*options));
	threads = (pthread_t *)calloc((size_t)workers, 2 * sizeof(*threads));
	if (!threads)
		fail(ENOMEM, "no memory for the threads");
	catalogue_init();
	listener = clients_listen();
	if (listener < 0)
		fail(errno, "cannot listen");
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	example_wait(wait_first);
	clients.requests = requests;
	if (!requests && seconds)
		clients.deadline = example_now() + seconds * 1000000000LL;

	for (int i = 0; i < STAGES; i++) {
		if (pipe(stages[i].pipe) != 0)
			fail(errno, "cannot make a pipe");
		stages[i].thread = start(stages[i].name, run_stage, &stages[i]);
	}
	for (long i = 0; i < workers; i++) {
		threads[i] = start("worker", run_worker, NULL);
		threads[workers + i] = start("client", clients_run, NULL);
	}

	/* First the clients end, then what serves them, then what the jobs go through. */
	for (long i = 0; i < workers; i++)
		pthread_join(threads[workers + i], NULL);
	shutdown(listener, SHUT_RDWR);
	for (long i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < STAGES; i++) {
		close(stages[i].pipe[1]);
		pthread_join(stages[i].thread, NULL);
	}
	print_truth();
	if (clients.failed)
		fprintf(stderr, "server: %ld requests had a wrong answer\n", (long)clients.failed);
	free(threads);
	return clients.failed ? 1 : 0;
}
