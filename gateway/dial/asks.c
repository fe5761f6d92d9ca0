/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/asks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/resolver.h"
#include "common/share.h"
#include "gateway/dial/attempt.h"
#include "gateway/dial/below.h"
#include "gateway/dial/lookup.h"
#include "gateway/dial/sandboxes.h"
#include "stewards/base/counters.h"
#include "stewards/base/record.h"

enum ask_state {
	ASK_FREE = 0,
	ASK_ASKING, /* msp-cable, whether the host may be reached */
	ASK_RECORDING,
	ASK_RESOLVING,
	ASK_CONNECTING,
	ASK_GONE, /* answered; the record's answer is awaited */
};

static struct ask {
	enum ask_state state;
	bool is_name;        /* asked for a name, not for a connection */
	uint64_t number;     /* msp-egress's */
	uint64_t connection; /* ours; of a question to msp-cable likewise */
	uint32_t slot, use;
	struct attempt attempt;
} asks[ASKS_MAX];

static uint32_t of_slot[GATEWAY_SLOTS], used; /* questions */
static struct outbox *to_cable, *to_egress, *to_audit;
static uint64_t connections; /* numbers of connections so far */
static uint64_t questions;   /* likewise, to msp-cable */
static uint64_t now;
static int failure; /* the first -errno of an answer */

void asks_begin(struct outbox *cable, struct outbox *egress, struct outbox *audit)
{
	to_cable = cable;
	to_egress = egress;
	to_audit = audit;
}

static void note_failure(int error)
{
	if (failure == 0)
		failure = error;
}

static void free_ask(struct ask *ask)
{
	ask->state = ASK_FREE;
	of_slot[ask->slot]--;
	used--;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Answer a question but for a socket. */
static void end_question(uint64_t number, enum dial_result result)
{
	const struct ipc_ask_done done = { number, (uint32_t)result };

	note_failure(outbox_send(to_egress, IPC_TYPE_ask_done, &done));
}

/* Answer a question, whose connection is not recorded, and forget it. */
static void end_ask(struct ask *ask, enum dial_result result)
{
	end_question(ask->number, result);
	free_ask(ask);
}

static void print_address(const struct attempt *attempt, char ret[IPC_ADDRESS_MAX])
{
	const struct host_address *address = &attempt->addresses[attempt->at];
	const bool is_ipv4 = host_address_is_ipv4(address);

	(void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address->bytes + (is_ipv4 ? HOST_IPV4_AT : 0),
			ret, IPC_ADDRESS_MAX);
}

/* Report the end of a connection that msp-egress never had. */
static void report_end(const struct ask *ask, enum connection_end reason)
{
	struct ipc_connection_end end = { .number = ask->connection,
					  .slot = ask->slot,
					  .use = ask->use,
					  .reason = (uint32_t)reason };

	if (ask->attempt.count > 0)
		print_address(&ask->attempt, end.address);
	note_failure(outbox_send(to_cable, IPC_TYPE_connection_end, &end));
}

/* Report a refusal or failure, which is counted, before the workload hears of it. Return what it
 * hears: while msp-cable does not read, that the answer cannot be had. */
static enum dial_result report_refused(const struct ask *ask, uint32_t port,
				       enum connection_refused reason)
{
	struct ipc_connection_refused refused = { .time_us = clock_now_us(),
						  .slot = ask->slot,
						  .use = ask->use,
						  .port = port,
						  .reason = (uint32_t)reason };
	int error = -EAGAIN;

	memcpy(refused.host, ask->attempt.wanted.name, sizeof(refused.host));
	if (to_cable->count == 0)
		error = channel_send(to_cable->channel, IPC_TYPE_connection_refused, &refused, NULL,
				     MSG_DONTWAIT);
	if (error == 0)
		counters_raise(ask->slot);
	else if (error != -EAGAIN)
		note_failure(error);
	return error == 0 && reason < CONNECTION_UNKNOWN ? DIAL_RESULT_REFUSED : DIAL_RESULT_FAILED;
}

/* Answer with a refusal after the connection's begin was recorded. */
static void give_up(struct ask *ask, enum connection_end reason, enum dial_result result)
{
	report_end(ask, reason);
	attempt_end(&ask->attempt);
	end_ask(ask, result);
}

/* A socket does not wait behind other answers: msp-egress has more of them than it reads. */
static void hand_over(struct ask *ask)
{
	int error = -EAGAIN;
	struct ipc_dial_done done = { .number = ask->number,
				      .connection = ask->connection,
				      .kind = ask->attempt.host->kind };

	print_address(&ask->attempt, done.address);
	if (to_egress->count == 0)
		error = channel_send(to_egress->channel, IPC_TYPE_dial_done, &done,
				     &ask->attempt.fd, MSG_DONTWAIT);
	if (error == -EAGAIN) {
		give_up(ask, CONNECTION_END_LIMIT, DIAL_RESULT_FAILED);
		return;
	}
	note_failure(error);
	attempt_end(&ask->attempt);
	free_ask(ask);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Give up a connection that policy or the proxy refuses, or that fails. */
static void give_up_counted(struct ask *ask, enum connection_end end,
			    enum connection_refused reason)
{
	give_up(ask, end, report_refused(ask, ask->attempt.port, reason));
}

/* The ends of attempts that fail, and the reasons by which they are counted. */
static const struct {
	enum connection_end end;
	enum connection_refused reason;
} failures[ATTEMPT_STATE_COUNT] = {
	[ATTEMPT_FAILED] = { CONNECTION_END_DIAL, CONNECTION_UNREACHED },
	[ATTEMPT_NO_ROUTE] = { CONNECTION_END_NO_ROUTE, CONNECTION_UNREACHED },
	[ATTEMPT_FORBIDDEN] = { CONNECTION_END_FORBIDDEN, CONNECTION_REFUSED_ADDRESS },
	[ATTEMPT_OWN] = { CONNECTION_END_FORBIDDEN, CONNECTION_REFUSED_OWN },
	[ATTEMPT_PROXY_FAILED] = { CONNECTION_END_PROXY_DIAL, CONNECTION_PROXY_UNREACHED },
	[ATTEMPT_PROXY_REFUSED] = { CONNECTION_END_PROXY_REFUSED, CONNECTION_REFUSED_PROXY },
	[ATTEMPT_PROXY_LOGIN] = { CONNECTION_END_PROXY_LOGIN, CONNECTION_REFUSED_PROXY },
	[ATTEMPT_PROXY_BROKEN] = { CONNECTION_END_PROXY_ANSWER, CONNECTION_PROXY_UNREACHED },
};

static void take_state(struct ask *ask, enum attempt_state state)
{
	ask->state = ASK_CONNECTING;
	if (state == ATTEMPT_CONNECTED)
		hand_over(ask);
	else if (state != ATTEMPT_WAITS)
		give_up_counted(ask, failures[state].end, failures[state].reason);
}

static void take_resolution(struct ask *ask, const struct resolution *resolution)
{
	static const enum dial_result results[] = {
		[RESOLVE_DONE] = DIAL_RESULT_FINE,
		[RESOLVE_NO_NAME] = DIAL_RESULT_NO_NAME,
		[RESOLVE_FAILED] = DIAL_RESULT_FAILED,
	};
	const enum dial_result result = results[resolution->end];
	const enum connection_refused reason =
		result == DIAL_RESULT_NO_NAME ? CONNECTION_UNKNOWN : CONNECTION_UNREACHED;

	if (ask->is_name && result != DIAL_RESULT_FINE)
		(void)report_refused(ask, 0, reason);
	if (ask->is_name)
		end_ask(ask, result);
	else if (result != DIAL_RESULT_FINE && ask->attempt.is_through)
		take_state(ask, ATTEMPT_PROXY_FAILED);
	else if (result != DIAL_RESULT_FINE)
		give_up_counted(ask, CONNECTION_END_DIAL, reason);
	else
		take_state(ask, attempt_begin(&ask->attempt, resolution, now));
}

static void resolve_name(struct ask *ask)
{
	const struct resolution *known;

	ask->state = ASK_RESOLVING;
	known = lookup_name(ask->slot, ask->attempt.peer.name, now);
	if (known)
		take_resolution(ask, known);
}

void event_lookup_done(const char *name, const struct resolution *resolution)
{
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		if (asks[i].state == ASK_RESOLVING && strcmp(asks[i].attempt.peer.name, name) == 0)
			take_resolution(&asks[i], resolution);
	}
}

/* --- questions -------------------------------------------------------------------------------- */

/* Take room for a question, or NULL: the sandbox has its share of it. */
static struct ask *take_ask(uint64_t number, uint32_t slot, uint32_t use, bool is_name)
{
	if (slot >= GATEWAY_SLOTS || !share_grants(of_slot[slot], used, ASKS_MAX, 1))
		return NULL;
	of_slot[slot]++;
	used++;
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		if (asks[i].state != ASK_FREE)
			continue;
		asks[i] = (struct ask){ .is_name = is_name,
					.number = number,
					.slot = slot,
					.use = use,
					.attempt = { .fd = -1 } };
		return &asks[i];
	}
	return NULL;
}

/* Choose who is dialled for a host that an entry of the profile covers. */
static void choose_peer(struct attempt *attempt, const struct plan_profile *profile,
			const struct plan_host *host)
{
	const char *proxy = host_list_proxy(profile, host, &attempt->wanted);

	attempt->host = host;
	attempt->is_through = proxy != NULL;
	attempt->peer = attempt->wanted;
	attempt->peer_port = attempt->port;
	if (proxy != NULL) {
		(void)host_wanted_read(proxy, &attempt->peer); /* another text is an empty name */
		attempt->peer_port = profile->through.port;
	} else if (host->to_port != 0) {
		attempt->peer.is_address = true;
		memcpy(attempt->peer.address.bytes, host->to, sizeof(host->to));
		attempt->peer_port = (uint16_t)host->to_port;
	}
}

/* msp-egress writes a host as we do. */
static bool read_wanted(const char *host, struct host_wanted *ret)
{
	if (!host_is_written(host) || !host_wanted_read(host, ret))
		return false;
	memcpy(ret->name, host, strlen(host) + 1); /* an address's, too */
	return true;
}

/* Entries of hosts that are granted beside the list: their addresses are public ones. */
static const struct plan_host granted_tls = { .port = HOST_PORT_DEFAULT, .kind = PLAN_HOST_TLS };
static const struct plan_host granted_tcp = { .kind = PLAN_HOST_TCP };

static const struct plan_host *granted_entry(const struct ask *ask)
{
	return ask->attempt.port == HOST_PORT_DEFAULT ? &granted_tls : &granted_tcp;
}

/* Refuse a question, which is over with that. */
static void refuse_host(struct ask *ask, enum connection_refused reason)
{
	const bool is_probe =
		ask->is_name && strcmp(ask->attempt.wanted.name, RESOLVER_PROBE_NAME) == 0;

	end_ask(ask,
		is_probe ? DIAL_RESULT_REFUSED : report_refused(ask, ask->attempt.port, reason));
}

static void refuse_unlisted(struct ask *ask, const struct sandbox_policy *policy)
{
	const bool is_host_listed = !ask->is_name && host_list_find(policy->plan, policy->profile,
								    &ask->attempt.wanted, 0);

	refuse_host(ask, is_host_listed ? CONNECTION_REFUSED_PORT : CONNECTION_REFUSED_HOST);
}

static void record_begin(struct ask *ask, const char *sandbox)
{
	const struct audit_field fields[] = {
		AUDIT_NUMBER(cable, ask->use),
		AUDIT_NUMBER(connection, ++connections),
		AUDIT_TEXT(host, ask->attempt.wanted.name),
		AUDIT_NUMBER(port, ask->attempt.port),
		ask->attempt.is_through ? AUDIT_NUMBER(through, 1)
					: (struct audit_field){ .key = AUDIT_KEY_NONE },
		record_sandbox(sandbox),
	};

	ask->connection = connections;
	ask->state = ASK_RECORDING;
	note_failure(outbox_send(to_audit, IPC_TYPE_audit_record,
				 record_make(AUDIT_CONNECTION_BEGIN, fields,
					     sizeof(fields) / sizeof(fields[0]), connections)));
}

/* Go on with a host that may be reached. */
static void allow_host(struct ask *ask, const struct sandbox_policy *policy,
		       const struct plan_host *host)
{
	choose_peer(&ask->attempt, policy->profile, host);
	if (!ask->attempt.is_through && host_pattern_parent(host->pattern) != NULL &&
	    !below_take(ask->slot, ask->attempt.wanted.name, now)) {
		(void)report_refused(ask, ask->attempt.port, CONNECTION_REFUSED_NAMES);
		end_ask(ask, DIAL_RESULT_FAILED); /* it may be asked later */
	} else if (!ask->is_name) {
		record_begin(ask, policy->sandbox);
	} else if (ask->attempt.is_through || ask->attempt.peer.is_address) {
		/* the proxy resolves the name, or the entry says where it leads */
		end_ask(ask, DIAL_RESULT_FINE);
	} else {
		resolve_name(ask);
	}
}

static void ask_cable(struct ask *ask)
{
	struct ipc_host_ask question = { .number = ++questions,
					 .slot = ask->slot,
					 .use = ask->use,
					 .port = ask->attempt.port,
					 .is_listed = ask->attempt.host != NULL };

	memcpy(question.host, ask->attempt.wanted.name, sizeof(ask->attempt.wanted.name));
	ask->connection = questions;
	ask->state = ASK_ASKING;
	note_failure(outbox_send(to_cable, IPC_TYPE_host_ask, &question));
}

/* Decide on a question from the plan, as far as that can. */
static int take_question(struct ask *ask)
{
	struct attempt *attempt = &ask->attempt;
	struct sandbox_policy policy;

	if (!sandboxes_find(ask->slot, ask->use, &policy)) {
		end_ask(ask, DIAL_RESULT_FAILED);
		return failure;
	}
	if (ask->is_name)
		attempt->host = host_list_find(policy.plan, policy.profile, &attempt->wanted, 0);
	else if (dial_find(policy.plan, policy.profile, &attempt->wanted, attempt->port,
			   &attempt->host) != DIAL_ALLOWED)
		attempt->host = NULL;
	if (attempt->host ? policy.is_tightened
			  : host_list_may_grow(policy.profile, &attempt->wanted))
		ask_cable(ask);
	else if (attempt->host)
		allow_host(ask, &policy, attempt->host);
	else
		refuse_unlisted(ask, &policy);
	return failure;
}

static int take_wanted(struct ask *ask, uint64_t number, const struct host_wanted *wanted,
		       uint32_t port)
{
	if (!ask) {
		end_question(number, DIAL_RESULT_FAILED);
		return failure;
	}
	ask->attempt.wanted = *wanted;
	ask->attempt.port = (uint16_t)port;
	return take_question(ask);
}

int asks_take_name(const struct ipc_name_ask *from, uint64_t now_ms)
{
	struct host_wanted wanted;

	now = now_ms;
	if (!read_wanted(from->host, &wanted) || wanted.is_address)
		return -EPROTO;
	return take_wanted(take_ask(from->number, from->slot, from->use, true), from->number,
			   &wanted, 0);
}

int asks_take_dial(const struct ipc_dial_ask *from, uint64_t now_ms)
{
	struct host_wanted wanted;

	now = now_ms;
	if (!read_wanted(from->host, &wanted) || from->port > UINT16_MAX)
		return -EPROTO;
	return take_wanted(take_ask(from->number, from->slot, from->use, false), from->number,
			   &wanted, from->port);
}

static struct ask *find_asking(uint64_t number)
{
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		if (asks[i].state == ASK_ASKING && asks[i].connection == number)
			return &asks[i];
	}
	return NULL;
}

int asks_told(const struct ipc_host_told *told, uint64_t now_ms)
{
	struct ask *ask = find_asking(told->number);
	struct sandbox_policy policy;

	now = now_ms;
	if (!ask || told->answer >= HOST_ANSWER_COUNT)
		return -EPROTO;
	if (!sandboxes_find(ask->slot, ask->use, &policy)) {
		end_ask(ask, DIAL_RESULT_FAILED);
	} else if (told->answer == HOST_ANSWER_CUT) {
		refuse_host(ask, CONNECTION_REFUSED_CUT);
	} else if (told->answer == HOST_ANSWER_REFUSED) {
		refuse_unlisted(ask, &policy);
	} else {
		allow_host(ask, &policy,
			   ask->attempt.host ? ask->attempt.host : granted_entry(ask));
	}
	return failure;
}

static struct ask *find_connection(uint64_t connection)
{
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		if ((asks[i].state == ASK_RECORDING || asks[i].state == ASK_GONE) &&
		    asks[i].connection == connection)
			return &asks[i];
	}
	return NULL;
}

int asks_recorded(const struct ipc_audit_written *written, uint64_t now_ms)
{
	struct ask *ask = find_connection(written->number);
	struct resolution literal = { .end = RESOLVE_DONE, .count = 1 };

	now = now_ms;
	if (!ask)
		return -EPROTO;
	if (ask->state == ASK_GONE) {
		if (written->error == 0)
			report_end(ask, CONNECTION_END_SANDBOX);
		free_ask(ask);
		return failure;
	}
	if (written->error != 0) {
		end_ask(ask, DIAL_RESULT_FAILED);
	} else if (ask->attempt.peer.is_address) {
		literal.addresses[0] = ask->attempt.peer.address;
		take_resolution(ask, &literal);
	} else {
		resolve_name(ask);
	}
	return failure;
}

int asks_end_sandbox(uint32_t slot)
{
	below_forget(slot);
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		struct ask *ask = &asks[i];

		if (ask->state == ASK_FREE || ask->state == ASK_ASKING || ask->state == ASK_GONE ||
		    ask->slot != slot)
			continue; /* msp-cable answers a question even then */
		if (ask->is_name) {
			end_ask(ask, DIAL_RESULT_FAILED);
		} else if (ask->state == ASK_RECORDING) {
			end_question(ask->number, DIAL_RESULT_FAILED);
			ask->state = ASK_GONE;
		} else {
			give_up(ask, CONNECTION_END_SANDBOX, DIAL_RESULT_FAILED);
		}
	}
	return failure;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void shorten_wait(uint64_t due_ms, uint64_t now_ms, int *timeout_ms)
{
	const uint64_t left = due_ms > now_ms ? due_ms - now_ms : 0;

	if (left < (uint64_t)*timeout_ms)
		*timeout_ms = (int)left;
}

uint32_t asks_wants(struct pollfd polled[ASKS_MAX], uint64_t now_ms, int *timeout_ms)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		const struct attempt *attempt = &asks[i].attempt;

		if (asks[i].state != ASK_CONNECTING)
			continue;
		polled[count++] = (struct pollfd){ .fd = attempt->fd, .events = attempt->events };
		shorten_wait(attempt->due_ms, now_ms, timeout_ms);
		shorten_wait(attempt->end_ms, now_ms, timeout_ms);
	}
	return count;
}

int asks_handle(const struct pollfd *polled, uint32_t count, uint64_t now_ms)
{
	uint32_t at = 0;

	now = now_ms;
	/* In the order of asks_wants(). */
	for (uint32_t i = 0; i < ASKS_MAX; i++) {
		struct attempt *attempt = &asks[i].attempt;
		bool is_ready;

		if (asks[i].state != ASK_CONNECTING)
			continue;
		while (at < count && polled[at].fd != attempt->fd)
			at++;
		is_ready = at < count && polled[at].revents != 0;
		take_state(&asks[i], attempt_go_on(attempt, is_ready, now_ms));
	}
	return failure;
}
