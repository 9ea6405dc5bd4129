/* SPDX-License-Identifier: MIT */
/* Which option it is. What its value may say stands in cli_values.c. See cli_options.h. */
#include "cli_options.h"

#include <errno.h>

#include "cli_impl.h"

const struct cli_option cli_options[] = {
	{'p', "pid", "PID[,PID…]", "these processes; repeatable", FOR_RUNS | FOR_LIST},
	{'a', "all", NULL, "every process on the machine", FOR_RUNS | FOR_LIST},
	{OPT_CGROUP, "cgroup", "PATH", "-a, but only the processes in this cgroup (v2) and below",
	 FOR_RUNS},
	{'d', "duration", "TIME", "stop after that long: 10s, 500ms, 2m", FOR_RUNS},
	{'o', "output", "[FORMAT[,KEY=VALUE…]:]PATH",
	 "write there; repeatable; `-` is stdout (default: summary:-)", FOR_TRACE},
	{'o', "output", "[FORMAT[,KEY=VALUE…]:]PATH",
	 "write there; repeatable (default: recording:" RECORD_PATH ")", FOR_RECORD},
	{OPT_MAX_SIZE, "max-size", "SIZE", "end a file before it is larger: 100M", FOR_RECORD},
	{OPT_MAX_TIME, "max-time", "TIME", "end a file after that long: 1h", FOR_RECORD},
	{OPT_KEEP, "keep", "N", "keep N files besides the current one (default: all)", FOR_RECORD},
	{OPT_LAST, "last", "TIME",
	 "keep that much in memory; write it on SIGUSR1, a trigger and at the end", FOR_RECORD},
	{OPT_TRIGGER, "trigger", "NAME>TIME",
	 "… when a span takes longer: 'app:job>50ms'; repeatable", FOR_RECORD},
	{'m', "metrics", "LIST",
	 "what to measure: wall,cpu,alloc,heap,mmap or all (default: wall,cpu)", FOR_RUNS},
	{'P', "provider", "GLOB", "only these providers, or PROVIDER:SPAN; repeatable",
	 FOR_RUNS | FOR_LIST},
	{'s', "span", "NAME=START..END[,END…][@ARG]",
	 "a pair of markers provider:name; @ARG, from 0, is the id", FOR_RUNS | FOR_LIST},
	{OPT_RULES, "rules", "FILE", "more rules for markers; see README; repeatable",
	 FOR_RUNS | FOR_LIST},
	{'x', "exclude", "GLOB", "leave out these spans and events; repeatable",
	 FOR_RUNS | FOR_LIST},
	{OPT_BY, "by", "KEY", "split rows by this label; repeatable", FOR_RUNS},
	{OPT_INTERVAL, "interval", "TIME",
	 "profiles of each such stretch, not one of all: -o pprof:FILE", FOR_BOTH},
	{OPT_INTERVAL, "interval", "TIME", "show the last so long, that often (default 2s)",
	 FOR_TOP},
	{OPT_NO_FOLLOW, "no-follow", NULL, "not the children of the processes", FOR_RUNS},
	{OPT_RING_SIZE, "ring-size", "SIZE", "of each CPU's ring buffer (default 8M)", FOR_RUNS},
	{OPT_ROWS, "rows", "N", "threads times paths to add up in the kernel (default 32768)",
	 FOR_RUNS},
	{OPT_STATS, "stats", NULL, "print at the end what the trace itself has cost", FOR_RUNS},
	{OPT_STREAM, "stream", NULL,
	 "every span to the loader, also where the kernel could add them up", FOR_RUNS},
	{OPT_BATCHED, "batched", NULL,
	 "batched spans, also of programs and libraries that come later", FOR_RUNS},
	{OPT_SAMPLE, "sample", "SHARE",
	 "only that share of the root spans, by chance, and what runs inside: 0.01, 1%", FOR_RUNS},
	{OPT_MAX_OVERHEAD, "max-overhead", "SHARE",
	 "take out the hottest probes where they cost more of a process's CPU: 5%", FOR_RUNS},
	{OPT_ALLOCATOR, "allocator", "FILE[:PREFIX]",
	 "FILE has PREFIXmalloc, PREFIXfree and so on; repeatable", FOR_RUNS},
	{OPT_ALLOC_SAMPLE, "alloc-sample", "SIZE",
	 "one allocation in that many bytes, on average, for all", FOR_RUNS},
	{OPT_HEAP_OBJECTS, "heap-objects", "N",
	 "live blocks to follow at one time (default 1048576)", FOR_RUNS},
	{OPT_HEAP_INTERVAL, "heap-interval", "TIME",
	 "a snapshot of the live heap that often (default 10s)", FOR_RUNS},
	{OPT_LEAKS, "leaks", "TIME", "show what was not freed for that long", FOR_BOTH},
	{OPT_OTLP, "otlp", "URL", "spans to this collector as traces: -o otlp:URL", FOR_BOTH},
	{OPT_PYROSCOPE, "pyroscope", "URL",
	 "profiles to this server, one every --interval (default 10s)", FOR_BOTH},
	{OPT_APP, "app", "NAME", "what the server calls it (default: each process by its name)",
	 FOR_BOTH},
	{OPT_TAG, "tag", "KEY=VALUE", "a label of all that the server gets; repeatable", FOR_BOTH},
	{OPT_SPOOL, "spool", "DIR", "keep there what a server does not take yet", FOR_BOTH},
	{OPT_SPOOL_SIZE, "spool-size", "SIZE", "… at most so much of it (default 256M)", FOR_BOTH},
	{OPT_PUSH_USER, "push-user", "NAME", "basic authentication at servers", FOR_BOTH},
	{OPT_PUSH_PASSWORD_FILE, "push-password-file", "FILE",
	 "… its password (default: $SPANTRACE_PUSH_PASSWORD)", FOR_BOTH},
	{OPT_PUSH_TOKEN_FILE, "push-token-file", "FILE",
	 "a bearer token for servers (default: $SPANTRACE_PUSH_TOKEN)", FOR_BOTH},
	{OPT_PUSH_TENANT, "push-tenant", "NAME", "the tenant: X-Scope-OrgID", FOR_BOTH},
	{OPT_PUSH_HEADER, "push-header", "NAME:VALUE",
	 "a header for servers; NAME:@FILE for a secret; repeatable", FOR_BOTH},
	{OPT_PUSH_CA, "push-ca", "FILE", "trust these certificates, and no others", FOR_BOTH},
	{OPT_PUSH_TIMEOUT, "push-timeout", "TIME",
	 "give a server that long for an answer (default 30s)", FOR_BOTH},
	{OPT_PUSH_WAIT, "push-wait", "TIME", "at the end wait that long for servers (default 5s)",
	 FOR_BOTH},
	{OPT_CONFIG, "config", "FILE", "more options, as lines of `name = value`; see README",
	 FOR_BOTH},
	{OPT_LISTEN, "listen", "[ADDRESS:]PORT", "/metrics for Prometheus, and /healthz, over HTTP",
	 FOR_BOTH},
	{OPT_JSON, "json", NULL, "JSON to stdout", FOR_BOTH | FOR_LIST},
	{OPT_LOG_LEVEL, "log-level", "LEVEL",
	 "what to say: error, warn, info or debug (default: warn)", FOR_RUNS | FOR_LIST},
	{'q', "quiet", NULL, "errors only", FOR_RUNS | FOR_LIST},
	{'v', "verbose", NULL, "more; twice: everything", FOR_RUNS | FOR_LIST},
	{OPT_VERSION, "version", NULL, "print the version", FOR_TRACE},
	{'h', "help", NULL, "print this", FOR_RUNS | FOR_LIST},
};

const size_t cli_noptions = sizeof(cli_options) / sizeof(cli_options[0]);

/* Those of delivery to servers. */
static int take_push_option(struct options *o, int letter, const char *arg)
{
	switch (letter) {
	case OPT_OTLP:
		return cli_value_otlp(o, arg);
	case OPT_PYROSCOPE:
		return cli_value_url(&o->pyroscope, "--pyroscope", arg);
	case OPT_APP:
		return cli_value_app(o, arg);
	case OPT_TAG:
		return cli_value_tag(o, arg);
	case OPT_SPOOL:
		o->push.spool = arg;
		return 0;
	case OPT_SPOOL_SIZE:
		return cli_value_spool_size(o, arg);
	case OPT_PUSH_USER:
		o->push.user = arg;
		return 0;
	case OPT_PUSH_PASSWORD_FILE:
		o->push.password_file = arg;
		return 0;
	case OPT_PUSH_TOKEN_FILE:
		o->push.token_file = arg;
		return 0;
	case OPT_PUSH_TENANT:
		o->push.tenant = arg;
		return 0;
	case OPT_PUSH_HEADER:
		return cli_value_push_header(o, arg);
	case OPT_PUSH_CA:
		o->push.ca_file = arg;
		return 0;
	case OPT_PUSH_TIMEOUT:
		return cli_value_time(&o->push.timeout_ns, "--push-timeout", 1000000, arg);
	case OPT_PUSH_WAIT:
		return cli_value_time(&o->push_wait_ns, "--push-wait", 0, arg);
	}
	return -EINVAL;
}

int cli_take_option(void *context, int letter, const char *arg)
{
	struct options *o = context;

	switch (letter) {
	case 'p':
		return cli_value_pids(o, arg);
	case 'a':
		o->mode = MODE_ALL;
		return 0;
	case OPT_CGROUP:
		o->mode = MODE_ALL;
		o->cgroup = arg;
		return 0;
	case 'd':
		return cli_value_duration(o, arg);
	case 'o':
		return cli_value_output(o, arg);
	case 'm':
		return cli_value_metrics(o, arg);
	case 'P':
		return cli_value_glob(&o->providers, &o->nproviders, "-P", arg);
	case 's':
		return cli_value_span(o, arg);
	case 'x':
		return cli_value_glob(&o->excludes, &o->nexcludes, "-x", arg);
	case OPT_RULES:
		return cli_value_rules(o, arg);
	case OPT_BY:
		return cli_value_by(o, arg);
	case OPT_INTERVAL:
		return cli_value_time(&o->interval_ns, "--interval", INTERVAL_MIN_NS, arg);
	case OPT_NO_FOLLOW:
		o->follow = false;
		return 0;
	case OPT_RING_SIZE:
		return cli_value_ring_size(o, arg);
	case OPT_ROWS:
		return cli_value_rows(o, arg);
	case OPT_STATS:
		o->stats = true;
		return 0;
	case OPT_ALLOCATOR:
		return cli_value_allocator(o, arg);
	case OPT_ALLOC_SAMPLE:
		return cli_value_alloc_sample(o, arg);
	case OPT_HEAP_OBJECTS:
		return cli_value_heap_objects(o, arg);
	case OPT_HEAP_INTERVAL:
		return cli_value_time(&o->heap_interval_ns, "--heap-interval", 10000000, arg);
	case OPT_LEAKS:
		return cli_value_time(&o->leaks_ns, "--leaks", 1, arg);
	case OPT_SAMPLE:
		return cli_value_sample(o, arg);
	case OPT_MAX_OVERHEAD:
		return cli_value_share(&o->limit_ppb, "--max-overhead", "5%", arg);
	case OPT_STREAM:
		o->stream = true;
		return 0;
	case OPT_BATCHED:
		o->batched = true;
		return 0;
	case OPT_CONFIG: /* has been read by now */
		o->config = arg;
		return 0;
	case OPT_LISTEN:
		return cli_value_listen(o, arg);
	case OPT_LOG_LEVEL:
		return cli_value_log_level(o, arg);
	case OPT_JSON:
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	case 'h':
		o->action = ACTION_HELP;
		return 1;
	case OPT_MAX_SIZE:
		return cli_value_max_size(o, arg);
	case OPT_MAX_TIME:
		return cli_value_time(&o->parts.max_ns, "--max-time", 1, arg);
	case OPT_KEEP:
		return cli_value_keep(o, arg);
	case OPT_LAST:
		return cli_value_time(&o->parts.last_ns, "--last", LAST_MIN_NS, arg);
	case OPT_TRIGGER:
		return cli_value_trigger(o, arg);
	case OPT_VERSION:
		o->action = ACTION_VERSION;
		return 1;
	}
	return take_push_option(o, letter, arg);
}
