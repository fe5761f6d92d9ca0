/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections of a profile with `network: hosts`. The gateway resolves names and connects, so a
 * sandbox sees a refused name as an unknown one, and a refused port as a closed one.
 */
#include "policy/decide/decide_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hosts/groups.h"

/* "[ADDRESS]:PORT" */
#define OWN_PORT_MAX (INET6_ADDRSTRLEN + 8U)

#define NO_ENTRY "hosts: no entry covers the name %s"

void decide_cite_host(const struct question *question, const struct plan_host *host)
{
	question->ret->origin = (struct plan_origin){
		question->profile->network_origin.file,
		host != NULL ? host->line : question->profile->network_origin.line,
	};
}

/* Set the right to approve the host. */
static void cite_approval(const struct question *question, unsigned int port)
{
	if (question->operation->transport == OPERATION_TCP && port != HOST_PORT_DNS &&
	    host_list_may_grow(question->profile, &question->wanted))
		question->ret->approval = (enum plan_host_approval)question->profile->host_approval;
}

/* Name the host's group, which a tool needs as a whole; or else the host, as where another port of
 * it is in the list. */
void decide_advise_host(const struct question *question, const char *before, const char *after)
{
	const struct operation *operation = question->operation;
	const unsigned int port = operation->port != 0 ? operation->port : HOST_PORT_DEFAULT;
	const struct host_group *group = NULL;
	const struct host_wanted *wanted = &question->wanted;
	const struct plan_host *listed =
		host_list_find(question->plan, question->profile, wanted, 0);
	struct decision *ret = question->ret;

	if (listed == NULL)
		group = host_group_covering(wanted->name, (uint16_t)port);
	cite_approval(question, port);
	if (question->profile->is_narrowed)
		DECISION_SAY(ret->remedy, "a request without network: none, if the profile has "
					  "the host");
	else if (operation->transport == OPERATION_UDP)
		DECISION_SAY(ret->remedy, "none: no profile can allow UDP");
	else if (wanted->is_address && !host_address_is_ipv4(&wanted->address))
		DECISION_SAY(ret->remedy, "none: connect to the host by its name");
	else if (host_wanted_is_never(wanted))
		DECISION_SAY(ret->remedy, "none: no profile can allow it");
	else if (port == HOST_PORT_DNS)
		DECISION_SAY(ret->remedy, "none: port 53 is the sandbox's own resolver");
	else if (group != NULL)
		DECISION_SAY(ret->remedy, OPERATORS "%shosts: [\"%c%s\"]%s", before,
			     HOST_GROUP_MARK, group->name, after);
	else if (wanted->is_address)
		DECISION_SAY(ret->remedy,
			     OPERATORS "%shosts: [\"%s:%u\"]%s, or if the address is this "
				       "machine's, the entry {host: NAME, to: \"%s:%u\"}",
			     before, operation->target, port, after, operation->target, port);
	else if (listed != NULL && listed->to_port != 0)
		DECISION_SAY(ret->remedy,
			     OPERATORS "%shosts: [{host: \"%s:%u\", to: \"ADDRESS:%u\"}]%s", before,
			     operation->target, port, port, after);
	else
		DECISION_SAY(ret->remedy, OPERATORS "%shosts: [\"%s:%u\"]%s", before,
			     operation->target, port, after);
}

static void refuse_host(const struct question *question, int error, const struct plan_host *host)
{
	decision_refuse(question->ret, "network", error);
	decide_cite_host(question, host);
	decide_advise_host(question, "", "");
}

static void refuse_address(const struct question *question)
{
	const struct host_address *address = &question->wanted.address;
	struct decision *ret = question->ret;

	if (!host_address_is_ipv4(address)) {
		DECISION_SAY(ret->rule, "network: hosts: a sandbox has IPv4 alone beside its "
					"loopback; a host with IPv6 is reached by its name");
		refuse_host(question, ENETUNREACH, NULL);
		return;
	}
	if (host_address_reach(address) == HOST_REACH_NEVER) {
		DECISION_SAY(ret->rule, "network: hosts: %s is %s", question->operation->target,
			     host_address_kind_words(host_address_kind(address)));
	} else {
		DECISION_SAY(ret->rule, "hosts: no entry covers the address %s",
			     question->operation->target);
	}
	refuse_host(question, ECONNREFUSED, NULL);
}

static void refuse_unlisted(const struct question *question)
{
	const struct host_wanted *wanted = &question->wanted;
	const struct plan_host *host = host_list_find(question->plan, question->profile, wanted, 0);
	const uint16_t port = question->operation->port;

	if (host != NULL) {
		DECISION_SAY(question->ret->rule, "hosts: %s has no port %u", host->pattern,
			     (unsigned int)port);
		refuse_host(question, ECONNREFUSED, host);
	} else if (wanted->is_address) {
		refuse_address(question);
	} else {
		DECISION_SAY(question->ret->rule, NO_ENTRY, wanted->name);
		refuse_host(question, 0, NULL);
	}
}

/* Print the port of this machine that an entry leads to. */
static void print_own_port(const struct plan_host *host, char ret[OWN_PORT_MAX])
{
	struct host_address address;
	char text[INET6_ADDRSTRLEN];
	bool is_ipv4;

	memcpy(address.bytes, host->to, sizeof(address.bytes));
	is_ipv4 = host_address_is_ipv4(&address);
	(void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, host->to + (is_ipv4 ? HOST_IPV4_AT : 0), text,
			sizeof(text));
	(void)snprintf(ret, OWN_PORT_MAX, is_ipv4 ? "%s:%u" : "[%s]:%u", text,
		       (unsigned int)host->to_port);
}

static void allow_host(const struct question *question, const struct plan_host *host)
{
	static const char *const kinds[PLAN_HOST_KIND_COUNT] = {
		[PLAN_HOST_TCP] = "",
		[PLAN_HOST_TLS] = ", TLS with the host's name",
		[PLAN_HOST_HTTP] = ", HTTP with the host's name",
		[PLAN_HOST_HTTPS] = ", HTTPS with the host's name",
	};
	const char *proxy = host_list_proxy(question->profile, host, &question->wanted);
	struct decision *ret = question->ret;
	char own_port[OWN_PORT_MAX];

	DECISION_SAY(ret->rule, "hosts: %s:%u%s", host->pattern, (unsigned int)host->port,
		     kinds[host->kind % PLAN_HOST_KIND_COUNT]);
	print_own_port(host, own_port);
	if (host->to_port != 0)
		DECISION_SAY(ret->condition, "if this machine's %s answers", own_port);
	else if (proxy != NULL) /* which is not asked for an address of this machine */
		DECISION_SAY(ret->condition, "if %sthe proxy %s:%u connects to it",
			     question->wanted.is_address ? "it is not this machine's and " : "",
			     proxy, (unsigned int)question->profile->through.port);
	else if (question->wanted.is_address)
		DECISION_SAY(ret->condition, "if it is not this machine's and answers");
	else
		DECISION_SAY(ret->condition,
			     "if it has a public%s address, not this machine's, and answers",
			     host->is_private != 0 ? " or private" : "");
	decide_cite_host(question, host);
	decision_allow(ret, "network");
}

void decide_host_name(const struct question *question)
{
	const struct plan_host *host =
		host_list_find(question->plan, question->profile, &question->wanted, 0);
	struct decision *ret = question->ret;

	if (host == NULL) {
		DECISION_SAY(ret->rule, NO_ENTRY, question->wanted.name);
		refuse_host(question, 0, NULL);
		return;
	}
	DECISION_SAY(ret->rule, "hosts: %s:%u", host->pattern, (unsigned int)host->port);
	if (host->to_port == 0 &&
	    host_list_proxy(question->profile, host, &question->wanted) == NULL)
		DECISION_SAY(ret->condition, "if the host's name servers have an address for it");
	decide_cite_host(question, host);
	decision_allow(ret, "network");
}

const struct plan_host *decide_find_host(const struct question *question)
{
	const struct host_wanted *wanted = &question->wanted;

	return host_wanted_is_never(wanted) ? NULL
					    : host_list_find(question->plan, question->profile,
							     wanted, question->operation->port);
}

void decide_host(const struct question *question)
{
	const struct plan_host *host = decide_find_host(question);

	if (question->operation->transport == OPERATION_UDP) {
		DECISION_SAY(question->ret->rule,
			     "network: hosts: a sandbox reaches hosts by TCP alone");
		refuse_host(question, ECONNREFUSED, host);
	} else if (host != NULL) {
		allow_host(question, host);
	} else if (question->wanted.is_address && host_wanted_is_never(&question->wanted)) {
		refuse_address(question);
	} else {
		refuse_unlisted(question);
	}
}
