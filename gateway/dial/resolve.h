/* SPDX-License-Identifier: Apache-2.0
 *
 * Names to addresses, by DNS alone: no file, no search list, no name of this machine. The servers
 * come as text. The caller waits for the descriptors.
 */
#ifndef GATEWAY_DIAL_RESOLVE_H
#define GATEWAY_DIAL_RESOLVE_H

#include "gateway/hosts/address.h"

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define RESOLVE_ADDRESSES_MAX 16U
#define RESOLVE_SOCKETS_MAX 16U

enum resolve_end {
	RESOLVE_DONE = 0,
	RESOLVE_NO_NAME, /* the name does not exist, or has no address */
	RESOLVE_FAILED,  /* the servers gave no answer */
};

struct resolution {
	enum resolve_end end;
	uint32_t ttl_s; /* the least of its records */
	uint32_t count;
	struct host_address addresses[RESOLVE_ADDRESSES_MAX];
};

struct resolver;

/* Make a resolver for "127.0.0.1:5353,[::1]:53". 0 with *ret set, or -errno. */
int resolver_new(const char *servers, struct resolver **ret);

typedef void (*resolver_done)(void *context, const struct resolution *resolution);

/* Ask for a name in the one spelling; `done` is called once, perhaps before the return. */
void resolver_ask(struct resolver *resolver, const char *name, resolver_done done, void *context);

/* Set what to wait for, at most RESOLVE_SOCKETS_MAX. Return the number, and in *timeout_ms how long
 * at most, if that is less. */
uint32_t resolver_wants(struct resolver *resolver, struct pollfd polled[RESOLVE_SOCKETS_MAX],
			int *timeout_ms);

/* Handle what has come, and what is due. */
void resolver_handle(struct resolver *resolver, const struct pollfd *polled, uint32_t count);

/* Fail all questions and free the resolver. */
void resolver_free(struct resolver *resolver);

#endif
