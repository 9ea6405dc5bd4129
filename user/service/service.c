/* SPDX-License-Identifier: MIT */
/* See service.h. */
#include "service.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "listen.h"
#include "notify.h"

#define TELL_NS 1000000000ULL

struct service {
	struct listen *listen; /* NULL: nobody listens */
	struct names names;
	struct utsname uts;
	u64 start_realtime_ns;
	u64 told_ns;
	u64 reloads, refused;
	bool reload_ok;
	bool reloading;
	/* of traces that have ended */
	u64 lost_before[SERVICE_LOSSES_MAX];
	struct push_counts pushed_before[METRICS_PUSHES];
};

int service_new(const struct options *options, struct service **out)
{
	struct service *service = calloc(1, sizeof(*service));
	struct timespec now;
	int err = 0;

	if (!service)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	service->start_realtime_ns = (u64)now.tv_sec * 1000000000ULL + (u64)now.tv_nsec;
	service->reload_ok = true;
	names_init(&service->names);
	uname(&service->uts);
	if (options->listen.on)
		err = listen_new(&options->listen, &service->listen);
	if (err) {
		free(service);
		return err;
	}
	if (service->listen)
		log_info("listening on %s/metrics", listen_url(service->listen));
	*out = service;
	return 0;
}

void service_free(struct service **out)
{
	struct service *service = *out;

	if (!service)
		return;
	*out = NULL;
	listen_free(&service->listen);
	names_clear(&service->names);
	free(service);
}

int service_listen(struct service *service, struct trace *trace)
{
	return service->listen ? names_listen(&service->names, trace) : 0;
}

void service_ready(struct service *service)
{
	service->told_ns = 0; /* what is new is told at once */
	if (service->reloading)
		service_reloaded(service, true);
	notify_send("READY=1");
}

bool service_due(const struct service *service, u64 now_ns)
{
	return now_ns - service->told_ns >= TELL_NS;
}

static u64 own_cpu(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return 0;
	return ((u64)usage.ru_utime.tv_sec + (u64)usage.ru_stime.tv_sec) * 1000000000ULL +
	       ((u64)usage.ru_utime.tv_usec + (u64)usage.ru_stime.tv_usec) * 1000ULL;
}

static u64 own_memory(void)
{
	AUTO_FCLOSE FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long size, resident;

	if (!statm || fscanf(statm, "%lu %lu", &size, &resident) != 2)
		return 0;
	return (u64)resident * (u64)sysconf(_SC_PAGESIZE);
}

static u64 own_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	u64 n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n > 3 ? n - 3 : 0; /* not `.`, `..` and the one that reads them */
}

static void add_pushed(struct push_counts *sum, const struct push_counts *counts)
{
	sum->sent += counts->sent;
	sum->refused += counts->refused;
	sum->dropped += counts->dropped;
	sum->left_out += counts->left_out;
	sum->retries += counts->retries;
	sum->sent_bytes += counts->sent_bytes;
}

/* TRACE with the losses and pushes of all that were before it, LOSSES being where the former are. */
static struct metrics_trace with_before(const struct service *service,
					const struct metrics_trace *trace,
					struct model_loss losses[SERVICE_LOSSES_MAX])
{
	struct metrics_trace whole = *trace;

	if (whole.nlosses > SERVICE_LOSSES_MAX)
		whole.nlosses = SERVICE_LOSSES_MAX;
	for (size_t i = 0; i < whole.nlosses; i++) {
		losses[i] = trace->losses[i];
		losses[i].count += service->lost_before[i];
	}
	whole.losses = losses;
	for (size_t i = 0; i < whole.npushes; i++)
		add_pushed(&whole.pushes[i].counts,
			   &service->pushed_before[whole.pushes[i].server]);
	return whole;
}

static void publish(struct service *service, const struct metrics_trace *trace, u64 now_ns)
{
	struct model_loss losses[SERVICE_LOSSES_MAX];
	const struct metrics_trace whole = with_before(service, trace, losses);
	const struct metrics_run run = {
		.version = SPANTRACE_VERSION,
		.kernel = service->uts.release,
		.start_realtime_ns = service->start_realtime_ns,
		.reloads = service->reloads,
		.reloads_refused = service->refused,
		.reload_ok = service->reload_ok,
		.cpu_ns = own_cpu(),
		.memory_bytes = own_memory(),
		.files = own_files(),
		.names = &service->names,
	};
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	metrics_write(out, &run, &whole);
	/* Without memory for all of it the text before stays. */
	if (fclose(out) == 0)
		listen_publish(service->listen, &text, len, now_ns);
}

void service_tell(struct service *service, const struct metrics_trace *trace, const char *why,
		  u64 now_ns)
{
	service->told_ns = now_ns;
	if (getenv("WATCHDOG_USEC"))
		notify_send("WATCHDOG=1");
	if (!service->listen)
		return;
	publish(service, trace, now_ns);
	listen_health(service->listen, why, now_ns);
	listen_tick(service->listen, now_ns);
}

void service_trace_ended(struct service *service, const struct metrics_trace *trace)
{
	for (size_t i = 0; i < trace->nlosses && i < SERVICE_LOSSES_MAX; i++)
		service->lost_before[i] += trace->losses[i].count;
	for (size_t i = 0; i < trace->npushes; i++)
		add_pushed(&service->pushed_before[trace->pushes[i].server],
			   &trace->pushes[i].counts);
}

void service_reloading(struct service *service)
{
	service->reloading = true;
}

void service_reloaded(struct service *service, bool taken)
{
	service->reloading = false;
	service->reload_ok = taken;
	service->reloads += taken;
	service->refused += !taken;
}
