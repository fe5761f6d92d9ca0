/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_network.h"
#include "frontend/denials.h"
#include "frontend/network_grant.h"
#include "frontend/profile_names.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/call.h"
#include "mcp/core/host_answers.h"
#include "mcp/tools/params.h"
#include "policy/decide/decide.h"

enum explain_param {
	EXPLAIN_OPERATION,
	EXPLAIN_PROFILE,
};

/* Room for the first word, too. */
#define TEXT_MAX (OPERATION_TEXT_MAX - 1)

static const struct tool_param params[] = {
	[EXPLAIN_OPERATION] = { .name = "operation",
				.kind = PARAM_TEXT,
				.is_required = true,
				.bytes_max = TEXT_MAX,
				.description =
					"One of read, write, create, delete, list, exec with "
					"an absolute PATH; connect HOST:PORT, unix:PATH or "
					"unix:@NAME; resolve HOST; request METHOD URL; use "
					"SECRET at HOST; bind PORT; syscall NAME." },
	[EXPLAIN_PROFILE] = ROW_PROFILE("As in create_sandbox; else the default."),
};

static void put_if(struct json_writer *writer, const char *key, const char *text)
{
	if (text[0] != '\0')
		json_put_text(writer, key, text);
}

/* The ways in which a refused host can be approved. */
static const char *const approvals[PLAN_HOST_APPROVAL_COUNT] = {
	[PLAN_HOST_APPROVAL_NEVER] = "",
	[PLAN_HOST_APPROVAL_PERSON] = "msp network approve",
	[PLAN_HOST_APPROVAL_ASK] = "request_host",
};

static void put_decision(struct json_writer *writer, const struct plan *plan,
			 const struct operation *operation, const struct decision *decision)
{
	json_put_text(writer, "operation", operation->text);
	json_put_text(writer, "answer", decision_answer_name(decision->answer));
	put_if(writer, "condition", decision->condition);
	json_put_text(writer, "layer", decision->layer);
	put_if(writer, "error", decision_error_name(decision->error));
	json_put_text(writer, "rule", decision->rule);
	if (decision->origin.file != 0) {
		json_open_object(writer, "origin");
		json_put_text(writer, "file", plan_string(plan, decision->origin.file));
		json_put_number(writer, "line", decision->origin.line);
		json_close_object(writer);
	}
	put_if(writer, "approval", approvals[decision->approval]);
	put_if(writer, "remedy", decision->remedy);
}

/* A host that the client's user has granted in this session can be reached, although the profile
 * does not list it. */
static void add_grant(const struct call *call, const struct operation *operation,
		      struct decision *decision)
{
	const struct execution_owner owner = session_owner(call->session);
	struct ipc_network_grant grant = { .frontend = 0 };

	if ((operation->kind != OPERATION_CONNECT && operation->kind != OPERATION_RESOLVE) ||
	    decision->answer != DECISION_REFUSED || decision->approval != PLAN_HOST_APPROVAL_ASK ||
	    network_grant_read(operation->target, operation->port, &grant) != NULL ||
	    host_answers_find(call->session->host, &owner, &grant) != HOST_CONSENT_GRANTED)
		return;
	*decision = (struct decision){ .answer = DECISION_CONDITIONAL,
				       .layer = decision->layer,
				       .approval = PLAN_HOST_APPROVAL_NEVER };
	SAY(decision->condition, "at its public addresses, until this session ends");
	SAY(decision->rule, "the user has granted it (request_host)");
}

static void answer_decision(struct call *call, const char *profile,
			    const struct operation *operation, struct decision *decision)
{
	const struct plan *plan = &call->session->host->plan;
	struct buffer text = { 0 };
	struct answer answer;
	char lines[DECISION_TEXT_MAX];

	add_grant(call, operation, decision);
	decision_print(plan, operation, decision, lines);
	buffer_append_text(&text, lines);
	call_open_result(call, &answer);
	call_put_text(&answer, &text, false);
	json_open_object(&answer.writer, "structuredContent");
	json_put_text(&answer.writer, "profile", profile);
	put_decision(&answer.writer, plan, operation, decision);
	json_close_object(&answer.writer);
	call_close_result(call, &answer);
	buffer_done(&text);
}

static void explain_policy(struct call *call, const struct json_document *document,
			   struct json_value *const *values)
{
	const struct host *host = call->session->host;
	char text[TEXT_MAX + 1], name[IPC_NAME_MAX + 1], problem[OPERATION_PROBLEM_MAX];
	const struct plan_profile *profile;
	struct operation operation;
	struct decision decision;

	tool_copy_text(values[EXPLAIN_OPERATION], text, sizeof(text));
	if (values[EXPLAIN_PROFILE])
		tool_copy_text(values[EXPLAIN_PROFILE], name, sizeof(name));
	else
		(void)snprintf(name, sizeof(name), "%s", host->posture.profile);
	profile = host->plan.bytes ? profile_named(&host->plan, name) : NULL;
	if (!profile)
		call_fail(call, "This profile has no policy to explain.");
	else if (operation_parse(text, &operation, problem) != 0)
		call_fail(call, "The argument `operation` is \"%s\", but %s.",
			  text_quoted(text, strlen(text), QUOTE_BYTES), problem);
	else if (decide(&host->plan, profile, &operation, &decision) != 0)
		bug("an operation of a kind that is not known");
	else
		answer_decision(call, name, &operation, &decision);
}

const struct tool tool_explain_policy = {
	.name = "explain_policy",
	.title = "Explain what a sandbox allows",
	.description =
		"Say whether a program in a sandbox may do something, without doing it, by which "
		"rule, and what the operator could change. Use it when something was refused.",
	TOOL_PARAMS(params),
	.is_read_only = true,
	.is_idempotent = true,
	.handler = explain_policy,
};
