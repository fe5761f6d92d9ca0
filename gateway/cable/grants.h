/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that sandboxes reach beside the list of their profile, and those that a person has
 * taken away (cuts.h keeps these). A row is one sandbox's, until that ends, or all sandboxes' of a
 * client. Names are
 * compared byte by byte: the peers write them in the one spelling, and a text in another one covers
 * nothing.
 */
#ifndef GATEWAY_CABLE_GRANTS_H
#define GATEWAY_CABLE_GRANTS_H

#include "gateway/cable/cables.h"

#define GRANTS_MAX 512U

/* Grants of one client: a further one takes the place of the one that is unused for longest. */
#define CLIENT_GRANTS_MAX 32U

struct grant {
	uint64_t used;    /* grows with each use; 0: the row is free */
	uint64_t time_us; /* the begin, by the monotonic clock */
	struct party of;
	uint32_t port;
	bool is_brokers; /* a client's user agreed, not a person at the command line */
	bool is_cut;
	bool is_back;            /* given back after it was taken away, which is no grant */
	char host[IPC_HOST_MAX]; /* empty: all hosts */
};

/* Grant a host to a sandbox or to a client. The grant, or NULL: sandboxes have all rows. */
const struct grant *grants_add(const struct party *to, const char *host, uint32_t port,
			       bool is_brokers);

/* Take a host away from a sandbox; "": all hosts. False: there is no row. */
bool grants_cut(const struct party *from, const char *host);

/* Give a host with a port back to a sandbox. False: there is no row. */
bool grants_give_back(const struct party *to, const char *host, uint32_t port);

/* Remove a grant. */
void grants_remove(const struct grant *grant);

/* Return whether a grant counts where the profile says so: enum plan_host_approval. */
bool grants_count(const struct grant *grant, uint32_t approval);

/* Return whether a sandbox whose profile says `approval` may reach a host beside its list; by any
 * port if that is 0. */
bool grants_allow(const struct party *sandbox, uint32_t approval, const char *host, uint32_t port);

/* Return whether a host is taken away from a sandbox. */
bool grants_deny(const struct party *sandbox, const char *host, uint32_t port);

/* Walk through what holds for a sandbox: pass NULL to begin; NULL at the end. */
const struct grant *grants_next(const struct party *sandbox, const struct grant *after);

/* Remove the rows of a sandbox that has ended. */
void grants_end(uint32_t slot);

#endif
