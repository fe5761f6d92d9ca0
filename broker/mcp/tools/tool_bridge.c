/* SPDX-License-Identifier: Apache-2.0
 *
 * bridge_port: let a port of the host lead to a server in a sandbox, as far as the policy and the
 * user allow agents to.
 *
 * The user is asked each time. With consent another process binds the port and starts msp-bridge,
 * since this one can do neither; both it and the supervisor, which compares the policy itself, hear
 * of this broker what a person's msp would say.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_bridge.h"
#include "common/log.h"
#include "frontend/profile_names.h"
#include "lib/heap/memory.h"
#include "mcp/asking/choice.h"
#include "mcp/core/bridges.h"
#include "mcp/core/sandbox_search.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"
#include "mcp/tools/sandbox_view.h"

enum bridge_param {
	BRIDGE_SANDBOX,
	BRIDGE_PORT,
	BRIDGE_HOST_PORT,
	BRIDGE_CLOSE,
};

static const struct tool_param params[] = {
	[BRIDGE_SANDBOX] = ROW_SANDBOX,
	[BRIDGE_PORT] = { .name = "port",
			  .kind = PARAM_INTEGER,
			  .is_required = true,
			  .minimum = 1,
			  .maximum = UINT16_MAX,
			  .description = "Of the running server in the sandbox." },
	[BRIDGE_HOST_PORT] = ROW_UINT16("host_port", NULL,
					"Of the user's 127.0.0.1; the same or any by default."),
	[BRIDGE_CLOSE] = ROW_FLAG("close", "false", "Close it instead."),
};

/* The question's name. */
#define ASK_KEY "bridge"

enum bridge_answer {
	ANSWER_NOTHING,
	ANSWER_OPEN,
	BRIDGE_ANSWERS,
};

static const char *const answers[BRIDGE_ANSWERS] = {
	[ANSWER_NOTHING] = "open nothing",
	[ANSWER_OPEN] = "open the port",
};

static const struct choice choice = { answers, BRIDGE_ANSWERS,
				      1U << ANSWER_NOTHING | 1U << ANSWER_OPEN };

/* A name that fits into the question beside its other words; a longer one is the id. */
#define NAME_BYTES 26U

enum bridge_phase {
	PHASE_MAKE,  /* the supervisor has an msp-bridge started */
	PHASE_BOUND, /* msp-bridge binds */
	PHASE_START, /* the supervisor lets it in */
	PHASE_READY, /* msp-bridge listens */
};

/* The subject of the question, kept for the answer. */
struct asked_about {
	char sandbox[IPC_ID_MAX];
	uint32_t port, host_port;
};

struct bridging {
	struct sandbox_search search; /* first */
	enum bridge_phase phase;
	uint32_t port, host_port; /* wanted, 0: any; then bound */
	bool closes;
	int control, network; /* channels whose other ends msp-bridge has */
	struct event *event;
};

static void free_bridging(struct errand *errand)
{
	struct bridging *work = (struct bridging *)errand;

	if (work->event)
		event_free(work->event);
	fd_close(&work->control);
	fd_close(&work->network);
	free(work);
}

static struct call *call_of(const struct bridging *work)
{
	return work->search.errand.call;
}

static void fail_bridge(struct bridging *work, const char *problem)
{
	errand_fail(&work->search.errand, "No port was opened. %s", problem);
}

/* Fail with the way for the user, by the id: a name may be another owner's. */
static void leave_to_user(struct bridging *work, const char *problem)
{
	errand_fail(&work->search.errand,
		    "No port was opened. %s The user can run `msp bridge %s %u`.", problem,
		    work->search.info.id, work->port);
}

static void put_url(struct buffer *text, const struct bridging *work)
{
	buffer_format(
		text,
		"http://127.0.0.1:%u/ on the user's machine leads to port %u of \"%s\", until "
		"the sandbox or this session ends.\n[bridge_port(sandbox, port, close: true) "
		"closes it]",
		work->host_port, work->port, sandbox_handle(&work->search.info));
}

/* --- msp-bridge ------------------------------------------------------------------------------- */

static void explain_failure(struct bridging *work, const struct ipc_bridge_ready *ready)
{
	const bool is_taken = ready->error == EADDRINUSE;
	struct buffer text = { 0 };

	if (ready->step == BRIDGE_STEP_CONNECT)
		buffer_format(
			&text,
			"Nothing in the sandbox takes connections at port %u. Start the server "
			"in the background first: run_command(..., yield_ms: 0).",
			work->port);
	else if (ready->step == BRIDGE_STEP_RECORD)
		buffer_append_text(&text, "The audit log cannot be written, or as many bridges are "
					  "open as can be.");
	else if (ready->step == BRIDGE_STEP_LISTEN)
		buffer_format(&text, "The port of the user's machine cannot be had: %s.%s",
			      errno_text((int)ready->error),
			      is_taken ? " Leave out `host_port` for any." : "");
	else
		buffer_format(&text, "The sandbox's network cannot be entered: %s.",
			      errno_text((int)ready->error));
	if (ready->step == BRIDGE_STEP_ENTER || (ready->step == BRIDGE_STEP_LISTEN && !is_taken))
		leave_to_user(work, text.bytes);
	else
		fail_bridge(work, text.bytes);
	buffer_done(&text);
}

static void answer_open(struct bridging *work)
{
	struct buffer text = { 0 };

	bridges_keep(call_of(work)->session, fd_take(&work->control), work->search.info.id,
		     work->port, work->host_port);
	put_url(&text, work);
	errand_answer(&work->search.errand, &text, false);
}

/* Ask the supervisor to have it started, or to let it in; takes the channel. */
static void ask_supervisor(struct bridging *work, enum bridge_operation operation, int channel)
{
	struct ipc_bridge_start wanted = { .operation = operation,
					   .port = work->port,
					   .host_port = work->host_port };

	work->phase = operation == BRIDGE_MAKE ? PHASE_MAKE : PHASE_START;
	errand_ask(&work->search.errand, bridge_start, work->search.info.id, &wanted, channel);
}

static void on_control(evutil_socket_t fd, short what, void *argument)
{
	static struct channel_message message;
	const struct channel channel = { fd, IPC_FRONTEND, IPC_BRIDGE, IPC_SERVE };
	struct bridging *work = argument;
	enum ipc_error wrong;
	const int result = channel_receive(&channel, &message, MSG_DONTWAIT, &wrong);

	if (result == -EAGAIN) {
		(void)event_add(work->event, NULL);
	} else if (result == 1 && message.type == IPC_TYPE_bridge_bound &&
		   work->phase == PHASE_BOUND) {
		work->host_port = ipc_body(&message, bridge_bound)->host_port;
		ask_supervisor(work, BRIDGE_ENTER, fd_take(&work->network));
	} else if (result == 1 && message.type == IPC_TYPE_bridge_ready) {
		const struct ipc_bridge_ready *ready = ipc_body(&message, bridge_ready);

		if (ready->step == BRIDGE_STEP_NONE && work->phase == PHASE_READY)
			answer_open(work);
		else
			explain_failure(work, ready);
	} else {
		leave_to_user(work, "msp-bridge could not be started, or ended early.");
	}
}

/* Wait for its next message. */
static void hear_bridge(struct bridging *work, enum bridge_phase phase)
{
	work->phase = phase;
	if (!work->event)
		work->event = event_new(call_of(work)->session->host->base, work->control, EV_READ,
					on_control, work);
	if (!work->event || event_add(work->event, NULL) != 0)
		give_up("watching a bridge");
}

/* Make both channels, with the first message in the one. Return its other end or -errno. */
static int make_channels(struct bridging *work)
{
	struct ipc_bridge_begin begin = { .port = work->port };
	struct channel channel = { -1, IPC_FRONTEND, IPC_BRIDGE, IPC_SETUP };
	int control[2] = { -1, -1 }, network[2] = { -1, -1 };
	int error = channel_pair(control);

	if (!error)
		error = channel_pair(network);
	channel.fd = work->control = control[0];
	work->network = network[0];
	memcpy(begin.schema, ipc_schema_hash, sizeof(begin.schema));
	if (!error)
		error = channel_send(&channel, IPC_TYPE_bridge_begin, &begin, &network[1], 0);
	fd_close(&network[1]);
	if (error)
		fd_close(&control[1]);
	return error ? error : control[1];
}

static void make_bridge(struct bridging *work)
{
	const int channel = make_channels(work);

	if (channel < 0)
		fail_bridge(work, errno_text(-channel));
	else
		ask_supervisor(work, BRIDGE_MAKE, channel);
}

/* --- consent --------------------------------------------------------------------------------- */

static void ask_user(struct bridging *work)
{
	const struct ipc_sandbox_info *info = &work->search.info;
	const char *name =
		strlen(sandbox_handle(info)) <= NAME_BYTES ? sandbox_handle(info) : info->id;
	struct asked_about about = { .port = work->port, .host_port = work->host_port };
	struct buffer message = { 0 }, question = { 0 };
	struct call *call = call_of(work);

	buffer_format(&message, "Open port %u of sandbox \"%s\" on 127.0.0.1", work->port, name);
	if (work->host_port)
		buffer_format(&message, ":%u", work->host_port);
	buffer_append_text(&message, "?\nPrograms of this machine reach the agent's server then.");
	choice_put_question(&choice, &message, "Open ones: msp bridge --list", &question);
	memcpy(about.sandbox, info->id, sizeof(about.sandbox));
	if (call_ask(call, ASK_KEY, ASK_ELICITATION, &question)) {
		fail_bridge(work, "The answer belongs to another port than this.");
	} else {
		call_keep(call, &about, sizeof(about));
		call_await(errand_release(&work->search.errand));
	}
	buffer_done(&message);
	buffer_done(&question);
}

/* Return the answer to the question about this port. */
static const struct ask_input *find_answer(const struct bridging *work)
{
	const struct buffer *kept = call_kept(call_of(work));
	struct asked_about about;

	if (kept->size != sizeof(about))
		return NULL;
	memcpy(&about, kept->bytes, sizeof(about));
	if (strcmp(about.sandbox, work->search.info.id) != 0 || about.port != work->port ||
	    about.host_port != work->host_port)
		return NULL;
	return call_answer(call_of(work), ASK_KEY, ASK_ELICITATION);
}

static void take_answer(struct bridging *work, const struct ask_input *input)
{
	struct buffer problem = { 0 };
	unsigned int answer;

	if (choice_read(&choice, input, &answer, &problem) == CHOICE_MADE) {
		make_bridge(work);
	} else {
		leave_to_user(work, problem.bytes);
	}
	buffer_done(&problem);
}

/* --- the steps ------------------------------------------------------------------------------ */

static bool is_askable(const struct plan_profile *profile)
{
	return profile->bridge == PLAN_BRIDGE_ASK;
}

/* Return the reason against it; NULL: none. */
static const char *check_request(const struct bridging *work)
{
	const struct session *session = call_of(work)->session;
	const struct plan_profile *profile =
		profile_find(&session->host->plan, work->search.info.profile);

	if (!profile || !is_askable(profile))
		return "The policy lets only the user open a port of this sandbox.";
	if (!call_can_ask(call_of(work), ASK_ELICITATION))
		return "The policy requires the user's consent, and this client cannot ask (it "
		       "lacks elicitation).";
	if (!bridges_have_room(session))
		return "This client has 8 bridges open. Close one first.";
	return NULL;
}

static void close_open(struct bridging *work, struct open_bridge *open)
{
	struct buffer text = { 0 };

	if (open) {
		bridges_close(open);
		buffer_append_text(&text, "The port is closed.");
	} else {
		buffer_append_text(&text, "This client has no bridge to that port of the sandbox.");
	}
	errand_answer(&work->search.errand, &text, !open);
}

static void on_found(struct sandbox_search *search)
{
	struct bridging *work = (struct bridging *)search;
	struct open_bridge *open =
		bridges_find(call_of(work)->session, search->info.id, work->port);
	const char *problem = work->closes || open ? NULL : check_request(work);
	const struct ask_input *answered;
	struct buffer text = { 0 };

	if (work->closes) {
		close_open(work, open);
	} else if (open) {
		work->host_port = open->host_port;
		put_url(&text, work);
		errand_answer(&search->errand, &text, false);
	} else if (problem) {
		leave_to_user(work, problem);
	} else {
		answered = find_answer(work);
		if (answered)
			take_answer(work, answered);
		else
			ask_user(work);
	}
	buffer_done(&text);
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct bridging *work = (struct bridging *)errand;

	hear_bridge(work, work->phase == PHASE_MAKE ? PHASE_BOUND : PHASE_READY);
}

static const struct errand_rules rules = { .answered = on_answer, .free = free_bridging };

static void bridge_port(struct call *call, const struct json_document *document,
			struct json_value *const *values)
{
	struct bridging *work = memory_get_zeroed(1, sizeof(*work));

	work->control = work->network = -1;
	work->port = (uint32_t)tool_integer(values[BRIDGE_PORT], 0);
	work->host_port = (uint32_t)tool_integer(values[BRIDGE_HOST_PORT], 0);
	work->closes = tool_boolean(values[BRIDGE_CLOSE]);
	tool_copy_text(values[BRIDGE_SANDBOX], work->search.wanted, sizeof(work->search.wanted));
	sandbox_search_begin(&work->search, call, on_found, &rules);
}

static bool is_offered(const struct host *host)
{
	return profile_first(&host->plan, is_askable) != NULL;
}

const struct tool tool_bridge_port = {
	.name = "bridge_port",
	.title = "Show a server to the user",
	.description =
		"Let a port of the user's machine lead to a server in a persistent sandbox, so "
		"that the user's browser shows it. The user is asked. Returns the URL.",
	TOOL_PARAMS(params),
	.may_ask = true,
	.is_offered = is_offered,
	.handler = bridge_port,
};
