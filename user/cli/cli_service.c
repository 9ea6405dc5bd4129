/* SPDX-License-Identifier: MIT */
/* The options of a trace that runs as a service: where it listens, what it logs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../util/cleanup.h"
#include "../util/log.h"
#include "cli_impl.h"

#define PUBLIC ",public"

static bool is_loopback(const struct options_listen *listen)
{
	if (listen->address.any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&listen->address.v6.sin6_addr);
	return ntohl(listen->address.v4.sin_addr.s_addr) >> 24 == 127;
}

/* HOST is an address, "localhost", or empty, which is the same; names are not looked up. */
static bool set_address(struct options_listen *listen, const char *host, u16 port)
{
	size_t len = strlen(host);
	char inner[INET6_ADDRSTRLEN];

	if (!len || !strcmp(host, "localhost"))
		host = "127.0.0.1";
	listen->address.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (inet_pton(AF_INET, host, &listen->address.v4.sin_addr) == 1)
		return true;
	if (len < 2 || len - 2 >= sizeof(inner) || host[0] != '[' || host[len - 1] != ']')
		return false;
	memcpy(inner, host + 1, len - 2);
	inner[len - 2] = '\0';
	listen->address.v6 =
		(struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
	return inet_pton(AF_INET6, inner, &listen->address.v6.sin6_addr) == 1;
}

int cli_value_listen(struct options *o, const char *text)
{
	AUTO_FREE char *copy = strdup(text);
	struct options_listen listen = {.on = true, .text = text};
	char *word, *colon, *port, *end;
	unsigned long number = 0;

	if (!copy)
		return -ENOMEM;
	word = strchr(copy, ',');
	listen.is_public = word && !strcmp(word, PUBLIC);
	if (listen.is_public)
		*word = '\0';
	colon = strrchr(copy, ':');
	port = colon ? colon + 1 : copy;
	if (colon)
		*colon = '\0';
	end = port;
	if (*port >= '0' && *port <= '9')
		number = strtoul(port, &end, 10);
	if (*end || end == port || number > UINT16_MAX ||
	    !set_address(&listen, colon ? copy : "", (u16)number)) {
		log_error(
			"--listen: \"%s\" is not an address and a port; write 127.0.0.1:9437 or [::1]:9437",
			text);
		return -EINVAL;
	}
	if (!is_loopback(&listen) && !listen.is_public) {
		log_error(
			"--listen: %s can be reached from other machines, and there is no password; to have that write --listen %s" PUBLIC,
			text, text);
		return -EINVAL;
	}
	o->listen = listen;
	return 0;
}

int cli_value_log_level(struct options *o, const char *text)
{
	static const char *const levels[] = {"error", "warn", "info", "debug"};

	for (unsigned i = 0; i < 4; i++) {
		if (strcmp(text, levels[i]) != 0)
			continue;
		o->quiet = i == 0;
		o->verbose = i ? i - 1 : 0;
		return 0;
	}
	log_error("--log-level: \"%s\" is none; write error, warn, info or debug", text);
	return -EINVAL;
}
