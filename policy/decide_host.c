/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections of a profile with `network: hosts`. The gateway resolves names and connects, so a
 * sandbox sees a refused name as an unknown one, and a refused port as a closed one.
 */
#include "policy/decide_parts.h"

#include <errno.h>
#include <string.h>

#include "hosts/address.h"
#include "hosts/pattern.h"

/* A host of a question, in the one spelling. */
struct wanted {
	bool is_address;
	struct host_address address;
	char name[HOST_NAME_MAX_SIZE];
};

static const struct plan_host *host_at(const struct question *question, uint32_t index)
{
	const void *first = plan_bytes(question->plan, question->profile->hosts);

	return (const struct plan_host *)first + index;
}

static bool is_ended(const struct plan_host *host)
{
	return memchr(host->pattern, '\0', sizeof(host->pattern)) != NULL;
}

static bool is_covered(const struct plan_host *host, const struct wanted *wanted)
{
	struct host_network network;

	if (!is_ended(host))
		return false;
	if (!wanted->is_address)
		return host_pattern_covers(host->pattern, wanted->name);
	return host_network_read(host->pattern, &network) &&
	       host_network_contains(&network, &wanted->address);
}

/* Return the first entry that covers the host with the port, or with any port if `port` is 0. */
static const struct plan_host *find_host(const struct question *question,
					 const struct wanted *wanted, uint16_t port)
{
	for (uint32_t i = 0; i < question->profile->host_count; i++) {
		const struct plan_host *host = host_at(question, i);

		if ((port == 0 || host->port == port) && is_covered(host, wanted))
			return host;
	}
	return NULL;
}

static void cite_host(const struct question *question, const struct plan_host *host)
{
	question->ret->origin = (struct plan_origin){
		question->profile->network_origin.file,
		host != NULL ? host->line : question->profile->network_origin.line,
	};
}

static void refuse_host(const struct question *question, int error, const struct plan_host *host)
{
	decision_refuse(question->ret, "network", error);
	cite_host(question, host);
	if (question->ret->remedy[0] == '\0')
		DECISION_SAY(question->ret->remedy, OPERATORS "hosts: [\"%s:%u\"]",
			     question->operation->target, (unsigned int)question->operation->port);
}

static void refuse_address(const struct question *question, const struct wanted *wanted)
{
	struct decision *ret = question->ret;

	if (!host_address_is_ipv4(&wanted->address)) {
		DECISION_SAY(ret->rule, "network: hosts: a sandbox has IPv4 alone beside its "
					"loopback; a host with IPv6 is reached by its name");
		DECISION_SAY(ret->remedy, "none: connect to the host by its name");
		refuse_host(question, ENETUNREACH, NULL);
		return;
	}
	if (host_address_reach(&wanted->address) == HOST_REACH_NEVER) {
		DECISION_SAY(ret->rule, "network: hosts: %s is %s", question->operation->target,
			     host_address_kind_words(host_address_kind(&wanted->address)));
		DECISION_SAY(ret->remedy, "none: no profile can allow it");
	} else {
		DECISION_SAY(ret->rule, "hosts: no entry covers the address %s",
			     question->operation->target);
	}
	refuse_host(question, ECONNREFUSED, NULL);
}

static void refuse_unlisted(const struct question *question, const struct wanted *wanted)
{
	const struct plan_host *host = find_host(question, wanted, 0);
	const uint16_t port = question->operation->port;

	if (host != NULL) {
		DECISION_SAY(question->ret->rule, "hosts: %s has no port %u", host->pattern,
			     (unsigned int)port);
		refuse_host(question, ECONNREFUSED, host);
	} else if (wanted->is_address) {
		refuse_address(question, wanted);
	} else {
		DECISION_SAY(question->ret->rule, "hosts: no entry covers the name %s",
			     wanted->name);
		refuse_host(question, 0, NULL);
	}
}

/* Return whether no entry can let a sandbox reach the address. */
static bool is_never(const struct wanted *wanted)
{
	return wanted->is_address && (!host_address_is_ipv4(&wanted->address) ||
				      host_address_reach(&wanted->address) == HOST_REACH_NEVER);
}

static void allow_host(const struct question *question, const struct plan_host *host,
		       bool is_address)
{
	struct decision *ret = question->ret;

	DECISION_SAY(ret->rule, "hosts: %s:%u%s", host->pattern, (unsigned int)host->port,
		     host->kind == PLAN_HOST_TLS ? ", TLS with the host's name" : "");
	DECISION_SAY(ret->condition, "if it %sanswers",
		     is_address              ? ""
		     : host->is_private != 0 ? "has a public or private address and "
					     : "has a public address and ");
	cite_host(question, host);
	decision_allow(ret, "network");
}

void decide_host(const struct question *question)
{
	const struct operation *operation = question->operation;
	struct wanted wanted = { .is_address = false };
	const struct plan_host *host;

	wanted.is_address = host_address_read(operation->target, &wanted.address);
	if (!wanted.is_address)
		/* operation_parse() has read it; an empty name has no entry */
		(void)host_name_read(operation->target, strlen(operation->target), wanted.name);
	host = is_never(&wanted) ? NULL : find_host(question, &wanted, operation->port);
	if (operation->transport == OPERATION_UDP) {
		DECISION_SAY(question->ret->rule,
			     "network: hosts: a sandbox reaches hosts by TCP alone");
		DECISION_SAY(question->ret->remedy, "none: no profile can allow UDP");
		refuse_host(question, ECONNREFUSED, host);
	} else if (host != NULL) {
		allow_host(question, host, wanted.is_address);
	} else if (is_never(&wanted)) {
		refuse_address(question, &wanted);
	} else {
		refuse_unlisted(question, &wanted);
	}
}
