/* SPDX-License-Identifier: Apache-2.0
 *
 * The grant is in msp-cable, which records it before it holds. It is for all sandboxes of this
 * frontend and owner, and counts only in profiles that let a client ask.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/ipc_network.h"
#include "executions/share.h"
#include "frontend/network_grant.h"
#include "frontend/network_watch.h"
#include "frontend/profile_names.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/asking/choice.h"
#include "mcp/core/host_answers.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"
#include "policy/decide/decide.h"

/* --- the question --------------------------------------------------------------------------- */

/* The question of request_host to the client's user. Its first line names the host and port whole,
 * or its second one: a part of a name would be another host. */

static const char *const answers[] = { "no", "for this session" };

static const struct choice choice = { answers, 2, 3 };

static const char help[] = "Programs in sandboxes can send it all they know.";

/* Put the agent's words as a line. It is the last one, so that they cannot look like ours. */
static void put_reason(struct buffer *message, const struct json_value *reason)
{
	static const char before[] = "\nThe agent says: \"";
	static const size_t room = CHOICE_LINE_BYTES - (sizeof("The agent says: \"...\"") - 1);
	const size_t start = message->size + sizeof(before) - 1;

	if (!reason || reason->size == 0)
		return;
	buffer_append_text(message, before);
	buffer_append_text(message, text_quoted(reason->text, reason->size, room));
	for (size_t i = start; i < message->size; i++) {
		if (message->bytes[i] == '"')
			message->bytes[i] = '\'';
	}
	buffer_append_text(message, "\"");
}

/* Append the parameters of the question (elicitation/create) as JSON; `reason`: the agent's words,
 * NULL: none. False: the name is too long for a question. */
static bool host_put_question(const struct ipc_network_grant *grant,
			      const struct json_value *reason, struct buffer *params)
{
	struct buffer name = { 0 }, message = { 0 };
	bool is_short;

	buffer_format(&name, "%s:%u", grant->host, grant->port);
	is_short = name.size <= CHOICE_LINE_BYTES;
	if (strlen("Let sandboxes reach ?") + name.size <= CHOICE_LINE_BYTES) {
		buffer_format(&message, "Let sandboxes reach %s?", name.bytes);
		put_reason(&message, reason);
	} else {
		buffer_format(&message, "Let sandboxes reach this host?\n%s", name.bytes);
	}
	if (is_short)
		choice_put_question(&choice, &message, help, params);
	buffer_done(&name);
	buffer_done(&message);
	return is_short;
}

/* --- the tool ------------------------------------------------------------------------------- */

enum host_param {
	HOST_NAME,
	HOST_PORT,
	HOST_PROFILE,
	HOST_REASON,
};

#define REASON_BYTES_MAX 500

/* The port that is meant without one. A granted host's connections to it have to be TLS. */
#define PORT_OF_TLS 443

static const struct tool_param params[] = {
	[HOST_NAME] = { .name = "host",
			.kind = PARAM_TEXT,
			.is_required = true,
			.bytes_max = IPC_HOST_MAX - 1,
			.description = "A name, as programs resolve it." },
	[HOST_PORT] = ROW_UINT16("port", TEXT_OF(PORT_OF_TLS), "80 for http."),
	[HOST_PROFILE] = ROW_PROFILE("That of the sandbox."),
	[HOST_REASON] = { .name = "reason",
			  .kind = PARAM_TEXT,
			  .is_required = true,
			  .bytes_max = REASON_BYTES_MAX,
			  .description = "For the user, in some 50 characters." },
};

/* The question's name. */
#define ASK_KEY "host"

/* Grants of all sessions that wait for msp-cable, each with a descriptor. */
#define GRANTS_MAX 16U

/* msp-cable answers when the grant is in the audit log, whose lock another process may have. */
#define ANSWER_S 10

struct granting {
	struct call *call;
	struct ipc_network_grant grant;
	int fd;
	struct event *event;
};

/* --- answers -------------------------------------------------------------------------------- */

/* Fail with the way for a person to allow the host. */
static void fail_host(struct call *call, const struct ipc_network_grant *grant, const char *problem)
{
	if (call->session->host->posture.is_service)
		call_fail(call,
			  "Nothing was allowed. %s The user can allow it: `msp network approve "
			  "%s:%u`.",
			  problem, grant->host, grant->port);
	else
		call_fail(
			call,
			"Nothing was allowed. %s The operator can add \"%s:%u\" to the `hosts` of "
			"the profile.",
			problem, grant->host, grant->port);
}

static bool is_asking(const struct plan_profile *profile)
{
	return profile->host_approval == PLAN_HOST_APPROVAL_ASK;
}

/* Put the names of the profiles that let a client ask: "a, b". */
static void put_profiles(struct buffer *text, const struct plan *plan)
{
	const size_t start = text->size;

	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		if (is_asking(profile) && profile_is_listed(plan, profile))
			buffer_format(text, "%s%s", text->size > start ? ", " : "",
				      plan_string(plan, profile->name));
	}
}

/* Return true if the profile lets a client ask and has a proxy, which resolves the names itself. */
static bool is_asking_through(const struct plan_profile *profile)
{
	return is_asking(profile) && profile->through.host[0] != '\0';
}

static void answer_granted(struct call *call, const struct ipc_network_grant *grant)
{
	const struct plan *plan = &call->session->host->plan;
	struct buffer text = { 0 };

	buffer_format(&text, "Allowed for this session: %s:%u%s%s, in sandboxes of the profiles ",
		      grant->host, grant->port,
		      profile_first(plan, is_asking_through) ? "" : ", at public addresses",
		      grant->port == PORT_OF_TLS ? ", by TLS with this name" : "");
	put_profiles(&text, plan);
	buffer_append_text(&text, ". Run the command again.");
	call_answer_text(call, &text, false);
}

/* --- the grant ------------------------------------------------------------------------------ */

static struct call *release_call(struct granting *granting)
{
	struct call *call = granting->call;

	call->cancel = NULL;
	call->work = NULL;
	event_free(granting->event);
	fd_close(&granting->fd);
	free(granting);
	return call;
}

static void cancel_grant(struct call *call)
{
	(void)release_call(call->work);
}

static const char *grant_problem(int error)
{
	switch (error) {
	case -EACCES:
		return "No profile lets a client ask by now.";
	case -ENOSPC:
		return "There is no room for another host.";
	case -ETIMEDOUT:
		return "The network has not answered in time, so it is unknown whether the host "
		       "can be reached.";
	default:
		return "The network of the sandboxes does not answer. Call again in a moment.";
	}
}

static void end_grant(struct granting *granting, int error)
{
	const struct ipc_network_grant grant = granting->grant;
	struct call *call = release_call(granting);
	struct host *host = call->session->host;
	const struct execution_owner owner = session_owner(call->session);

	if (error) {
		fail_host(call, &grant, grant_problem(error));
		return;
	}
	if (host_answers_find(host, &owner, &grant) == HOST_CONSENT_NONE)
		host_answers_keep(host, &owner, &grant, HOST_CONSENT_GRANTED);
	answer_granted(call, &grant);
}

static void on_granted(evutil_socket_t fd, short what, void *argument)
{
	int error = -ETIMEDOUT;

	if ((what & EV_TIMEOUT) != 0 || network_grant_take(fd, &error))
		end_grant(argument, error);
}

/* Return true if the principal may have one more grant that waits. */
static bool has_room(const struct session *session)
{
	size_t used = 0, own = 0;

	for (const struct session *s = session->host->sessions; s; s = s->next) {
		for (const struct call *call = s->calls; call; call = call->next) {
			used += call->cancel == cancel_grant;
			own += call->cancel == cancel_grant && s->principal == session->principal;
		}
	}
	return share_allows(session->principal, own, used, GRANTS_MAX, 1);
}

static void begin_grant(struct call *call, const struct ipc_network_grant *grant)
{
	static const struct timeval most = { .tv_sec = ANSWER_S };
	const struct host *host = call->session->host;
	struct ipc_network_watch watch = { .request = 0 };
	struct granting *granting;
	int fd = -EBUSY;

	sandboxes_head(call->session, NULL, &watch.head);
	if (has_room(call->session))
		fd = network_watch_begin(host->supervisor, &watch, grant);
	if (fd < 0) {
		fail_host(call, grant, grant_problem(fd));
		return;
	}
	granting = memory_get_zeroed(1, sizeof(*granting));
	granting->call = call;
	granting->grant = *grant;
	granting->fd = fd;
	granting->event = event_new(host->base, fd, EV_READ | EV_PERSIST, on_granted, granting);
	if (!granting->event || event_add(granting->event, &most) != 0)
		bug("no event for a grant");
	call->work = granting;
	call->cancel = cancel_grant;
}

/* --- consent -------------------------------------------------------------------------------- */

/* Take the user's answer. A refusal holds for the session. */
static void take_answer(struct call *call, const struct ipc_network_grant *grant,
			const struct ask_input *input)
{
	const struct execution_owner owner = session_owner(call->session);
	struct buffer problem = { 0 };
	unsigned int answer;

	switch (choice_read(&choice, input, &answer, &problem)) {
	case CHOICE_MADE:
		begin_grant(call, grant);
		break;
	case CHOICE_REFUSED:
		host_answers_keep(call->session->host, &owner, grant, HOST_CONSENT_REFUSED);
		buffer_append_text(&problem, " They are not asked again in this session.");
		fail_host(call, grant, problem.bytes);
		break;
	case CHOICE_MISSING:
		fail_host(call, grant, problem.bytes);
		break;
	}
	buffer_done(&problem);
}

static void ask_user(struct call *call, const struct ipc_network_grant *grant,
		     const struct json_value *reason)
{
	struct buffer question = { 0 };
	const struct ask_input *input;

	if (host_put_question(grant, reason, &question)) {
		input = call_ask(call, ASK_KEY, ASK_ELICITATION, &question);
		if (input)
			take_answer(call, grant, input);
		else
			call_await(call);
	} else {
		fail_host(call, grant, "Its name is too long for a question to the user.");
	}
	buffer_done(&question);
}

/* Go on with a host that the policy lets a client ask for. */
static void ask_or_grant(struct call *call, const struct ipc_network_grant *grant,
			 const struct json_value *reason)
{
	const struct host *host = call->session->host;
	const struct execution_owner owner = session_owner(call->session);
	const enum host_consent answer = host_answers_find(host, &owner, grant);

	if (answer == HOST_CONSENT_GRANTED)
		begin_grant(call, grant);
	else if (answer == HOST_CONSENT_REFUSED)
		fail_host(call, grant,
			  "The user has refused this host, and is not asked again in "
			  "this session.");
	else if (!call_can_ask(call, ASK_ELICITATION))
		fail_host(call, grant,
			  "The policy requires the user's consent, and this client "
			  "cannot ask (it lacks elicitation).");
	else if (!host_answers_have_room(host, &owner))
		fail_host(call, grant, "The user was asked about too many hosts in this session.");
	else
		ask_user(call, grant, reason);
}

/* --- the request ---------------------------------------------------------------------------- */

/* Find the profile: the named one, or else the default one if it lets a client ask, or else one
 * that does. NULL: there is none. */
static const struct plan_profile *find_profile(const struct host *host,
					       const struct json_value *value)
{
	const struct plan_profile *standard = NULL;
	char name[IPC_NAME_MAX + 1];

	if (!host->plan.bytes)
		return NULL;
	if (value) {
		tool_copy_text(value, name, sizeof(name));
		return profile_named(&host->plan, name);
	}
	standard = profile_named(&host->plan, host->posture.profile);
	return standard && standard->host_approval == PLAN_HOST_APPROVAL_ASK
		       ? standard
		       : profile_first(&host->plan, is_asking);
}

static void fail_profile(struct call *call, const struct ipc_network_grant *grant,
			 const struct plan_profile *profile)
{
	const struct plan *plan = &call->session->host->plan;
	struct buffer others = { 0 };

	if (profile->host_approval == PLAN_HOST_APPROVAL_PERSON) {
		fail_host(call, grant, "In this profile only the user allows further hosts.");
		return;
	}
	put_profiles(&others, plan);
	call_fail(call,
		  "Nothing was allowed: the profile %s takes no further hosts. Those that do: %s.",
		  plan_string(plan, profile->name), others.bytes ? others.bytes : "");
	buffer_done(&others);
}

/* Answer for a host that the profile has already, or that no grant opens. */
static void answer_decided(struct call *call, const struct operation *operation,
			   const struct decision *decision)
{
	struct buffer text = { 0 };
	char lines[DECISION_TEXT_MAX];

	decision_print(&call->session->host->plan, operation, decision, lines);
	buffer_format(&text, "Nobody was asked. %s", lines);
	call_answer_text(call, &text, decision->answer == DECISION_REFUSED);
}

static void request_host(struct call *call, const struct json_document *document,
			 struct json_value *const *values)
{
	const struct host *host = call->session->host;
	const struct plan_profile *profile = find_profile(host, values[HOST_PROFILE]);
	char name[IPC_HOST_MAX], text[OPERATION_TEXT_MAX], rest[OPERATION_PROBLEM_MAX + 16];
	struct ipc_network_grant grant = { .frontend = 0 };
	struct operation operation;
	struct decision decision;
	const char *problem;

	tool_copy_text(values[HOST_NAME], name, sizeof(name));
	problem = network_grant_read(name, (uint32_t)tool_integer(values[HOST_PORT], PORT_OF_TLS),
				     &grant);
	if (problem) {
		call_fail(call, "The argument `host` is \"%s\", but %s.",
			  text_quoted(name, strlen(name), QUOTE_BYTES), problem);
		return;
	}
	if (!profile) {
		call_fail(call, "Nothing was allowed: there is no such profile.");
		return;
	}
	if (profile->host_approval != PLAN_HOST_APPROVAL_ASK) {
		fail_profile(call, &grant, profile);
		return;
	}
	(void)snprintf(text, sizeof(text), "connect %s:%u", grant.host, grant.port);
	if (operation_parse(text, &operation, rest) != 0 ||
	    decide(&host->plan, profile, &operation, &decision) != 0)
		bug("a host that is none");
	if (decision.answer == DECISION_REFUSED && decision.approval == PLAN_HOST_APPROVAL_ASK)
		ask_or_grant(call, &grant, values[HOST_REASON]);
	else
		answer_decided(call, &operation, &decision);
}

static bool is_offered(const struct host *host)
{
	return profile_first(&host->plan, is_asking) != NULL;
}

const struct tool tool_request_host = {
	.name = "request_host",
	.title = "Ask the user for a host",
	.description = "Ask the user to let this session's sandboxes reach a host that their "
		       "profile refuses.",
	TOOL_PARAMS(params),
	.is_idempotent = true,
	.is_open_world = true,
	.may_ask = true,
	.is_offered = is_offered,
	.handler = request_host,
};
