/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting to one of some addresses, in their order. Each is judged just before it is dialled. A
 * proxy of the profile is dialled in the host's place, and then asked to connect to it.
 */
#ifndef GATEWAY_DIAL_ATTEMPT_H
#define GATEWAY_DIAL_ATTEMPT_H

#include "gateway/dial/choose.h"
#include "gateway/dial/proxy.h"
#include "gateway/dial/resolve.h"

#define ATTEMPT_ADDRESS_MS 3000U /* for one address */
#define ATTEMPT_MS 10000U        /* for all of them */

enum attempt_state {
	ATTEMPT_WAITS = 0,    /* for `fd` to have `events`, or until `due_ms` */
	ATTEMPT_CONNECTED,    /* `fd` is the caller's */
	ATTEMPT_FAILED,       /* no address took the connection */
	ATTEMPT_NO_ROUTE,     /* the machine has no route to an address that may be dialled */
	ATTEMPT_FORBIDDEN,    /* no address may be dialled */
	ATTEMPT_OWN,          /* likewise, and one is this machine's */
	ATTEMPT_PROXY_FAILED, /* no address of the proxy took the connection */
	ATTEMPT_PROXY_REFUSED,
	ATTEMPT_PROXY_LOGIN,  /* the proxy wants a login */
	ATTEMPT_PROXY_BROKEN, /* the proxy's answer is none, or did not come in time */
	ATTEMPT_STATE_COUNT
};

struct attempt {
	const struct plan_host *host; /* the entry that covers the request */
	struct host_wanted wanted;    /* its name is as written, an address's, too */
	uint16_t port;
	struct host_wanted peer; /* the proxy, the entry's service, or the host itself */
	uint16_t peer_port;
	bool is_through;
	struct proxy_answer answer;
	uint32_t count, at; /* `at`: the address that is dialled, or was last */
	struct host_address addresses[RESOLVE_ADDRESSES_MAX];
	bool was_dialled;
	bool is_own, is_unrouted; /* an address was refused as this machine's, or had no route */
	int fd;                   /* -1: none */
	short events;             /* events for poll(2) */
	uint64_t due_ms, end_ms;
};

/* Begin with addresses of the peer, or go on after a wait. */
enum attempt_state attempt_begin(struct attempt *attempt, const struct resolution *resolution,
				 uint64_t now_ms);
enum attempt_state attempt_go_on(struct attempt *attempt, bool is_ready, uint64_t now_ms);

/* Close the socket. */
void attempt_end(struct attempt *attempt);

#endif
