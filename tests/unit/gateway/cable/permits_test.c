/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that persons and brokers grant and take away, and msp-dial's questions about them, with
 * a test in the places of msp-dial, msp-egress and the audit log.
 */
#include "gateway/cable/permits.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_network.h"
#include "gateway/cable/cuts.h"
#include "gateway/cable/grants.h"
#include "gateway/cable/questions.h"
#include "gateway/cable/records.h"
#include "plan_blob.h"

#define SLOT 3U
#define OTHER 4U
#define USE 7U

static struct channel_message message;
static struct hub hub = { .dial = { -1, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE },
			  .egress = { -1, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE },
			  .home = -1 };
static struct channel dial = { -1, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SERVE }, egress;
static uint32_t records;
static int record_error;
static struct blob blob;
static struct plan plan;
static struct plan_profile profiles[PLAN_HOST_APPROVAL_COUNT];

static const struct party client = { GATEWAY_SLOTS, 0, 1, "alice" };
static const struct party person = { GATEWAY_SLOTS, 0, 9, "" };
static const struct party on_sandbox = { SLOT, USE, 9, "" };

int records_grant(const struct ipc_network_grant *grant, const struct party *to,
		  const char *sandbox, bool is_broker)
{
	(void)grant;
	(void)is_broker;
	cr_expect_eq(sandbox[0] != '\0', to->slot == SLOT);
	records += record_error == 0;
	return record_error;
}

static void make_sandbox(uint32_t slot, const char *id, uint32_t approval)
{
	cables[slot].is_made = true;
	cables[slot].policy = &plan;
	cables[slot].profile = &profiles[approval];
	cables[slot].party = (struct party){ slot, USE, 1, "alice" };
	cables[slot].port_count = 2;
	cables[slot].ports[0] = 443;
	cables[slot].ports[1] = 22;
	cables[slot].network = -1;
	memcpy(cables[slot].sandbox, id, strlen(id) + 1);
}

static void begin(void)
{
	int ends[2];

	blob.header.size = (uint32_t)(offsetof(struct blob, text) + blob_make(&blob));
	plan.bytes = (const uint8_t *)&blob;
	for (uint32_t i = 0; i < PLAN_HOST_APPROVAL_COUNT; i++) {
		profiles[i] = blob.profile;
		profiles[i].host_approval = i;
	}
	cr_assert_eq(channel_pair(ends), 0);
	hub.dial.fd = ends[0];
	dial.fd = ends[1];
	egress = dial;
	cr_assert_eq(channel_pair(ends), 0);
	hub.egress.fd = ends[0];
	egress.fd = ends[1];
	make_sandbox(SLOT, "one", PLAN_HOST_APPROVAL_PERSON);
	make_sandbox(OTHER, "", PLAN_HOST_APPROVAL_ASK);
}

/* Receive the next message of a type. */
static void expect_message(const struct channel *channel, uint32_t type)
{
	enum ipc_error wrong;

	channel_message_done(&message);
	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), 1);
	cr_assert_eq(message.type, type);
}

static int want(const struct party *from, bool is_broker, const char *host, uint32_t port)
{
	struct ipc_network_grant grant = { .port = port };

	if (!is_broker && from->slot == GATEWAY_SLOTS) {
		grant.frontend = client.frontend;
		memcpy(grant.owner, client.owner, sizeof(client.owner));
	}
	(void)snprintf(grant.host, sizeof(grant.host), "%s", host);
	return permits_take(&hub, from, is_broker, &grant);
}

static int cut(const struct party *from, bool is_broker, const char *host)
{
	struct ipc_network_grant grant = { .is_cut = 1 };

	(void)snprintf(grant.host, sizeof(grant.host), "%s", host);
	return permits_take(&hub, from, is_broker, &grant);
}

static enum host_answer ask(uint32_t slot, const char *host, uint32_t port, uint32_t is_listed)
{
	struct ipc_host_ask question = {
		.number = 5, .slot = slot, .use = USE, .port = port, .is_listed = is_listed
	};

	(void)snprintf(question.host, sizeof(question.host), "%s", host);
	cr_assert_eq(permits_ask(&question), 0);
	cr_assert(permits_are_asked());
	cr_assert_eq(permits_answer(&hub), 0);
	cr_assert_not(permits_are_asked());
	expect_message(&dial, IPC_TYPE_host_told);
	cr_expect_eq(ipc_body(&message, host_told)->number, 5U);
	return (enum host_answer)ipc_body(&message, host_told)->answer;
}

static uint32_t count_questions(void)
{
	const struct ipc_network_host *question = NULL;
	uint32_t count = 0;

	while ((question = questions_next(question)))
		count++;
	return count;
}

Test(permits, a_person_grants_to_a_sandbox, .init = begin)
{
	cr_expect_eq(ask(SLOT, "a.example", 0, 0), HOST_ANSWER_REFUSED);
	cr_expect_eq(count_questions(), 1U);
	cr_expect_eq(want(&on_sandbox, false, "a.example", 443), 0);
	cr_expect_eq(records, 1U);
	cr_expect_eq(count_questions(), 0U, "it is answered");
	cr_expect_eq(ask(SLOT, "a.example", 0, 0), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(SLOT, "a.example", 22, 0), HOST_ANSWER_REFUSED, "another port");
	cr_expect_eq(ask(SLOT, "b.a.example", 443, 0), HOST_ANSWER_REFUSED);
	cr_expect_eq(ask(SLOT, "A.example", 443, 0), HOST_ANSWER_REFUSED, "not the one spelling");
	cr_expect_eq(ask(OTHER, "a.example", 443, 0), HOST_ANSWER_REFUSED, "another sandbox");
	grants_end(SLOT);
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_REFUSED);
}

Test(permits, a_person_grants_to_a_client, .init = begin)
{
	cr_expect_eq(want(&person, false, "a.example", 443), 0);
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(OTHER, "a.example", 443, 0), HOST_ANSWER_GRANTED);
	memcpy(cables[OTHER].party.owner, "bob", 4);
	cr_expect_eq(ask(OTHER, "a.example", 443, 0), HOST_ANSWER_REFUSED, "another owner");
	cables[SLOT].party.frontend = 2;
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_REFUSED, "another client");
	cables[SLOT].profile = &profiles[PLAN_HOST_APPROVAL_NEVER];
	cables[SLOT].party.frontend = 1;
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_REFUSED, "another profile");
}

Test(permits, a_broker_grants_to_its_client_where_the_profile_says_ask, .init = begin)
{
	cr_expect_eq(want(&client, true, "a.example", 443), 0);
	cr_expect_eq(ask(OTHER, "a.example", 443, 0), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_REFUSED, "a person alone may");
	cr_expect_eq(want(&person, false, "a.example", 443), 0);
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_GRANTED, "as a person does");
}

Test(permits, a_broker_may_nothing_else, .init = begin)
{
	struct ipc_network_grant others = { .port = 443, .frontend = 2, .host = "a.example" };

	cr_expect_eq(want(&on_sandbox, true, "a.example", 443), -EPERM);
	cr_expect_eq(permits_take(&hub, &client, true, &others), -EPERM);
	cr_expect_eq(cut(&client, true, "a.example"), -EPERM);
	cr_expect_eq(cut(&on_sandbox, true, ""), -EPERM);
	cr_expect_eq(records, 0U);
	cr_expect_null(grants_next(&cables[SLOT].party, NULL));
	cr_expect_null(grants_next(&cables[OTHER].party, NULL));
	/* The control: the same of a person. */
	cr_expect_eq(want(&on_sandbox, false, "a.example", 443), 0);
	cr_expect_eq(permits_take(&hub, &person, false, &others), 0);
	cr_expect_eq(cut(&on_sandbox, false, ""), 0);
}

Test(permits, what_is_no_host_and_port, .init = begin)
{
	static const uint32_t ports[] = { 0, 53, 65536 };

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		cr_expect_eq(want(&on_sandbox, false, "a.example", ports[i]), -EINVAL);
	cr_expect_eq(want(&on_sandbox, false, "", 443), -EINVAL);
	cr_expect_eq(cut(&person, false, "a.example"), -EINVAL, "a cut is a sandbox's");
	cables[SLOT].profile = &profiles[PLAN_HOST_APPROVAL_NEVER];
	cr_expect_eq(want(&on_sandbox, false, "a.example", 443), -EACCES);
}

Test(permits, a_host_is_taken_away_and_given_back, .init = begin)
{
	cr_expect_eq(ask(SLOT, "listed.example", 443, 1), HOST_ANSWER_GRANTED);
	cr_expect_eq(cut(&on_sandbox, false, "listed.example"), 0);
	cr_expect_eq(records, 1U);
	expect_message(&dial, IPC_TYPE_dial_tighten);
	cr_expect_eq(ipc_body(&message, dial_tighten)->use, USE);
	expect_message(&egress, IPC_TYPE_egress_cut);
	cr_expect_str_eq(ipc_body(&message, egress_cut)->host, "listed.example");
	cr_expect_eq(ask(SLOT, "listed.example", 443, 1), HOST_ANSWER_CUT);
	cr_expect_eq(ask(SLOT, "listed.example", 0, 1), HOST_ANSWER_CUT);
	cr_expect_eq(ask(SLOT, "other.example", 443, 1), HOST_ANSWER_GRANTED);
	cr_expect_eq(count_questions(), 0U);
	cr_expect_eq(want(&person, false, "listed.example", 443), 0);
	cr_expect_eq(ask(SLOT, "listed.example", 443, 1), HOST_ANSWER_CUT, "the client's is less");
	cr_expect_eq(want(&on_sandbox, false, "listed.example", 443), 0);
	cr_expect_eq(ask(SLOT, "listed.example", 443, 1), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(SLOT, "listed.example", 22, 1), HOST_ANSWER_CUT);
	cr_expect_eq(cut(&on_sandbox, false, ""), 0);
	expect_message(&dial, IPC_TYPE_dial_tighten);
	cr_expect_eq(ask(SLOT, "listed.example", 443, 1), HOST_ANSWER_CUT);
	cr_expect_eq(ask(SLOT, "192.0.2.1", 22, 1), HOST_ANSWER_CUT);
}

Test(permits, nothing_is_granted_without_a_record, .init = begin)
{
	record_error = -EPIPE;
	cr_expect_lt(want(&on_sandbox, false, "a.example", 443), 0);
	cr_expect_eq(ask(SLOT, "a.example", 443, 0), HOST_ANSWER_REFUSED);
	cr_expect_eq(cut(&on_sandbox, false, "a.example"), 0, "taken away in any case");
	expect_message(&dial, IPC_TYPE_dial_tighten);
	cr_expect_eq(ask(SLOT, "a.example", 443, 1), HOST_ANSWER_CUT);
}

Test(permits, a_port_that_cannot_be_opened_is_not_granted, .init = begin)
{
	cr_expect_lt(want(&on_sandbox, false, "a.example", 8443), 0, "there is no namespace");
	cr_expect_eq(ask(SLOT, "a.example", 8443, 0), HOST_ANSWER_REFUSED);
	cables[SLOT].port_count = CABLE_PORTS_MAX;
	cr_expect_eq(want(&on_sandbox, false, "a.example", 8443), -ENOSPC);
}

Test(permits, a_flood_of_questions_is_its_own_loss, .init = begin)
{
	char host[IPC_HOST_MAX];

	cr_expect_eq(ask(OTHER, "others.example", 0, 0), HOST_ANSWER_REFUSED);
	for (uint32_t i = 0; i < 1000; i++) {
		(void)snprintf(host, sizeof(host), "%u.example", i);
		cr_expect_eq(ask(SLOT, host, 0, 0), HOST_ANSWER_REFUSED);
	}
	cr_expect_eq(count_questions(), ASKER_QUESTIONS_MAX + 1);
	cr_expect_eq(ask(SLOT, "999.example", 443, 0), HOST_ANSWER_REFUSED);
	cr_expect_eq(count_questions(), ASKER_QUESTIONS_MAX + 1, "one more of the same");
	questions_end(SLOT);
	cr_expect_eq(count_questions(), 1U);
	cr_expect_str_eq(questions_next(NULL)->host, "others.example");
	questions_end(OTHER);
	cr_expect_eq(count_questions(), 1U, "an ephemeral sandbox leaves it to its client");
}

Test(permits, a_flood_of_grants_is_its_own_loss, .init = begin)
{
	const struct party flood = { GATEWAY_SLOTS, 0, 2, "" };
	char host[IPC_HOST_MAX];

	cr_expect_eq(want(&on_sandbox, false, "sandbox.example", 443), 0);
	cr_expect_eq(want(&client, true, "used.example", 443), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		(void)snprintf(host, sizeof(host), "%u.example", i);
		cr_assert_eq(want(&flood, true, host, 443), 0);
	}
	cr_expect_eq(ask(OTHER, "used.example", 443, 0), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(SLOT, "sandbox.example", 443, 0), HOST_ANSWER_GRANTED);
	cables[OTHER].party.frontend = 2;
	cables[OTHER].party.owner[0] = '\0';
	cr_expect_eq(ask(OTHER, "999.example", 443, 0), HOST_ANSWER_GRANTED);
	cr_expect_eq(ask(OTHER, "0.example", 443, 0), HOST_ANSWER_REFUSED);
	/* Many clients: the one that is unused for longest. */
	for (uint32_t i = 0; i < 2 * GRANTS_MAX; i++) {
		const struct party next = { GATEWAY_SLOTS, 0, 100 + i, "" };

		cr_assert_eq(want(&next, true, "a.example", 443), 0);
		cables[OTHER].party = (struct party){ OTHER, USE, 1, "alice" };
		cr_assert_eq(ask(OTHER, "used.example", 443, 0), HOST_ANSWER_GRANTED);
	}
	cr_expect_eq(ask(SLOT, "sandbox.example", 443, 0), HOST_ANSWER_GRANTED);
}

Test(permits, more_questions_than_msp_dial_has, .init = begin)
{
	const struct ipc_host_ask question = { .slot = SLOT, .use = USE, .host = "a.example" };

	for (uint32_t i = 0; i < GATEWAY_ASKS_MAX; i++)
		cr_assert_eq(permits_ask(&question), 0);
	cr_expect_eq(permits_ask(&question), -EPROTO);
}

/* --- the file of cuts ------------------------------------------------------------------------- */

#define LATER 8U /* the use of the sandbox's next cable */

static struct cabled *lasting(uint32_t use, int file)
{
	grants_end(SLOT);
	cables[SLOT].is_lasting = true;
	cables[SLOT].cuts = file;
	cables[SLOT].party.use = use;
	return &cables[SLOT];
}

static bool is_denied(const char *host)
{
	return grants_deny(&cables[SLOT].party, host, 443);
}

static int change(const char *host, bool is_cut)
{
	struct ipc_network_grant wanted = { .port = 443, .is_cut = is_cut };
	const struct party from = { SLOT, cables[SLOT].party.use, 9, "" };

	memcpy(wanted.host, host, strlen(host) + 1);
	return permits_take(&hub, &from, false, &wanted);
}

Test(permits, a_cut_is_the_sandboxs_until_a_person_takes_it_back, .init = begin)
{
	const int file = memfd_create("cuts", MFD_CLOEXEC);

	cr_expect_eq(cuts_load(lasting(USE, file)), 0, "an empty file");
	cr_assert_eq(change("a.example", true), 0);
	cr_assert_eq(change("b.example", true), 0);
	cr_expect_eq(cuts_load(lasting(LATER, file)), 1);
	cr_expect(is_denied("a.example") && is_denied("b.example"));
	cr_expect_not(is_denied("c.example"), "the control");
	cr_assert_eq(change("a.example", false), 0);
	cr_expect_eq(cuts_load(lasting(LATER + 1, file)), 1);
	cr_expect_not(is_denied("a.example"));
	cr_expect(is_denied("b.example"));
	cr_expect(grants_deny(&cables[SLOT].party, "a.example", 22), "it had another port");
	close(file);
}

Test(permits, all_hosts_but_those_that_are_given_back, .init = begin)
{
	const int file = memfd_create("cuts", MFD_CLOEXEC);

	cr_expect_eq(cuts_load(lasting(USE, file)), 0);
	cr_assert_eq(change("", true), 0);
	cr_assert_eq(change("a.example", false), 0);
	for (uint32_t use = LATER; use < LATER + 3; use++) {
		cr_expect_not(is_denied("a.example"));
		cr_expect(is_denied("b.example"));
		cr_expect_eq(cuts_load(lasting(use, file)), 1);
	}
	/* A host that was given back is no grant of a later sandbox. */
	cr_expect_not(
		grants_allow(&cables[SLOT].party, PLAN_HOST_APPROVAL_PERSON, "a.example", 443));
	cr_assert_eq(change("a.example", true), 0);
	cr_expect_eq(cuts_load(lasting(LATER + 4, file)), 1);
	cr_expect(is_denied("a.example"));
	close(file);
}

/* Rows that msp-cable never writes take all hosts away, and so does a file that cannot be read. */
Test(permits, damaged_files, .init = begin)
{
	static const struct {
		const char *bytes;
		size_t size;
		off_t at;
	} rows[] = {
		{ "x", 1, 0 },     { "\377", 1, 4 }, { "A", 1, 12 },
		{ "\033", 1, 13 }, { "\n", 1, 14 },  { "x", 1, 1 << 20 },
	};
	const int broken = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int file = memfd_create("cuts", MFD_CLOEXEC);

		cr_expect_eq(cuts_load(lasting(USE, file)), 0);
		cr_assert_eq(change("a.example", true), 0);
		cr_assert_eq(pwrite(file, rows[i].bytes, rows[i].size, rows[i].at), 1);
		if (rows[i].at >= 1 << 20)
			cr_assert_eq(ftruncate(file, 100), 0);
		cr_expect_eq(cuts_load(lasting(LATER, file)), 1);
		cr_expect(is_denied("c.example"), "%zu", i);
		close(file);
	}
	cr_expect_eq(cuts_load(lasting(LATER, broken)), 1);
	cr_expect(is_denied("c.example"));
	close(broken);
}

Test(permits, a_cut_that_cannot_be_kept_holds, .init = begin)
{
	const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_expect_eq(cuts_load(lasting(USE, file)), 0);
	cr_expect_eq(change("a.example", true), -EBADF);
	cr_expect(is_denied("a.example"));
	cr_expect_eq(change("a.example", false), -EBADF);
	cr_expect(is_denied("a.example"), "it could not be given back");
	close(file);
}

/* The person hears that this one is not for good, and all hosts are one cut. */
Test(permits, more_cuts_than_are_kept, .init = begin)
{
	const int file = memfd_create("cuts", MFD_CLOEXEC);
	char host[32];

	cr_expect_eq(cuts_load(lasting(USE, file)), 0);
	for (uint32_t i = 0; i <= CUTS_MAX; i++) {
		(void)snprintf(host, sizeof(host), "h%u.example", i);
		cr_expect_eq(change(host, true), i < CUTS_MAX ? 0 : -E2BIG, "%u", i);
		cr_expect(is_denied(host));
	}
	cr_assert_eq(change("", true), 0);
	cr_expect_eq(cuts_load(lasting(LATER, file)), 1);
	cr_expect(is_denied(host) && is_denied("other.example"));
	close(file);
}

Test(permits, a_full_disk, .init = begin)
{
	const int file = open("/dev/full", O_RDWR | O_CLOEXEC);

	cr_expect_eq(cuts_load(lasting(USE, file)), 1, "it cannot be read as an empty one");
	cr_expect_eq(change("a.example", true), -EIO);
	cr_expect(is_denied("a.example"));
	close(file);
}
