/* SPDX-License-Identifier: Apache-2.0
 *
 * The questions of msp-egress from one state to the next, with a test in the places of both peers,
 * of the name servers and of the network.
 */
#include "gateway/dial/asks.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/audit_record.h"
#include "common/resolver.h"
#include "gateway/dial/attempt.h"
#include "gateway/dial/below.h"
#include "gateway/dial/lookup.h"
#include "gateway/dial/sandboxes.h"
#include "plan_blob.h"
#include "stewards/base/counters.h"
#include "support.h"

#define SLOT 5U
#define USE 7U
#define OWN_ADDRESS [10] = 0xff, 0xff, 127, 0, 0, 1

static struct channel cable = { -1, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SERVE };
static struct channel egress = { -1, IPC_DIAL, IPC_EGRESS, IPC_SERVE };
static struct channel far_cable = { -1, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE };
static struct channel far_egress = { -1, IPC_EGRESS, IPC_DIAL, IPC_SERVE };
static struct channel audit = { -1, IPC_SUPERVISOR, IPC_AUDIT, IPC_SERVE };
static struct channel far_audit = { -1, IPC_AUDIT, IPC_SUPERVISOR, IPC_SERVE };
static struct outbox to_cable = { .channel = &cable }, to_egress = { .channel = &egress },
		     to_audit = { .channel = &audit };
static struct channel_message message;

/* The answers of the name servers and of the network. */
static struct resolution known; /* end RESOLVE_DONE and no address: it comes later */
static uint32_t lookups;
static char looked_up[HOST_NAME_MAX_SIZE];
static enum attempt_state next_state;
static struct attempt began;

static struct plan_proxy proxy; /* the profile's; empty: none */
static uint32_t host_approval;  /* the profile's */

const struct resolution *lookup_name(uint32_t slot, const char *name, uint64_t now_ms)
{
	(void)slot;
	(void)now_ms;
	(void)strcpy(looked_up, name);
	lookups++;
	return known.end == RESOLVE_DONE && known.count == 0 ? NULL : &known;
}

enum attempt_state attempt_begin(struct attempt *attempt, const struct resolution *resolution,
				 uint64_t now_ms)
{
	attempt->count = resolution->count;
	memcpy(attempt->addresses, resolution->addresses, sizeof(attempt->addresses));
	attempt->due_ms = attempt->end_ms = now_ms + 1000;
	attempt->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	began = *attempt;
	return next_state;
}

enum attempt_state attempt_go_on(struct attempt *attempt, bool is_ready, uint64_t now_ms)
{
	(void)attempt;
	return is_ready || now_ms >= 1000 ? next_state : ATTEMPT_WAITS;
}

void attempt_end(struct attempt *attempt)
{
	fd_close(&attempt->fd);
}

static void open_channels(struct channel *own, struct channel *far)
{
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	own->fd = ends[0];
	far->fd = ends[1];
}

static void take_plan(void)
{
	static const struct plan_host hosts[] = {
		{ .pattern = "a.example", .port = 443, .kind = PLAN_HOST_TLS },
		{ .pattern = "10.0.0.0/24", .port = 22 },
		{ .pattern = "db.example", .port = 22, .is_private = 1 },
		{ .pattern = "8.8.8.8", .port = 853 },
		{ .pattern = "*.wild.example", .port = 443 },
		{ .pattern = "own.example", .port = 5432, .to = { OWN_ADDRESS }, .to_port = 5433 },
	};
	static struct {
		struct blob blob;
		struct plan_host hosts[sizeof(hosts) / sizeof(hosts[0])];
	} bytes;
	int fd;

	(void)blob_make(&bytes.blob);
	memcpy(bytes.hosts, hosts, sizeof(hosts));
	bytes.blob.profile.through = proxy;
	bytes.blob.profile.host_approval = host_approval;
	bytes.blob.profile.network = PLAN_NETWORK_HOSTS;
	bytes.blob.profile.hosts = sizeof(bytes.blob);
	bytes.blob.profile.host_count = sizeof(hosts) / sizeof(hosts[0]);
	bytes.blob.header.size = sizeof(bytes) + 8; /* strings end with the last byte */
	static uint8_t whole[sizeof(bytes) + 8];
	memcpy(whole, &bytes, sizeof(bytes));
	fd = fd_sealed_from_bytes("plan", whole, sizeof(whole));
	cr_assert_eq(sandboxes_take_plan(0, fd), 0);
	close(fd);
}

static const _Atomic uint64_t *counters;

static void open_all(void)
{
	void *mapped;
	const struct ipc_dial_begin begin = { SLOT, USE, 0, 0, "0123456789abcdef" };

	open_channels(&cable, &far_cable);
	open_channels(&egress, &far_egress);
	open_channels(&audit, &far_audit);
	counters_open(fd_of_memory(GATEWAY_COUNTERS_SIZE, &mapped));
	counters = mapped;
	asks_begin(&to_cable, &to_egress, &to_audit);
	take_plan();
	cr_assert_eq(sandboxes_begin(&begin), 0);
	known = (struct resolution){ .count = 1,
				     .addresses = { { { [10] = 0xff, 0xff, 8, 8, 4, 4 } } } };
	next_state = ATTEMPT_WAITS;
}

static void open_with_proxy(void)
{
	proxy = (struct plan_proxy){ .host = "proxy.example", .port = 3128 };
	open_all();
}

static void open_with_approval(void)
{
	host_approval = PLAN_HOST_APPROVAL_PERSON;
	open_with_proxy();
}

static int ask_dial(uint64_t number, const char *host, uint32_t port)
{
	struct ipc_dial_ask ask = { .number = number, .slot = SLOT, .use = USE, .port = port };

	memcpy(ask.host, host, strlen(host) + 1);
	return asks_take_dial(&ask, 1);
}

static int ask_name(uint64_t number, const char *host)
{
	struct ipc_name_ask ask = { .number = number, .slot = SLOT, .use = USE };

	memcpy(ask.host, host, strlen(host) + 1);
	return asks_take_name(&ask, 1);
}

/* Receive the next message of a channel. 0: there is none. */
static uint32_t receive_type(const struct channel *channel)
{
	enum ipc_error wrong;

	channel_message_done(&message);
	return channel_receive(channel, &message, MSG_DONTWAIT, &wrong) == 1 ? message.type : 0;
}

/* Take the record of a connection. Return its number. */
static uint64_t take_record(void)
{
	cr_assert_eq(receive_type(&far_audit), IPC_TYPE_audit_record);
	cr_expect_eq(ipc_body(&message, audit_record)->event, AUDIT_CONNECTION_BEGIN);
	return ipc_body(&message, audit_record)->number;
}

/* Have a connection recorded. */
static uint64_t answer_record(uint32_t error)
{
	const struct ipc_audit_written written = { take_record(), error };

	cr_assert_eq(asks_recorded(&written, 1), 0);
	return written.number;
}

static void expect_result(uint64_t number, enum dial_result result)
{
	cr_assert_eq(receive_type(&far_egress), IPC_TYPE_ask_done);
	cr_expect_eq(ipc_body(&message, ask_done)->number, number);
	cr_expect_eq(ipc_body(&message, ask_done)->result, (uint32_t)result);
}

static void expect_end(uint64_t connection, enum connection_end reason, const char *address)
{
	cr_assert_eq(receive_type(&far_cable), IPC_TYPE_connection_end);
	cr_expect_eq(ipc_body(&message, connection_end)->number, connection);
	cr_expect_eq(ipc_body(&message, connection_end)->reason, (uint32_t)reason);
	cr_expect_str_eq(ipc_body(&message, connection_end)->address, address);
}

static void expect_silence(void)
{
	cr_expect_eq(receive_type(&far_egress), 0);
	cr_expect_eq(receive_type(&far_cable), 0);
}

Test(asks, a_connection_is_recorded_then_resolved_then_dialled, .init = open_all)
{
	uint64_t connection;

	cr_assert_eq(ask_dial(1, "a.example", 443), 0);
	cr_expect_eq(lookups, 0, "not before the record");
	connection = answer_record(0);
	cr_expect_eq(lookups, 1);
	expect_silence();
	next_state = ATTEMPT_CONNECTED;
	cr_expect_neq(fcntl(began.fd, F_GETFD), -1);
	cr_assert_eq(asks_handle(NULL, 0, 1000), 0);
	cr_expect_eq(fcntl(began.fd, F_GETFD), -1, "the socket is msp-egress' alone");
	cr_assert_eq(receive_type(&far_egress), IPC_TYPE_dial_done);
	cr_expect_eq(ipc_body(&message, dial_done)->number, 1);
	cr_expect_eq(ipc_body(&message, dial_done)->connection, connection);
	cr_expect_eq(ipc_body(&message, dial_done)->kind, PLAN_HOST_TLS);
	cr_expect_str_eq(ipc_body(&message, dial_done)->address, "8.8.4.4");
	cr_expect_eq(message.fd_count, 1);
	expect_silence();
}

Test(asks, without_a_record_nothing_is_asked, .init = open_all)
{
	cr_assert_eq(ask_dial(1, "a.example", 443), 0);
	(void)answer_record(ENOSPC);
	expect_result(1, DIAL_RESULT_FAILED);
	cr_expect_eq(lookups, 0);
	expect_silence();
}

static void expect_reported(const char *host, enum connection_refused reason)
{
	cr_assert_eq(receive_type(&far_cable), IPC_TYPE_connection_refused);
	cr_expect_str_eq(ipc_body(&message, connection_refused)->host, host);
	cr_expect_eq(ipc_body(&message, connection_refused)->reason, reason, "%s", host);
}

Test(asks, ends_that_msp_dial_reports, .init = open_all)
{
	static const struct {
		enum attempt_state state;
		enum connection_end reason;
		enum dial_result result;
		enum connection_refused counted;
	} rows[] = {
		{ ATTEMPT_FAILED, CONNECTION_END_DIAL, DIAL_RESULT_FAILED, CONNECTION_UNREACHED },
		{ ATTEMPT_NO_ROUTE, CONNECTION_END_NO_ROUTE, DIAL_RESULT_FAILED,
		  CONNECTION_UNREACHED },
		{ ATTEMPT_FORBIDDEN, CONNECTION_END_FORBIDDEN, DIAL_RESULT_REFUSED,
		  CONNECTION_REFUSED_ADDRESS },
		{ ATTEMPT_OWN, CONNECTION_END_FORBIDDEN, DIAL_RESULT_REFUSED,
		  CONNECTION_REFUSED_OWN },
		{ ATTEMPT_PROXY_FAILED, CONNECTION_END_PROXY_DIAL, DIAL_RESULT_FAILED,
		  CONNECTION_PROXY_UNREACHED },
		{ ATTEMPT_PROXY_REFUSED, CONNECTION_END_PROXY_REFUSED, DIAL_RESULT_REFUSED,
		  CONNECTION_REFUSED_PROXY },
		{ ATTEMPT_PROXY_LOGIN, CONNECTION_END_PROXY_LOGIN, DIAL_RESULT_REFUSED,
		  CONNECTION_REFUSED_PROXY },
		{ ATTEMPT_PROXY_BROKEN, CONNECTION_END_PROXY_ANSWER, DIAL_RESULT_FAILED,
		  CONNECTION_PROXY_UNREACHED },
	};
	uint64_t connection;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		next_state = rows[i].state;
		cr_assert_eq(ask_dial(i, "a.example", 443), 0);
		connection = answer_record(0);
		expect_reported("a.example", rows[i].counted);
		cr_expect_eq(counters[SLOT], i + 1, "%zu", i);
		expect_end(connection, rows[i].reason, "8.8.4.4");
		expect_result(i, rows[i].result);
		expect_silence();
	}
	cr_expect_eq(counters[SLOT + 1], 0);
	known = (struct resolution){ .end = RESOLVE_NO_NAME };
	cr_assert_eq(ask_dial(9, "a.example", 443), 0);
	connection = answer_record(0);
	expect_reported("a.example", CONNECTION_UNKNOWN);
	expect_end(connection, CONNECTION_END_DIAL, "");
	expect_result(9, DIAL_RESULT_FAILED);
}

/* Have a connection recorded. Return whether the record says that it goes by the proxy. */
static bool answer_record_of_proxy(void)
{
	const struct ipc_audit_written written = { take_record(), 0 };
	const struct ipc_audit_record *record = ipc_body(&message, audit_record);
	bool is_through = false;

	for (uint32_t i = 0; i < record->field_count; i++)
		is_through |= record->fields[i].key == AUDIT_KEY_through;
	cr_assert_eq(asks_recorded(&written, 1), 0);
	return is_through;
}

Test(asks, a_proxy_is_dialled_in_the_place_of_a_host, .init = open_with_proxy)
{
	next_state = ATTEMPT_CONNECTED;
	cr_assert_eq(ask_dial(1, "a.example", 443), 0);
	cr_expect(answer_record_of_proxy());
	cr_expect_str_eq(looked_up, "proxy.example");
	cr_expect(began.is_through);
	cr_expect_eq(began.peer_port, 3128);
	cr_expect_eq(began.port, 443);
	cr_expect_str_eq(began.wanted.name, "a.example");
	cr_assert_eq(receive_type(&far_egress), IPC_TYPE_dial_done);
	cr_expect_str_eq(ipc_body(&message, dial_done)->address, "8.8.4.4");
	expect_silence();
}

Test(asks, the_proxy_resolves_the_names, .init = open_with_proxy)
{
	known = (struct resolution){ .end = RESOLVE_NO_NAME };
	cr_assert_eq(ask_name(1, "a.example"), 0);
	expect_result(1, DIAL_RESULT_FINE);
	cr_expect_eq(lookups, 0);
	cr_assert_eq(ask_name(2, "db.example"), 0);
	expect_reported("db.example", CONNECTION_UNKNOWN);
	cr_expect_eq(ipc_body(&message, connection_refused)->port, 0);
	expect_result(2, DIAL_RESULT_NO_NAME);
	cr_expect_eq(lookups, 1, "a private host is resolved here");
	cr_assert_eq(ask_name(3, "proxy.example"), 0);
	cr_assert_eq(receive_type(&far_cable), IPC_TYPE_connection_refused);
	expect_result(3, DIAL_RESULT_REFUSED);
	expect_silence();
}

/* Neither a name server nor the proxy is asked for it. */
Test(asks, a_port_of_this_machine_is_dialled, .init = open_with_proxy)
{
	cr_assert_eq(ask_name(1, "own.example"), 0);
	expect_result(1, DIAL_RESULT_FINE);
	cr_assert_eq(ask_dial(2, "own.example", 5432), 0);
	cr_expect_not(answer_record_of_proxy());
	cr_expect_eq(lookups, 0);
	cr_expect_eq(began.peer_port, 5433);
	cr_expect_arr_eq(began.addresses[0].bytes, ((uint8_t[16]){ OWN_ADDRESS }), 16);
	cr_assert_eq(ask_dial(3, "own.example", 5433), 0);
	expect_reported("own.example", CONNECTION_REFUSED_PORT);
	expect_result(3, DIAL_RESULT_REFUSED);
	expect_silence();
}

/* Answer a question of msp-dial about a host beside the list. */
static void tell_host(const char *host, uint32_t port, uint32_t answer)
{
	struct ipc_host_told told = { .answer = answer };

	cr_assert_eq(receive_type(&far_cable), IPC_TYPE_host_ask);
	cr_expect_str_eq(ipc_body(&message, host_ask)->host, host);
	cr_expect_eq(ipc_body(&message, host_ask)->port, port);
	cr_expect_eq(ipc_body(&message, host_ask)->is_listed, 0);
	told.number = ipc_body(&message, host_ask)->number;
	cr_assert_eq(asks_told(&told, 1), 0);
}

Test(asks, a_host_beside_the_list_is_asked_about, .init = open_with_approval)
{
	cr_assert_eq(ask_dial(1, "new.example", 443), 0);
	tell_host("new.example", 443, HOST_ANSWER_GRANTED);
	(void)answer_record(0);
	cr_assert_eq(ask_name(2, "new.example"), 0);
	tell_host("new.example", 0, HOST_ANSWER_REFUSED);
	expect_reported("new.example", CONNECTION_REFUSED_HOST);
	expect_result(2, DIAL_RESULT_REFUSED);
	expect_silence();
}

/* A name that no list can have; the probe's is reported to nobody. */
Test(asks, names_of_no_host, .init = open_with_approval)
{
	cr_assert_eq(ask_name(1, "other.invalid"), 0);
	expect_reported("other.invalid", CONNECTION_REFUSED_HOST);
	expect_result(1, DIAL_RESULT_REFUSED);
	cr_assert_eq(ask_name(2, RESOLVER_PROBE_NAME), 0);
	expect_result(2, DIAL_RESULT_REFUSED);
	cr_assert_eq(ask_dial(3, RESOLVER_PROBE_NAME, 443), 0);
	expect_reported(RESOLVER_PROBE_NAME, CONNECTION_REFUSED_HOST);
	expect_result(3, DIAL_RESULT_REFUSED);
	expect_silence();
}

/* An address is never granted, and neither is the proxy, which reaches every host. */
Test(asks, what_is_not_asked_about, .init = open_with_approval)
{
	cr_assert_eq(ask_dial(1, "192.0.2.9", 443), 0);
	expect_reported("192.0.2.9", CONNECTION_REFUSED_HOST);
	expect_result(1, DIAL_RESULT_REFUSED);
	cr_assert_eq(ask_dial(2, "proxy.example", 3128), 0);
	expect_reported("proxy.example", CONNECTION_REFUSED_HOST);
	expect_result(2, DIAL_RESULT_REFUSED);
	cr_assert_eq(ask_name(3, "proxy.example"), 0);
	expect_reported("proxy.example", CONNECTION_REFUSED_HOST);
	expect_result(3, DIAL_RESULT_REFUSED);
	expect_silence();
}

Test(asks, private_hosts_are_dialled_directly, .init = open_with_proxy)
{
	static const struct {
		const char *host;
		uint32_t port, is_through;
	} rows[] = { { "db.example", 22, 0 }, { "10.0.0.9", 22, 0 }, { "8.8.8.8", 853, 1 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(ask_dial(i, rows[i].host, rows[i].port), 0);
		cr_expect_eq(answer_record_of_proxy(), rows[i].is_through != 0, "%s", rows[i].host);
		cr_expect_eq(began.is_through, rows[i].is_through != 0, "%s", rows[i].host);
		cr_expect_eq(began.peer_port, rows[i].is_through ? 3128 : rows[i].port);
	}
	cr_expect_str_eq(looked_up, "proxy.example");
}

Test(asks, a_proxy_that_has_no_address, .init = open_with_proxy)
{
	uint64_t connection;

	known = (struct resolution){ .end = RESOLVE_NO_NAME };
	cr_assert_eq(ask_dial(1, "a.example", 443), 0);
	connection = answer_record(0);
	expect_reported("a.example", CONNECTION_PROXY_UNREACHED);
	expect_end(connection, CONNECTION_END_PROXY_DIAL, "");
	expect_result(1, DIAL_RESULT_FAILED);
	expect_silence();
}

Test(asks, an_address_is_not_resolved, .init = open_all)
{
	next_state = ATTEMPT_CONNECTED;
	cr_assert_eq(ask_dial(1, "10.0.0.9", 22), 0);
	(void)answer_record(0);
	cr_assert_eq(receive_type(&far_egress), IPC_TYPE_dial_done);
	cr_expect_str_eq(ipc_body(&message, dial_done)->address, "10.0.0.9");
	cr_expect_eq(ipc_body(&message, dial_done)->kind, PLAN_HOST_TCP);
	cr_expect_eq(lookups, 0);
}

Test(asks, one_answer_for_all_who_wait_for_a_name, .init = open_all)
{
	const struct resolution found = known, missing = { .end = RESOLVE_NO_NAME };

	known = (struct resolution){ .count = 0 };
	cr_assert_eq(ask_name(1, "a.example"), 0);
	cr_assert_eq(ask_name(2, "a.example"), 0);
	cr_assert_eq(ask_dial(3, "a.example", 443), 0);
	(void)answer_record(0);
	expect_silence();
	event_lookup_done("b.example", &missing);
	expect_silence();
	event_lookup_done("a.example", &found);
	expect_result(1, DIAL_RESULT_FINE);
	expect_result(2, DIAL_RESULT_FINE);
	event_lookup_done("a.example", &missing);
	expect_silence();
}

Test(asks, hosts_that_the_policy_does_not_have, .init = open_all)
{
	cr_assert_eq(ask_name(1, "b.example"), 0);
	expect_reported("b.example", CONNECTION_REFUSED_HOST);
	expect_result(1, DIAL_RESULT_REFUSED);
	cr_assert_eq(ask_dial(2, "a.example", 80), 0);
	expect_reported("a.example", CONNECTION_REFUSED_PORT);
	expect_result(2, DIAL_RESULT_REFUSED);
	cr_assert_eq(ask_dial(3, "10.0.1.9", 22), 0);
	cr_assert_eq(receive_type(&far_cable), IPC_TYPE_connection_refused);
	expect_result(3, DIAL_RESULT_REFUSED);
	cr_expect_eq(lookups, 0);
	cr_expect_eq(ask_dial(4, "A.example", 443), -EPROTO);
	cr_expect_eq(ask_dial(4, "a.example", 65536 + 443), -EPROTO);
	cr_expect_eq(ask_name(4, "10.0.0.9"), -EPROTO);
	expect_silence();
}

/* A workload chooses these names, and the world reads them. */
Test(asks, names_below_a_wildcard, .init = open_all)
{
	char name[64];

	for (uint32_t i = 0; i < BELOW_BURST; i++) {
		(void)snprintf(name, sizeof(name), "secret%u.wild.example", i);
		cr_assert_eq(ask_name(i, name), 0);
		expect_result(i, DIAL_RESULT_FINE);
	}
	cr_expect_eq(lookups, BELOW_BURST);
	cr_assert_eq(ask_name(1000, "more.wild.example"), 0);
	expect_reported("more.wild.example", CONNECTION_REFUSED_NAMES);
	expect_result(1000, DIAL_RESULT_FAILED);
	cr_assert_eq(ask_dial(1001, "more.wild.example", 443), 0);
	cr_assert_eq(receive_type(&far_cable), IPC_TYPE_connection_refused);
	expect_result(1001, DIAL_RESULT_FAILED);
	cr_expect_eq(lookups, BELOW_BURST, "the world hears nothing of it");
	cr_expect_eq(counters[SLOT], 2);
	cr_assert_eq(ask_name(1002, "secret1.wild.example"), 0);
	expect_result(1002, DIAL_RESULT_FINE);
	cr_assert_eq(ask_name(1003, "a.example"), 0);
	expect_result(1003, DIAL_RESULT_FINE);
	expect_silence();
}

/* Take questions of a sandbox until one is refused, while none is answered. Return how many. */
static uint32_t fill(uint32_t slot)
{
	struct ipc_name_ask ask = { .slot = slot, .use = USE, .host = "a.example" };

	while (receive_type(&far_egress) == 0) {
		cr_assert_lt(ask.number, 2 * ASKS_MAX);
		ask.number++;
		cr_assert_eq(asks_take_name(&ask, 1), 0);
	}
	cr_expect_eq(ipc_body(&message, ask_done)->result, DIAL_RESULT_FAILED);
	return (uint32_t)ask.number - 1;
}

Test(asks, shares_of_the_questions, .init = open_all)
{
	const struct resolution found = known, missing = { .end = RESOLVE_NO_NAME };

	known = (struct resolution){ .count = 0 };
	cr_expect_eq(fill(SLOT), 768);
	for (uint32_t slot = SLOT + 1; slot < SLOT + 5; slot++) {
		const struct ipc_dial_begin begin = { slot, USE, 0, 0, "0123456789abcdee" };

		cr_assert_eq(sandboxes_begin(&begin), 0);
		cr_expect_gt(fill(slot), 0, "%u", slot);
	}
	cr_expect_eq(fill(GATEWAY_SLOTS), 0);
	event_lookup_done("a.example", &missing);
	while (receive_type(&far_egress) != 0)
		;
	cr_expect_eq(fill(SLOT + 1), 768, "all were given back");
	event_lookup_done("a.example", &found);
}

Test(asks, the_end_of_a_sandbox_in_each_state, .init = open_all)
{
	const struct resolution later = { .count = 0 }, found = known;
	const struct ipc_audit_written strange = { .number = 99 };
	struct ipc_audit_written recording = { .error = 0 };
	uint64_t resolving, connecting;

	cr_assert_eq(ask_dial(1, "a.example", 443), 0);
	connecting = answer_record(0);
	known = later;
	cr_assert_eq(ask_dial(2, "a.example", 443), 0);
	resolving = answer_record(0);
	cr_assert_eq(ask_name(3, "a.example"), 0);
	cr_assert_eq(ask_dial(4, "a.example", 443), 0);
	recording.number = take_record();
	cr_assert_eq(sandboxes_end(SLOT), 0);
	cr_assert_eq(asks_end_sandbox(SLOT), 0);
	expect_result(1, DIAL_RESULT_FAILED);
	expect_result(2, DIAL_RESULT_FAILED);
	expect_result(3, DIAL_RESULT_FAILED);
	expect_result(4, DIAL_RESULT_FAILED);
	expect_end(connecting, CONNECTION_END_SANDBOX, "8.8.4.4");
	expect_end(resolving, CONNECTION_END_SANDBOX, "");
	expect_silence();
	event_lookup_done("a.example", &found);
	expect_silence();
	cr_assert_eq(asks_recorded(&recording, 1), 0);
	expect_end(recording.number, CONNECTION_END_SANDBOX, "");
	cr_expect_eq(asks_recorded(&recording, 1), -EPROTO, "answered twice");
	cr_expect_eq(asks_recorded(&strange, 1), -EPROTO);
	cr_assert_eq(ask_dial(5, "a.example", 443), 0);
	expect_result(5, DIAL_RESULT_FAILED);
	cr_expect_eq(sandboxes_forget_plan(0), 0);
}

Test(asks, plans_and_sandboxes_that_do_not_fit, .init = open_all)
{
	const struct ipc_dial_begin rows[] = {
		{ SLOT, USE, 0, 0, "" }, { GATEWAY_SLOTS, USE, 0, 0, "" },
		{ 6, USE, 1, 0, "" },    { 6, USE, GENERATIONS_MAX, 0, "" },
		{ 6, USE, 0, 1, "" },    { UINT32_MAX, USE, 0, 0, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(sandboxes_begin(&rows[i]), -EPROTO, "%zu", i);
	cr_expect_eq(sandboxes_forget_plan(0), -EPROTO, "a sandbox has it");
	cr_expect_eq(sandboxes_forget_plan(1), -EPROTO);
	cr_expect_eq(sandboxes_end(6), -EPROTO);
}
