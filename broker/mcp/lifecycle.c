/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/lifecycle.h"

#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "frontend/profile_names.h"
#include "lib/heap/buffer.h"
#include "mcp/asking/tasks.h"
#include "mcp/core/bridges.h"
#include "mcp/core/call.h"
#include "mcp/core/host.h"
#include "mcp/core/host_answers.h"
#include "mcp/core/request.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/resources.h"
#include "mcp/resources/subscriptions.h"

/* --- the guide ------------------------------------------------------------------------------ */

/* The text about this server as a whole that a client shows its model. */

static const char workflow[] = "Runs commands and code in sandboxes on the user's Linux machine. "
			       "The kernel confines every program: ";

static const char no_network[] = "no network but the sandbox's own loopback, so nothing can be "
				 "installed from it";

static const char rest[] = "; none of the user's files, processes or credentials; /usr is "
			   "read-only; limits on memory, processes, file sizes and time, ";

/* Entries of a list of hosts that are named. */
#define HOSTS_SHOWN 12U

static const char cgroup_limits[] = "by cgroup v2 for all processes of a run together.";

static const char fallback_limits[] = "for each process, because the operator has accepted "
				      "fallback limits (no delegated cgroup v2).";

static const char work[] =
	"\n\nOne step: `run_command`, or `run_code` for source text, which needs no shell quoting. "
	"Without `sandbox` /workspace begins empty and is removed at the end: do dependent steps "
	"in one call and print what you want to keep. A failing command is a normal result with "
	"its exit code; a tool error means that nothing ran, and names the cause and the "
	"remedy.\n\nA project: `create_sandbox` with its directory as `workspace`, then pass the "
	"sandbox to each run. `read_sandbox_file`, `write_sandbox_file` and `list_sandbox_files` "
	"work on its files; `checkpoint` saves, restores and forks them; `list_sandboxes` finds a "
	"sandbox again, `destroy_sandbox` removes it. The project changes only by `apply_changes`; "
	"look with `diff_changes` and `preview_changes` first. The policy may require the user's "
	"consent, or that the user runs `msp apply`. `explain_policy` tells why something is "
	"refused.\n\nLong work: a run that outlasts `yield_ms` goes on and returns a handle. Call "
	"`read_output` with it until the last line is a verdict such as [exit 0 · 31.2 s], or "
	"`kill_execution`. A server is a run of its own with `yield_ms` 0. Programs that ask "
	"questions need `tty` (or `interactive`, without a terminal); type with `send_input`.";

static const char refused[] =
	"msp is installed to run commands and code in sandboxes, but it refuses to run anything on "
	"this machine. Tell the user so, with the reason and the fix below; when it is fixed, the "
	"user restarts this server. Tool: `msp_status` returns the same text.\n\n";

/* Append the network of the default profile. Another profile's shows in its resource. */
static void append_network(struct buffer *text, const struct host *host)
{
	const struct plan *plan = &host->plan;
	const struct plan_profile *profile = profile_find(plan, host->posture.profile);
	const void *first = profile ? plan_bytes(plan, profile->hosts) : NULL;
	const struct plan_host *hosts = first;

	if (!profile || profile->network != PLAN_NETWORK_HOSTS) {
		buffer_append_text(text, no_network);
		return;
	}
	buffer_append_text(text, "of the network, over TCP, only");
	for (uint32_t i = 0; i < profile->host_count && i < HOSTS_SHOWN; i++)
		buffer_format(text, "%s %s:%u", i > 0 ? "," : "", hosts[i].pattern,
			      (unsigned int)hosts[i].port);
	if (profile->host_count > HOSTS_SHOWN)
		buffer_format(text, " and %u more (`explain_policy` \"connect HOST:PORT\" tells)",
			      profile->host_count - HOSTS_SHOWN);
	if (profile->host_count == 0)
		buffer_append_text(text, " the sandbox's own loopback");
	if (profile->host_approval == PLAN_HOST_APPROVAL_ASK)
		buffer_append_text(text, " (`request_host` asks the user for more)");
}

/* Append the instructions: the tools, how to work with them, and the posture; or, where nothing may
 * be run, the reason. */
static void guide_append(struct buffer *text, const struct host *host)
{
	const struct posture *posture = &host->posture;

	if (host->refusal) {
		buffer_append_text(text, refused);
		buffer_append_text(text, host->refusal);
		return;
	}
	buffer_append_text(text, workflow);
	append_network(text, host);
	buffer_append_text(text, rest);
	buffer_append_text(text,
			   posture->limits == LIMITS_CGROUP ? cgroup_limits : fallback_limits);
	buffer_append_text(text, work);
}

/* --- the methods ---------------------------------------------------------------------------- */

static void put_guide(struct json_writer *writer, const struct request *request)
{
	struct buffer guide = { 0 };

	guide_append(&guide, request->session->host);
	json_put_string(writer, "instructions", guide.bytes, guide.size);
	buffer_done(&guide);
}

/* Claim list changes only for lists that change, so that clients do not listen in vain. */
static void open_list(struct json_writer *writer, const char *name, const struct catalog *offered,
		      enum host_list list)
{
	json_open_object(writer, name);
	if ((offered->changing & list) != 0)
		json_put_bool(writer, "listChanged", true);
}

static void put_empty(struct json_writer *writer, const char *name)
{
	json_open_object(writer, name);
	json_close_object(writer);
}

/* Write an object per capability; a list that is empty and stays so is no capability. The eras
 * differ only in extensions: modern requests name their log level, and subscribe to resources with
 * subscriptions/listen. */
static void put_capabilities(struct json_writer *writer, const struct catalog *offered,
			     enum era era)
{
	json_open_object(writer, "capabilities");
	open_list(writer, "tools", offered, LIST_TOOLS);
	json_close_object(writer);
	if (offered->prompts[0] || (offered->changing & LIST_PROMPTS) != 0) {
		open_list(writer, "prompts", offered, LIST_PROMPTS);
		json_close_object(writer);
	}
	if (offered->resources[0] || (offered->changing & LIST_RESOURCES) != 0) {
		open_list(writer, "resources", offered, LIST_RESOURCES);
		json_put_bool(writer, "subscribe", true);
		json_close_object(writer);
		put_empty(writer, "completions");
	}
	put_empty(writer, "logging");
	if (era == ERA_MODERN) {
		json_open_object(writer, "extensions");
		put_empty(writer, TASKS_EXTENSION);
		json_close_object(writer);
	}
	json_close_object(writer);
}

void lifecycle_initialize(const struct request *request)
{
	struct session *session = request->session;
	struct answer answer;

	session->version = era_negotiate(request_param(request, "protocolVersion"));
	session->abilities =
		ability_read(request->document, request_param(request, "capabilities")) &
		~(unsigned int)ABILITY_TASKS; /* only in the modern era */
	request_open_result(request, &answer);
	json_put_text(&answer.writer, "protocolVersion", session->version);
	put_capabilities(&answer.writer, session->host->catalog, ERA_LEGACY);
	era_put_server(&answer.writer, "serverInfo");
	put_guide(&answer.writer, request);
	request_close_result(request, &answer);
}

void lifecycle_ping(const struct request *request)
{
	request_answer_empty(request);
}

void lifecycle_set_level(const struct request *request)
{
	enum log_level level;

	if (!log_level_read(request_param(request, "level"), &level)) {
		request_refuse(request, RPC_INVALID_PARAMS,
			       "Invalid params: level must be debug, info, notice, warning, error, "
			       "critical, alert or emergency",
			       NULL);
		return;
	}
	request->session->log_level = level;
	request_answer_empty(request);
}

void lifecycle_discover(const struct request *request)
{
	struct answer answer;

	request_open_result(request, &answer);
	era_put_versions(&answer.writer, "supportedVersions");
	put_capabilities(&answer.writer, request->session->host->catalog, ERA_MODERN);
	put_guide(&answer.writer, request);
	answer_put_caching(&answer, request->era, ANSWER_TTL_MS);
	request_close_result(request, &answer);
}

void lifecycle_cancelled(const struct request *request)
{
	struct json_value *id = request_param(request, "requestId");
	struct rpc_id read = { 0 };
	struct call *call;

	if (!id || !rpc_id_read(id, &read))
		return;
	call = call_find(request->session, &read);
	if (call)
		call_cancel(call);
	rpc_id_done(&read);
}

/* --- the server ----------------------------------------------------------------------------- */

/* The plan is only shown, so a fault in it stops no other function. The channel has checked that it
 * is sealed. */
static void take_plan(struct host *host, int plan)
{
	plan_close(&host->plan);
	if (plan_open_fd(plan, &host->plan) != 0)
		log_line("cannot read the policy's plan: clients see no policy");
	else
		profile_names(&host->plan, host->posture.profiles, sizeof(host->posture.profiles));
	host->posture.has_hosts = host->plan.bytes && profiles_have_hosts(&host->plan, NULL);
	fd_close(&plan);
}

void host_take_welcome(struct host *host, const struct ipc_welcome *welcome, int plan)
{
	posture_from_welcome(welcome, &host->posture);
	executions_set_most(host->executions, welcome->executions_max);
	take_plan(host, plan);
}

void host_take_policy(struct host *host, const struct ipc_policy_changed *changed, int plan)
{
	resource_policy_changed(host); /* also for the resource of a profile that goes */
	posture_change_policy(&host->posture, changed);
	take_plan(host, plan);
	host_list_changed(host, LIST_TOOLS); /* their descriptions name profiles */
	host_list_changed(host, LIST_RESOURCES);
	resource_policy_changed(host);
}

void host_done(struct host *host)
{
	tasks_done(host);
	bridges_end(host, NULL);
	ask_done(host);
	host_answers_forget(host, NULL);
	sandboxes_forget_all(host);
	posture_done(&host->posture);
	host->subscriptions = subscriptions_free(host->subscriptions);
}
