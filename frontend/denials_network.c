/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denials_network.h"

#include "common/ipc/ipc_gateway.h"
#include "frontend/hint_search.h"
#include "frontend/network_watch.h"
#include "frontend/profile_names.h"
#include "gateway/hosts/list.h"

/* The reason in words, and the remedy where the policy has the host with the port. */
static const struct {
	const char *reason, *remedy;
} words[CONNECTION_REFUSED_COUNT] = {
	[CONNECTION_REFUSED_HOST] = { "the profile does not have this host",
				      "none: the profile has it by now" },
	[CONNECTION_REFUSED_PORT] = { "the profile does not have this port of the host",
				      "none: the profile has it by now" },
	[CONNECTION_REFUSED_ADDRESS] = { "its addresses may not be dialled",
					 "in the operator's profile, the word `private` in its "
					 "entry for a private address of another machine, or `to` "
					 "for a port of this one" },
	[CONNECTION_REFUSED_TLS] = { "the connection did not begin with TLS for this host",
				     "greet it with its own name; msp-policy(5) has the kinds of "
				     "entries in `hosts`" },
	[CONNECTION_REFUSED_LIMIT] = { "the sandbox has moved as many bytes as its profile allows",
				       "limits.upload or limits.download of the operator's "
				       "profile" },
	[CONNECTION_REFUSED_REQUEST] = { "a request is none that a rule covers, or is malformed",
					 "in the operator's profile, a rule in `requests`; the "
					 "answer 403 names it" },
	[CONNECTION_REFUSED_SECRET] = { "the placeholder of a secret in another place than its "
					"header, or for another host",
					"send the placeholder in the secret's header alone" },
	[CONNECTION_REFUSED_PROXY] = { "the profile's proxy refuses to connect to it",
				       "ask those who run the proxy of the profile's `through`" },
	[CONNECTION_REFUSED_CUT] = { "a person took this host away from the sandbox",
				     "msp network approve" },
	[CONNECTION_REFUSED_HIDDEN] = { "hidden name: use kind https",
					"in the operator's profile, the word `https` in its entry "
					"of `hosts`" },
	[CONNECTION_REFUSED_NAMES] = { "too many names below a wildcard",
				       "ask for fewer, or name them in `hosts` of the operator's "
				       "profile" },
	[CONNECTION_REFUSED_OWN] = { "its address is this machine's",
				     "in the operator's profile, an entry with `to` for a port of "
				     "this machine" },
	[CONNECTION_UNKNOWN] = { .reason = "no name server knows it" },
	[CONNECTION_UNREACHED] = { .reason = "it could not be reached" },
	[CONNECTION_PROXY_UNREACHED] = { .reason = "the profile's proxy could not be reached" },
};

const char *denials_network_reason(uint32_t reason)
{
	return reason < CONNECTION_REFUSED_COUNT ? words[reason].reason : "";
}

/* Find the entry of the host; NULL: the profile has none by now. */
static const struct plan_host *find_entry(const struct search *search,
					  const struct ipc_network_denial *denial)
{
	struct host_wanted wanted;

	return search->profile && host_wanted_read(denial->host, &wanted)
		       ? host_list_find(search->source->plan, search->profile, &wanted,
					(uint16_t)denial->port)
		       : NULL;
}

/* Say what can be done about an address that is not dialled. False: the remedy of all counts. */
static bool describe_address(const struct search *search, const struct ipc_network_denial *denial,
			     struct denial_view *view)
{
	const struct plan_host *host = find_entry(search, denial);
	struct host_address address;
	const bool is_address = host_address_read(denial->host, &address);

	if (denial->reason == CONNECTION_REFUSED_OWN) {
		SAY(view->remedy,
		    "if one port of this machine is meant, in the operator's profile, hosts: "
		    "[{host: \"%.200s:%u\", to: \"%s:%u\"}]",
		    is_address ? "NAME" : denial->host, denial->port,
		    is_address ? denial->host : "ADDRESS", denial->port);
		SAY(view->hint,
		    "%.50s leads to this machine, whose ports no entry without `to` "
		    "reaches",
		    view->target);
		return true;
	}
	if (denial->reason != CONNECTION_REFUSED_ADDRESS || !host ||
	    !(host->is_private || host->to_port || is_address))
		return false;
	if (host->to_port)
		SAY(view->remedy,
		    "in the operator's profile, an address of this machine in `to` of "
		    "its entry");
	else
		SAY(view->remedy, "none: no profile can allow link-local and metadata addresses, "
				  "or what this machine's routes forbid");
	SAY(view->hint,
	    host->to_port ? "%.50s leads to an address that is not this machine's"
			  : "%.50s leads to an address that no profile reaches",
	    view->target);
	return true;
}

static void put_policy(const struct search *search, const struct ipc_network_denial *denial,
		       struct denial_view *view, struct decision *ret)
{
	char text[IPC_HOST_MAX + 32];
	struct operation operation;

	SAY(text, "connect %s:%u", denial->host, denial->port ? denial->port : 443U);
	if (!search->profile || !hint_ask_policy(search, text, &operation, ret))
		return;
	hint_describe(search, ret, view);
	if (ret->answer != DECISION_REFUSED)
		SAY(view->remedy, "%s", words[denial->reason].remedy);
}

static void describe_kind(const struct search *search, const struct ipc_network_denial *denial,
			  struct denial_view *view)
{
	struct decision decision = { .approval = PLAN_HOST_APPROVAL_NEVER };
	const struct plan_profile *profile;
	const char *name;

	*view = (struct denial_view){ .layer = "network",
				      .weight = DENIAL_FIRST,
				      .count = denial->count,
				      .is_network = true,
				      .is_shared = denial->is_shared != 0 };
	SAY(view->operation, "%s", denial->port ? "connect" : "resolve");
	if (denial->port)
		SAY(view->target, "%.190s:%u", denial->host, denial->port);
	else
		SAY(view->target, "%.200s", denial->host);
	put_policy(search, denial, view, &decision);
	SAY(view->reason, "%s", words[denial->reason].reason);
	profile = denial->reason < CONNECTION_REFUSED_ADDRESS && search->profile
			  ? profile_reaching(search->source->plan, denial->host,
					     (uint16_t)denial->port)
			  : NULL;
	if (profile) {
		name = plan_string(search->source->plan, profile->name);
		SAY(view->remedy, "the profile %s reaches %s", name, denial->host);
		SAY(view->hint, "%.60s cannot be reached; the profile %.30s reaches it",
		    view->target, name);
		return;
	}
	if (denial->reason < CONNECTION_REFUSED_ADDRESS &&
	    hint_approve(search, &decision, denial->host, (uint16_t)denial->port, view))
		return;
	if (describe_address(search, denial, view))
		return;
	SAY(view->hint,
	    denial->reason < CONNECTION_REFUSED_ADDRESS
		    ? "%.70s is not among the hosts and ports of this profile"
	    : denial->reason == CONNECTION_REFUSED_ADDRESS
		    ? "%.60s leads to addresses that this profile does not reach"
	    : denial->reason == CONNECTION_REFUSED_HIDDEN
		    ? "%.70s was refused, hidden name: use kind https"
		    : "%.70s was refused by the network of this profile",
	    view->target);
}

static void describe_rest(const struct ipc_network_denial *denial, struct denial_view *view)
{
	*view = (struct denial_view){ .layer = "network",
				      .weight = DENIAL_LAST,
				      .count = denial->count,
				      .is_shared = denial->is_shared != 0 };
	SAY(view->operation, "more hosts");
	SAY(view->reason, "only the first %d kinds of refusals are told apart",
	    NETWORK_DENIALS_MAX);
}

/* Say which host the policy allows, and why there was no connection; the first one counts. */
static void describe_failure(const struct search *search, const struct ipc_network_denial *denial,
			     struct denial_views *ret)
{
	const struct plan_host *host = denial->port ? find_entry(search, denial) : NULL;
	const char *why =
		denial->reason == CONNECTION_UNKNOWN           ? "no name server knows it"
		: denial->reason == CONNECTION_PROXY_UNREACHED ? "the proxy of the profile's "
								 "`through` does not answer"
		: host && host->to_port ? "no server of this machine listens where its entry leads"
		: denial->port          ? "no server of it could be reached"
					: "no name server answered for it";

	if (ret->unreached[0])
		return;
	if (denial->port)
		SAY(ret->unreached, "%.50s:%u is allowed, but %s", denial->host, denial->port, why);
	else
		SAY(ret->unreached, "%.60s is allowed, but %s", denial->host, why);
}

void denials_add_network(const struct hint_source *source, const struct network_denials *network,
			 struct denial_views *ret)
{
	const struct search search = { .source = source,
				       .profile = profile_find(source->plan, source->profile) };

	for (uint32_t i = 0; network && i < network->count; i++) {
		const struct ipc_network_denial *denial = &network->items[i];

		if (denial->reason >= CONNECTION_REFUSED_COUNT)
			continue;
		if (denial->host[0] && denial->reason >= CONNECTION_UNKNOWN)
			describe_failure(&search, denial, ret);
		else if (denial->host[0])
			describe_kind(&search, denial, &ret->items[ret->count++]);
		else
			describe_rest(denial, &ret->items[ret->count++]);
	}
}
