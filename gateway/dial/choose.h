/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses that a connection may go to: the check of every address that a name has led to, and
 * of the sandbox's own literal ones. Whoever connects asks for each address, just before.
 */
#ifndef GATEWAY_DIAL_CHOOSE_H
#define GATEWAY_DIAL_CHOOSE_H

#include "common/plan/plan.h"
#include "gateway/hosts/list.h"

#include <sys/socket.h>

enum dial_refusal {
	DIAL_ALLOWED = 0,
	DIAL_UNLISTED, /* no entry covers the host with the port */
	DIAL_KIND,     /* an address of a kind that the entry does not allow */
	DIAL_OWN,      /* an address of this machine */
	DIAL_ROUTE,    /* the machine's routes do not let it be reached */
	DIAL_NO_ROUTE, /* there is none */
	DIAL_REFUSAL_COUNT
};

/* Find the entry for a request. DIAL_ALLOWED with *ret set, or DIAL_UNLISTED or DIAL_KIND. */
enum dial_refusal dial_find(const struct plan *plan, const struct plan_profile *profile,
			    const struct host_wanted *wanted, uint16_t port,
			    const struct plan_host **ret);

/* Judge an address for an entry that covers the request: by its kind, and by the kernel's routes at
 * this moment (routes.h). A literal address is in the entry itself; a name's address is private
 * only if the entry says so. The address of an entry's service has to be this machine's. */
enum dial_refusal dial_judge(const struct plan_host *host, const struct host_wanted *wanted,
			     const struct host_address *address, uint16_t port);

/* Write an address and a port for a socket of its family. Return the size. */
socklen_t choose_print(const struct host_address *address, uint16_t port,
		       struct sockaddr_storage *ret);

#endif
