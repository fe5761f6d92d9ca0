/* SPDX-License-Identifier: Apache-2.0
 *
 * create_sandbox. Its result is data, and complete without the text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "frontend/words/words.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/asking/ask.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/errand.h"
#include "mcp/core/resource_uri.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"
#include "mcp/tools/sandbox_view.h"

/* --- the client's root ---------------------------------------------------------------------- */

/* The client's roots: the directories that its user has open. A root only stands for a path that a
 * model does not know; which directories are open to requests, the operator decides. */

#define ROOT_TEMPLATE "file://{+path}"

/* Room for one root in a message, and how many are named. */
#define ROOT_BYTES 120U
#define ROOTS_NAMED 8U

/* Read the path of a root; false: it is no file of this machine. */
static bool read_root(const struct json_document *document, const struct json_value *root,
		      struct resource_values *ret)
{
	struct json_value *uri = json_member(document, root, "uri");

	if (!json_is(uri, JSON_STRING))
		return false;
	json_decode(uri);
	return resource_uri_match(ROOT_TEMPLATE, uri->text, uri->size, ret) &&
	       ret->value[0][0] == '/';
}

/* Copy the path of the client's only root. False: there is none, or more than one, and the call has
 * failed. */
static bool roots_take_only(struct call *call, const struct ask_input *input, char *ret,
			    size_t room)
{
	const struct json_value *roots = json_member(input->document, input->value, "roots");
	struct resource_values values;
	struct buffer names = { 0 };
	uint64_t count = 0;

	for (struct json_value *root = roots ? json_first(input->document, roots) : NULL; root;
	     root = json_next(input->document, root)) {
		if (!read_root(input->document, root, &values) || strlen(values.value[0]) >= room)
			continue;
		if (count++ == 0)
			memcpy(ret, values.value[0], strlen(values.value[0]) + 1);
		if (count <= ROOTS_NAMED)
			buffer_format(
				&names, "%s\"%s\"", names.size > 0 ? ", " : "",
				text_quoted(values.value[0], strlen(values.value[0]), ROOT_BYTES));
	}
	if (count > 1)
		call_fail(call,
			  "The client has %" PRIu64 " roots: %s. Give one of them as `workspace`.",
			  count, names.bytes);
	else if (count == 0)
		call_fail(call, "The client has no root that is a directory of this machine. Give "
				"the absolute path of the project as `workspace`.");
	buffer_done(&names);
	return count == 1;
}

/* --- the tool ------------------------------------------------------------------------------- */

enum create_param {
	CREATE_PROFILE,
	CREATE_WORKSPACE,
	CREATE_MODE,
	CREATE_NAME,
	CREATE_TTL,
	CREATE_NETWORK,
};

/* Ten years; the profile's maximum holds anyway. */
#define TTL_S_MAX 315360000

/* The workspace that stands for the client's root, and the name of the question for it. */
#define ROOT_WORD "."
#define ROOTS_KEY "roots"

static const struct tool_param params[] = {
	[CREATE_PROFILE] = { .name = "profile",
			     .kind = PARAM_NAME,
			     .source = NAMES_PROFILES,
			     .bytes_max = IPC_NAME_MAX,
			     .describe = params_describe_profiles },
	[CREATE_WORKSPACE] = { .name = "workspace",
			       .kind = PARAM_TEXT,
			       .bytes_max = IPC_PATH_MAX - 1,
			       .description =
				       "The user's project, an absolute path; usually "
				       "the directory that the client was started in. \".\": "
				       "the client's root. Omitted: empty." },
	[CREATE_MODE] = { .name = "workspace_mode",
			  .kind = PARAM_NAME,
			  .names = workspace_modes + WORKSPACE_COPY,
			  .standard = "\"copy-on-write\"",
			  .description = "read-write: changes reach the project at once, if the "
					 "policy allows it." },
	[CREATE_NAME] = ROW_NAME("Letters, digits, '.', '_', '-'."),
	[CREATE_TTL] = { .name = "ttl_s",
			 .kind = PARAM_INTEGER,
			 .minimum = 1,
			 .maximum = TTL_S_MAX,
			 .description = "Seconds from its last use to its removal." },
	[CREATE_NETWORK] = ROW_NETWORK("Without the profile's hosts."),
};

/* --- the answer ----------------------------------------------------------------------------- */

struct creation {
	struct errand errand; /* first */
	struct ipc_sandbox_new wanted;
	bool makes_room;
	struct sandbox_room room;
	struct ipc_execution_refused refused; /* set while room is made */
	struct ipc_sandbox_info made;
	uint64_t made_s;
	bool is_preparing; /* foreign files of the workspace */
	struct changes_job job;
	struct buffer left; /* the foreign files that stay unchangeable */
	uint32_t left_count;
	struct buffer data; /* why git's data is not all there */
};

/* So many are named. */
#define LEFT_NAMED_MAX 10

static const char next_step[] =
	"Pass `sandbox` to run_command and run_code to run in it; checkpoint saves and rolls back "
	"its files; diff_changes shows what changed in /workspace; destroy_sandbox removes it.";

static bool is_prepared(const struct creation *creation)
{
	return creation->is_preparing && creation->job.done.error == 0 && !creation->job.is_broken;
}

static void put_foreign(const struct creation *creation, struct buffer *text)
{
	const struct ipc_changes_done *done = &creation->job.done;

	if (!creation->is_preparing)
		return;
	if (!is_prepared(creation)) {
		buffer_append_text(text, " Files of other owners or groups may be unchangeable in "
					 "it.");
		return;
	}
	if (done->step == CHANGES_STEP_WRITE)
		buffer_append_text(text, " The user may not write to the project: apply_changes "
					 "would fail. Ask the user to chown it.");
	if (done->total > 0)
		buffer_format(text,
			      " %" PRIu64 " %s of the project %s another owner "
			      "or group: %" PRIu32 " can be changed in the sandbox, %" PRIu32
			      " cannot%s",
			      done->total,
			      done->total > 1        ? "files and directories"
			      : done->conflicts == 1 ? "directory"
						     : "file",
			      done->total == 1 ? "has" : "have", done->applied, done->held,
			      done->held ? ": " : ".");
	if (creation->left.size > 0)
		buffer_append(text, creation->left.bytes, creation->left.size);
	if (creation->left_count > LEFT_NAMED_MAX)
		buffer_append_text(text, ", and more");
	if (creation->left_count > 0)
		buffer_append_text(text, creation->left_count == 1
						 ? ". Only the user can chown it."
						 : ". Only the user can chown those.");
	if (done->step == CHANGES_STEP_READ)
		buffer_format(text,
			      " The project is large: only its first %" PRIu64
			      " names were searched for such files.",
			      done->ignored);
}

static void put_text(struct buffer *text, const struct creation *creation)
{
	const struct ipc_sandbox_info *info = &creation->made;

	buffer_format(text, "The sandbox \"%s\" (id %s, profile %s) is created. ",
		      text_quoted(sandbox_handle(info), strlen(sandbox_handle(info)), QUOTE_BYTES),
		      info->id, info->profile);
	sandbox_put_workspace(text, info);
	buffer_append_text(text, ".");
	if (info->expires_s > creation->made_s) {
		buffer_append_text(text, " It is removed ");
		sandbox_put_span(text, info->expires_s - creation->made_s);
		buffer_append_text(text, " after its last use.");
	}
	put_foreign(creation, text);
	buffer_append(text, creation->data.bytes, creation->data.size);
	sandbox_room_put_removed(&creation->room, text);
	buffer_format(text, "\n[%s]", next_step);
}

static void write_foreign(struct json_writer *writer, const struct creation *creation)
{
	const struct ipc_changes_done *done = &creation->job.done;

	if (!is_prepared(creation) || done->total == 0)
		return;
	json_open_object(writer, "foreign");
	json_put_number(writer, "total", done->total);
	json_put_number(writer, "prepared", done->applied);
	json_put_number(writer, "unchangeable", done->held);
	json_close_object(writer);
}

static void answer_created(struct creation *creation)
{
	struct call *call = creation->errand.call;
	struct buffer text = { 0 };
	struct answer result;

	put_text(&text, creation);
	call_open_result(call, &result);
	call_put_text(&result, &text, false);
	json_open_object(&result.writer, "structuredContent");
	sandbox_put(&result.writer, &creation->made);
	write_foreign(&result.writer, creation);
	if (creation->room.removed.id[0])
		json_put_text(&result.writer, "removed", creation->room.removed.id);
	json_put_text(&result.writer, "next", next_step);
	json_close_object(&result.writer);
	call = errand_release(&creation->errand);
	call_close_result(call, &result);
	buffer_done(&text);
}

/* --- foreign files of the workspace --------------------------------------------------------- */

/* Why git does not work in the sandbox. */
static void append_data(struct creation *creation, const struct change *change)
{
	const char *path =
		text_quoted((const char *)change->path, change->is.path_size, QUOTE_BYTES);

	if (change->is.flags & CHANGE_IS_DIRECTORY)
		buffer_format(
			&creation->data,
			" git does not work in it: the repository is %s, and /workspace shows "
			"a part of it. For git, create a sandbox on that directory.",
			path);
	else if (change->is.flags & CHANGE_IS_HELD)
		buffer_format(&creation->data,
			      " git lacks the repository's data in %s, which does not name the "
			      "project. Only the user can change that: git config --file "
			      "DATA/config --add msp.workspace PROJECT.",
			      path);
	else
		buffer_format(&creation->data,
			      " git lacks the repository's data in %s, which cannot be shown%s.",
			      path,
			      change->is.flags & CHANGE_IS_REFUSED
				      ? ": it is protected, or outside of the operator's workspaces"
				      : "; a submodule works in a sandbox on its superproject");
}

static void on_left(struct errand *errand, const struct change *change)
{
	struct creation *creation = (struct creation *)errand;

	if (change->is.flags & CHANGE_IS_GITS) {
		append_data(creation, change);
		return;
	}
	if (creation->left_count++ >= LEFT_NAMED_MAX)
		return;
	buffer_format(&creation->left, "%s%s", creation->left_count > 1 ? ", " : "",
		      text_quoted((const char *)change->path, change->is.path_size, QUOTE_BYTES));
}

static void on_prepared(struct errand *errand)
{
	answer_created((struct creation *)errand);
}

static void prepare_foreign(struct creation *creation)
{
	static const struct changes_rules changes_rules = { .found = on_left,
							    .ended = on_prepared };
	static const struct chosen_paths all;
	struct ipc_changes_start wanted = { .operation = CHANGES_PREPARE };

	creation->is_preparing = true;
	changes_job_start(&creation->job, &creation->errand, &changes_rules, creation->made.id,
			  &wanted, &all);
}

static void take_created(struct creation *creation, const struct ipc_sandbox_info *info)
{
	const struct session *session = creation->errand.call->session;

	creation->made = *info;
	creation->made_s = (uint64_t)clock_date_ms() / 1000;
	sandboxes_learn(session->host, session->principal, info);
	if (creation->wanted.workspace_mode == WORKSPACE_COPY)
		prepare_foreign(creation);
	else
		answer_created(creation);
}

static void free_creation(struct errand *errand)
{
	struct creation *creation = (struct creation *)errand;

	changes_job_stop(&creation->job);
	buffer_done(&creation->left);
	buffer_done(&creation->data);
	free(creation);
}

/* --- room at the limit ---------------------------------------------------------------------- */

/* Fail as the supervisor refused, and name the sandbox to remove. */
static void fail_full(struct creation *creation)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "Nothing was created. ");
	refusal_put(&text, &creation->refused, &creation->errand.subjects, NULL);
	sandbox_room_put_oldest(&creation->room, &text);
	sandbox_room_put_removed(&creation->room, &text);
	errand_answer(&creation->errand, &text, true);
}

static void go_on(struct creation *creation, enum room_step step)
{
	if (step == ROOM_WAITS)
		return;
	creation->makes_room = false;
	if (step == ROOM_MADE)
		errand_ask(&creation->errand, sandbox_new, NULL, &creation->wanted, -1);
	else
		fail_full(creation);
}

static bool on_refused(struct errand *errand, const struct ipc_execution_refused *refused)
{
	struct creation *creation = (struct creation *)errand;

	if (creation->makes_room) {
		go_on(creation, sandbox_room_take(&creation->room, errand, NULL));
		return true;
	}
	if (creation->is_preparing) { /* the sandbox exists all the same */
		creation->job.is_broken = true;
		answer_created(creation);
		return true;
	}
	if (refused->reason != REFUSAL_SANDBOXES)
		return false;
	creation->refused = *refused;
	if (creation->room.removed.id[0]) { /* another client has the room */
		fail_full(creation);
	} else {
		creation->makes_room = true;
		go_on(creation, sandbox_room_begin(&creation->room, errand));
	}
	return true;
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct creation *creation = (struct creation *)errand;

	if (creation->makes_room)
		go_on(creation, sandbox_room_take(&creation->room, errand, answer));
	else
		take_created(creation, answer->sandbox);
}

static const struct errand_rules rules = { .answered = on_answer,
					   .refused = on_refused,
					   .free = free_creation };

/* --- the request ---------------------------------------------------------------------------- */

/* Check the arguments. False: the call has failed. */
static bool check_request(struct call *call, struct json_value *const *values,
			  const struct ipc_sandbox_new *wanted)
{
	const struct json_value *name = values[CREATE_NAME];
	const struct json_value *workspace = values[CREATE_WORKSPACE];
	const char *rest = name ? sandboxes_check_name(wanted->name, true) : NULL;

	if (name && name->size == 0)
		rest = "and so is no name. Leave it out for a sandbox without one.";
	if (rest) {
		call_fail_value(call, "name", name, rest);
		return false;
	}
	if (workspace && wanted->workspace[0] != '/' && strcmp(wanted->workspace, ROOT_WORD) != 0) {
		call_fail_value(call, "workspace", workspace,
				"but must be an absolute path of a directory on the user's "
				"machine. Leave it out to begin with an empty /workspace.");
		return false;
	}
	if (!workspace && values[CREATE_MODE]) {
		call_fail(call, "The argument `workspace_mode` needs a `workspace`, which is "
				"missing. Give the directory, or leave both out.");
		return false;
	}
	return true;
}

static void fill_request(struct json_value *const *values, struct ipc_sandbox_new *ret)
{
	tool_copy_text(values[CREATE_PROFILE], ret->profile, sizeof(ret->profile));
	tool_copy_text(values[CREATE_WORKSPACE], ret->workspace, sizeof(ret->workspace));
	tool_copy_text(values[CREATE_NAME], ret->name, sizeof(ret->name));
	ret->ttl_s = (uint32_t)tool_integer(values[CREATE_TTL], 0);
	ret->no_hosts = values[CREATE_NETWORK] != NULL;
	if (values[CREATE_WORKSPACE])
		ret->workspace_mode =
			WORKSPACE_COPY +
			tool_name_index(values[CREATE_MODE], workspace_modes + WORKSPACE_COPY);
}

/* Put the client's root in the place of its word. Returns false if the call has ended or waits. */
static bool take_root(struct call *call, struct ipc_sandbox_new *wanted)
{
	const struct ask_input *input;

	if (strcmp(wanted->workspace, ROOT_WORD) != 0)
		return true;
	if (!call_can_ask(call, ASK_ROOTS)) {
		call_fail(call, "This client has no roots, so that `workspace` must be an "
				"absolute path of a directory on the user's machine.");
		return false;
	}
	input = call_ask(call, ROOTS_KEY, ASK_ROOTS, NULL);
	if (!input) {
		call_await(call);
		return false;
	}
	return roots_take_only(call, input, wanted->workspace, sizeof(wanted->workspace));
}

static void create_sandbox(struct call *call, const struct json_document *document,
			   struct json_value *const *values)
{
	struct creation *creation = memory_get_zeroed(1, sizeof(*creation));
	struct ipc_sandbox_new *wanted = &creation->wanted;

	fill_request(values, wanted);
	if (!check_request(call, values, wanted) || !take_root(call, wanted)) {
		free(creation);
		return;
	}
	creation->errand.subjects =
		(struct refusal_words){ .profile = wanted->profile, .name = wanted->name };
	errand_begin(&creation->errand, call, &rules);
	errand_ask(&creation->errand, sandbox_new, NULL, &creation->wanted, -1);
}

const struct tool tool_create_sandbox = {
	.name = "create_sandbox",
	.title = "Create a persistent sandbox",
	.description = "Create a persistent sandbox for work of several steps: its files in "
		       "/workspace and /home/agent stay between runs. Pass its name or id as "
		       "`sandbox` to other tools. With `workspace`, /workspace shows the user's "
		       "project; changes stay in the sandbox until apply_changes.",
	TOOL_PARAMS(params),
	.may_ask = true,
	.handler = create_sandbox,
};
