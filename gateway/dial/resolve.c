/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/resolve.h"

#include <ares.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define TRY_MS 2000
#define TRIES 2

_Static_assert(RESOLVE_SOCKETS_MAX == ARES_GETSOCK_MAXNUM, "room for each socket");

struct resolver {
	ares_channel channel;
};

struct question {
	resolver_done done;
	void *context;
};

/* Take over an address of the list, or pass it over: it is of another family, or too many. */
static void take_address(const struct ares_addrinfo_node *node, struct resolution *ret)
{
	struct host_address *to = &ret->addresses[ret->count];
	const struct sockaddr_in *ipv4 = (const void *)node->ai_addr;
	const struct sockaddr_in6 *ipv6 = (const void *)node->ai_addr;

	if (ret->count == RESOLVE_ADDRESSES_MAX)
		return;
	if (node->ai_family == AF_INET) {
		*to = host_address_of_ipv4(&ipv4->sin_addr);
	} else if (node->ai_family == AF_INET6) {
		memcpy(to->bytes, &ipv6->sin6_addr, sizeof(to->bytes));
	} else {
		return;
	}
	if (ret->count++ == 0 || (uint32_t)node->ai_ttl < ret->ttl_s)
		ret->ttl_s = (uint32_t)node->ai_ttl;
}

static void end_question(void *context, int status, int timeouts, struct ares_addrinfo *result)
{
	struct question *question = context;
	struct resolution resolution = { .end = RESOLVE_FAILED };

	(void)timeouts; /* each try has its own time */
	if (status == ARES_SUCCESS)
		for (struct ares_addrinfo_node *node = result->nodes; node; node = node->ai_next)
			take_address(node, &resolution);
	if (resolution.count > 0)
		resolution.end = RESOLVE_DONE;
	else if (status == ARES_SUCCESS || status == ARES_ENOTFOUND || status == ARES_ENODATA)
		resolution.end = RESOLVE_NO_NAME;
	ares_freeaddrinfo(result);
	question->done(question->context, &resolution);
	free(question);
}

static int error_of(int status)
{
	return status == ARES_SUCCESS ? 0 : status == ARES_ENOMEM ? -ENOMEM : -EINVAL;
}

int resolver_new(const char *servers, struct resolver **ret)
{
	char lookups[] = "b"; /* DNS, and not the hosts' file */
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TRY_MS,
		.tries = TRIES,
		.lookups = lookups,
		.ndomains = 0, /* or it derives one from the machine's name */
	};
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int error;

	if (!resolver)
		return -ENOMEM;
	error = error_of(ares_init_options(&resolver->channel, &options,
					   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
						   ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS));
	if (error != 0) {
		free(resolver);
		return error;
	}
	error = error_of(ares_set_servers_ports_csv(resolver->channel, servers));
	if (error != 0)
		resolver_free(resolver);
	else
		*ret = resolver;
	return error;
}

void resolver_ask(struct resolver *resolver, const char *name, resolver_done done, void *context)
{
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
						   .ai_socktype = SOCK_STREAM,
						   .ai_flags = ARES_AI_NOSORT };
	struct question *question = malloc(sizeof(*question));
	const struct resolution failed = { .end = RESOLVE_FAILED };

	if (!question) {
		done(context, &failed);
		return;
	}
	*question = (struct question){ done, context };
	ares_getaddrinfo(resolver->channel, name, NULL, &hints, end_question, question);
}

uint32_t resolver_wants(struct resolver *resolver, struct pollfd polled[RESOLVE_SOCKETS_MAX],
			int *timeout_ms)
{
	ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
	struct timeval most = { .tv_sec = *timeout_ms / 1000,
				.tv_usec = *timeout_ms % 1000 * 1000L },
		       left;
	const int bits = ares_getsock(resolver->channel, sockets, ARES_GETSOCK_MAXNUM);
	const struct timeval *wait = ares_timeout(resolver->channel, &most, &left);
	uint32_t count = 0;

	for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
		const bool reads = ARES_GETSOCK_READABLE(bits, i);
		const bool writes = ARES_GETSOCK_WRITABLE(bits, i);

		if (reads || writes)
			polled[count++] = (struct pollfd){
				.fd = sockets[i],
				.events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0))
			};
	}
	/* c-ares rounds down: without a millisecond more it would be asked again and again. */
	if (wait != &most)
		*timeout_ms = (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000 + 1);
	return count;
}

void resolver_handle(struct resolver *resolver, const struct pollfd *polled, uint32_t count)
{
	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* the time limits */
	for (uint32_t i = 0; i < count; i++)
		ares_process_fd(
			resolver->channel,
			(polled[i].revents & ~POLLOUT) != 0 ? polled[i].fd : ARES_SOCKET_BAD,
			(polled[i].revents & POLLOUT) != 0 ? polled[i].fd : ARES_SOCKET_BAD);
}

void resolver_free(struct resolver *resolver)
{
	ares_destroy(resolver->channel); /* calls end_question() for each question */
	free(resolver);
}
