/* SPDX-License-Identifier: Apache-2.0
 *
 * The host of a connection, as the plan has it; and the refusal of a request to it.
 */
#ifndef GATEWAY_HTTP_TARGET_H
#define GATEWAY_HTTP_TARGET_H

#include "common/ipc/ipc_http.h"
#include "gateway/hosts/list.h"

struct target {
	const struct plan *plan;
	const struct plan_profile *profile;
	const struct plan_host *entry;
	uint32_t index; /* the entry's */
	uint16_t port;
	struct host_wanted wanted;
	char name[IPC_HOST_MAX];
};

#define REFUSAL_TEXT_MAX 1024U

struct refusal {
	uint32_t status;
	enum connection_refused reason;
	char text[REFUSAL_TEXT_MAX]; /* lines for the workload: the request, and the rule */
};

/* Find the target of a host and a port in a profile. False: no entry of the kinds HTTP and HTTPS is
 * the first that covers it. */
bool target_find(const struct plan *plan, const struct plan_profile *profile, const char *host,
		 uint16_t port, struct target *ret);

/* Return whether the value of a field Host names the target: its port may be missing where it is
 * the scheme's own. */
bool target_is_named(const struct target *target, const char *value, size_t size);

bool target_is_tls(const struct target *target);

/* Return whether the profile has rules for the requests to the target. */
bool target_has_rules(const struct target *target);

#endif
