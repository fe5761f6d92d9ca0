/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/permits.h"

#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/resolver.h"
#include "gateway/cable/cuts.h"
#include "gateway/cable/grants.h"
#include "gateway/cable/questions.h"
#include "gateway/cable/records.h"

static struct ipc_host_ask asks[GATEWAY_ASKS_MAX];
static uint32_t ask_count;

int permits_ask(const struct ipc_host_ask *ask)
{
	if (ask_count == GATEWAY_ASKS_MAX)
		return -EPROTO;
	asks[ask_count++] = *ask;
	return 0;
}

bool permits_are_asked(void)
{
	return ask_count > 0;
}

static enum host_answer decide_ask(const struct ipc_host_ask *ask)
{
	const struct cabled *sandbox = cables_find(ask->slot, ask->use);
	uint32_t approval;

	if (!sandbox)
		return HOST_ANSWER_REFUSED;
	approval = sandbox->profile->host_approval;
	if (grants_deny(&sandbox->party, ask->host, ask->port))
		return HOST_ANSWER_CUT;
	if (ask->is_listed || grants_allow(&sandbox->party, approval, ask->host, ask->port))
		return HOST_ANSWER_GRANTED;
	if (approval != PLAN_HOST_APPROVAL_NEVER)
		questions_note(sandbox, ask->host, ask->port);
	return HOST_ANSWER_REFUSED;
}

int permits_answer(const struct hub *hub)
{
	int error = 0;

	for (uint32_t i = 0; i < ask_count && !error; i++) {
		const struct ipc_host_told told = { asks[i].number,
						    (uint32_t)decide_ask(&asks[i]) };

		error = channel_send(&hub->dial, IPC_TYPE_host_told, &told, NULL, 0);
	}
	ask_count = 0;
	return error;
}

/* --- ports ------------------------------------------------------------------------------------ */

/* Open the listener of a port that none of the profile's hosts has. 0 or -errno. */
static int open_port(const struct hub *hub, struct cabled *sandbox, uint32_t port)
{
	const struct ipc_egress_port given = { sandbox->party.slot, sandbox->party.use };
	int listener FD_OWNED = -1, error;

	for (uint32_t i = 0; i < sandbox->port_count; i++) {
		if (sandbox->ports[i] == port)
			return 0;
	}
	if (sandbox->port_count == CABLE_PORTS_MAX)
		return -ENOSPC;
	error = cable_open_port(hub->home, sandbox->network, (uint16_t)port, &listener);
	if (!error)
		error = channel_send(&hub->egress, IPC_TYPE_egress_port, &given, &listener, 0);
	if (!error)
		sandbox->ports[sandbox->port_count++] = (uint16_t)port;
	return error;
}

static bool is_taken(const struct cabled *sandbox, const struct grant *grant)
{
	return !grant->is_cut && !grant->is_back &&
	       grants_count(grant, sandbox->profile->host_approval);
}

void permits_open(const struct hub *hub, struct cabled *sandbox)
{
	const struct grant *grant = NULL;

	/* Most profiles let no host be added, and each execution comes here. */
	if (!sandbox->is_made || sandbox->profile->host_approval == PLAN_HOST_APPROVAL_NEVER)
		return;
	while ((grant = grants_next(&sandbox->party, grant))) {
		const int error =
			is_taken(sandbox, grant) ? open_port(hub, sandbox, grant->port) : 0;

		if (error)
			log_line("port %u of a granted host cannot be opened in a sandbox: %s",
				 grant->port, errno_text(-error));
	}
}

/* Open the port of a grant in each sandbox that it is for. 0, or the first -errno. */
static int open_everywhere(const struct hub *hub, const struct grant *granted)
{
	int error = 0;

	for (uint32_t i = 0; i < GATEWAY_SLOTS && !error; i++) {
		const struct grant *grant = NULL;

		while (cables[i].is_made && (grant = grants_next(&cables[i].party, grant)) &&
		       grant != granted)
			continue;
		if (grant && is_taken(&cables[i], grant))
			error = open_port(hub, &cables[i], granted->port);
	}
	return error;
}

/* --- grants ----------------------------------------------------------------------------------- */

/* Take a host away, also where that cannot be recorded. msp-dial asks about each host from then on,
 * before msp-egress has ended what there is. */
static int cut_host(const struct hub *hub, const struct cabled *sandbox,
		    const struct ipc_network_grant *wanted)
{
	const struct ipc_dial_tighten tighten = { sandbox->party.slot, sandbox->party.use };
	struct ipc_egress_cut cut = { sandbox->party.slot, sandbox->party.use, "" };
	int error;

	(void)records_grant(wanted, &sandbox->party, sandbox->sandbox, false);
	if (!grants_cut(&sandbox->party, wanted->host))
		return -ENOSPC;
	memcpy(cut.host, wanted->host, sizeof(cut.host));
	error = channel_send(&hub->dial, IPC_TYPE_dial_tighten, &tighten, NULL, 0);
	if (!error)
		error = channel_send(&hub->egress, IPC_TYPE_egress_cut, &cut, NULL, 0);
	return error || !sandbox->is_lasting ? error : cuts_save(sandbox);
}

/* Give back what was taken away, for good. 0 or -errno, and then it is taken away. */
static int give_back(const struct cabled *sandbox, const char *host, uint32_t port)
{
	int error = grants_give_back(&sandbox->party, host, port) ? 0 : -ENOSPC;

	if (!error && sandbox->is_lasting)
		error = cuts_save(sandbox);
	if (error)
		(void)grants_cut(&sandbox->party, host);
	return error;
}

static int add_grant(const struct hub *hub, const struct party *to, const struct cabled *sandbox,
		     bool is_broker, const struct ipc_network_grant *wanted)
{
	const struct grant *grant;
	int error = records_grant(wanted, to, sandbox ? sandbox->sandbox : "", is_broker);

	if (!error && sandbox && grants_deny(to, wanted->host, wanted->port))
		error = give_back(sandbox, wanted->host, wanted->port);
	if (error)
		return error;
	grant = grants_add(to, wanted->host, wanted->port, is_broker);
	error = grant ? open_everywhere(hub, grant) : -ENOSPC;
	if (!error)
		questions_answer(to, wanted->host, wanted->port);
	else if (grant)
		grants_remove(grant);
	return error;
}

int permits_take(const struct hub *hub, const struct party *from, bool is_broker,
		 const struct ipc_network_grant *wanted)
{
	const struct cabled *sandbox = cables_find(from->slot, from->use);
	struct party to = *from;

	if (is_broker && (sandbox || wanted->is_cut || wanted->frontend))
		return -EPERM;
	if (!is_broker && !sandbox && (wanted->is_cut || !wanted->frontend))
		return -EINVAL;
	if (wanted->is_cut)
		return cut_host(hub, sandbox, wanted);
	if (sandbox && sandbox->profile->host_approval == PLAN_HOST_APPROVAL_NEVER &&
	    !grants_deny(from, wanted->host, wanted->port))
		return -EACCES;
	if (wanted->host[0] == '\0' || wanted->port == 0 || wanted->port > UINT16_MAX ||
	    wanted->port == RESOLVER_PORT)
		return -EINVAL;
	if (wanted->frontend) {
		to.frontend = wanted->frontend;
		memcpy(to.owner, wanted->owner, sizeof(to.owner));
	}
	return add_grant(hub, &to, sandbox, is_broker, wanted);
}
