/* SPDX-License-Identifier: Apache-2.0
 *
 * checkpoint: save a sandbox's files, list checkpoints, roll back to one, fork a sandbox from one,
 * delete one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_persistent.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/errand.h"
#include "mcp/core/sandboxes.h"
#include "mcp/resources/resources.h"
#include "mcp/tools/params.h"
#include "mcp/tools/sandbox_view.h"

enum checkpoint_param {
	CHECKPOINT_PARAM_SANDBOX,
	CHECKPOINT_PARAM_ACTION,
	CHECKPOINT_PARAM_WHICH,
	CHECKPOINT_PARAM_NAME,
};

/* In the order of enum checkpoint_operation. */
static const char *const action_names[] = { "save", "list", "rollback", "fork", "delete", NULL };

static const struct tool_param params[] = {
	[CHECKPOINT_PARAM_SANDBOX] = ROW_SANDBOX,
	[CHECKPOINT_PARAM_ACTION] = { .name = "action",
				      .kind = PARAM_NAME,
				      .is_required = true,
				      .names = action_names,
				      .description = "rollback: unsaved changes are lost. fork: a "
						     "new sandbox from `checkpoint` or from now." },
	[CHECKPOINT_PARAM_WHICH] = ROW_CHECKPOINT("checkpoint", "Its number or name, from list."),
	[CHECKPOINT_PARAM_NAME] = ROW_NAME("For the checkpoint (save) or the new sandbox (fork)."),
};

struct checkpointing {
	struct errand errand; /* first */
	struct ipc_checkpoint_do wanted;
	char which[IPC_NAME_MAX]; /* the checkpoint as the client named it */
	struct buffer list;
	unsigned int listed;
};

/* --- arguments ------------------------------------------------------------------------------ */

static bool is_number(const char *text)
{
	return text[0] && !text[strspn(text, "0123456789")];
}

bool checkpoints_take(struct call *call, const struct json_value *value, uint32_t *ret_number,
		      char ret_name[IPC_NAME_MAX])
{
	char text[IPC_NAME_MAX];
	uint64_t number;

	if (!value)
		return true;
	tool_copy_text(value, text, sizeof(text));
	if (!is_number(text)) {
		memcpy(ret_name, text, value->size + 1);
		number = 1;
	} else {
		number = value->size <= 10 ? strtoull(text, NULL, 10) : 0;
		*ret_number = (uint32_t)number;
	}
	if (value->size > 0 && number > 0 && number <= UINT32_MAX)
		return true;
	call_fail_value(call, "checkpoint", value,
			"but must be the number or name of a checkpoint. "
			"checkpoint(sandbox, action: \"list\") shows them.");
	return false;
}

static const char *check_name(const char *name, uint32_t operation)
{
	if (operation != CHECKPOINT_SAVE && operation != CHECKPOINT_FORK)
		return "but is for save and fork. To mean a checkpoint, pass its number or name as "
		       "`checkpoint`.";
	if (operation == CHECKPOINT_SAVE && is_number(name))
		return "which looks like the number of a checkpoint. Choose another name.";
	return sandboxes_check_name(name, operation == CHECKPOINT_FORK);
}

static const char *check_arguments(struct json_value *const *values,
				   const struct ipc_checkpoint_do *wanted)
{
	const bool is_given = values[CHECKPOINT_PARAM_WHICH] != NULL;

	if (!is_given &&
	    (wanted->operation == CHECKPOINT_ROLLBACK || wanted->operation == CHECKPOINT_DELETE))
		return "This action needs the argument `checkpoint`, a number or name. "
		       "checkpoint(sandbox, action: \"list\") shows them.";
	if (is_given &&
	    (wanted->operation == CHECKPOINT_SAVE || wanted->operation == CHECKPOINT_LIST))
		return "The argument `checkpoint` is for rollback, fork and delete. With save, use "
		       "`name` to name the new one.";
	return NULL;
}

/* --- answers -------------------------------------------------------------------------------- */

static void put_called(struct buffer *text, uint32_t number, const char *name)
{
	buffer_format(text, "%" PRIu32, number);
	if (name[0])
		buffer_format(text, " \"%s\"", text_quoted(name, strlen(name), QUOTE_BYTES));
}

static void put_line(struct checkpointing *work, const struct ipc_checkpoint_info *info)
{
	put_called(&work->list, info->number, info->name);
	buffer_append_text(&work->list, " · ");
	clock_append_date(&work->list, (int64_t)(info->created_s % 253402300799) * 1000);
	if (info->parent > 0)
		buffer_format(&work->list, " · made on %" PRIu32, info->parent);
	if (info->is_current)
		buffer_append_text(&work->list, " · the present files are based on it");
	buffer_append_text(&work->list, "\n");
	work->listed++;
}

static void put_list(const struct checkpointing *work, struct buffer *text)
{
	buffer_append(text, work->list.bytes, work->list.size);
	if (work->listed == 0)
		buffer_append_text(text, "[no checkpoints · checkpoint(sandbox, action: \"save\") "
					 "makes one]");
	else
		buffer_format(text,
			      "[%u checkpoint%s · rollback or fork with its number or name as "
			      "`checkpoint`]",
			      work->listed, work->listed == 1 ? "" : "s");
}

static void put_saved(const struct ipc_checkpoint_info *info, struct buffer *text)
{
	buffer_append_text(text, "The files are saved as checkpoint ");
	put_called(text, info->number, info->name);
	buffer_append_text(text, "; processes and /tmp are not.\n[checkpoint(sandbox, action: "
				 "\"rollback\", checkpoint: \"");
	buffer_format(text,
		      "%" PRIu32 "\") restores them · diff_changes(sandbox, since: \"%" PRIu32
		      "\") shows later changes]",
		      info->number, info->number);
}

static void put_forked(const struct checkpointing *work, const struct ipc_sandbox_info *info,
		       struct buffer *text)
{
	buffer_format(text, "The sandbox \"%s\" (id %s) has the files of ",
		      text_quoted(sandbox_handle(info), strlen(sandbox_handle(info)), QUOTE_BYTES),
		      info->id);
	if (work->which[0])
		buffer_format(text, "checkpoint %s of ",
			      text_quoted(work->which, strlen(work->which), QUOTE_BYTES));
	buffer_format(
		text,
		"\"%s\" and is independent of it. Pass its name or id as `sandbox` to run in it.",
		text_quoted(work->wanted.sandbox, strlen(work->wanted.sandbox), QUOTE_BYTES));
}

static void put_done(const struct checkpointing *work, struct buffer *text)
{
	buffer_format(
		text,
		work->wanted.operation == CHECKPOINT_DELETE
			? "Checkpoint %s is deleted; the present files are unchanged."
			: "The files are restored to checkpoint %s. The checkpoint still exists; "
			  "the sandbox's processes have ended.",
		text_quoted(work->which, strlen(work->which), QUOTE_BYTES));
}

/* Notify subscribers that its files have changed. */
static void tell_changed(const struct session *session, const char *called)
{
	const char *id = sandboxes_id_of(session->host, session->principal, called);

	if (id)
		resource_diff_changed(session->host, id);
}

static void on_answer(struct errand *errand, const struct supervisor_answer *answer)
{
	struct checkpointing *work = (struct checkpointing *)errand;
	const struct session *session = errand->call->session;
	struct buffer text = { 0 };

	if (!answer->is_last) {
		put_line(work, answer->checkpoint);
		return;
	}
	if (answer->kind == ANSWER_SANDBOX) {
		sandboxes_learn(session->host, session->principal, answer->sandbox);
		put_forked(work, answer->sandbox, &text);
	} else if (answer->kind == ANSWER_CHECKPOINT) {
		put_saved(answer->checkpoint, &text);
	} else if (work->wanted.operation == CHECKPOINT_LIST) {
		put_list(work, &text);
	} else {
		put_done(work, &text);
	}
	if (work->wanted.operation == CHECKPOINT_ROLLBACK)
		tell_changed(session, work->wanted.sandbox);
	errand_answer(errand, &text, false);
}

static void free_checkpointing(struct errand *errand)
{
	struct checkpointing *work = (struct checkpointing *)errand;

	buffer_done(&work->list);
	free(work);
}

static const struct errand_rules rules = { .answered = on_answer, .free = free_checkpointing };

/* --- the request ---------------------------------------------------------------------------- */

static void start_operation(struct call *call, const struct ipc_checkpoint_do *wanted,
			    const struct json_value *which)
{
	struct checkpointing *work = memory_get_zeroed(1, sizeof(*work));

	work->wanted = *wanted;
	if (which)
		memcpy(work->which, which->text, which->size);
	work->errand.subjects = (struct refusal_words){ .sandbox = work->wanted.sandbox,
							.name = work->wanted.name,
							.checkpoint = work->which };
	errand_begin(&work->errand, call, &rules);
	errand_ask(&work->errand, checkpoint_do, NULL, &work->wanted, -1);
}

static void run_checkpoint(struct call *call, const struct json_document *document,
			   struct json_value *const *values)
{
	const struct json_value *name = values[CHECKPOINT_PARAM_NAME];
	struct ipc_checkpoint_do wanted = {
		.operation = CHECKPOINT_SAVE +
			     tool_name_index(values[CHECKPOINT_PARAM_ACTION], action_names)
	};
	const char *problem, *rest;

	tool_copy_text(values[CHECKPOINT_PARAM_SANDBOX], wanted.sandbox, sizeof(wanted.sandbox));
	if (!checkpoints_take(call, values[CHECKPOINT_PARAM_WHICH], &wanted.number, wanted.of))
		return;
	if (name)
		memcpy(wanted.name, name->text, name->size);
	problem = check_arguments(values, &wanted);
	rest = name ? check_name(wanted.name, wanted.operation) : NULL;
	if (problem)
		call_fail(call, "%s", problem);
	else if (rest)
		call_fail_value(call, "name", name, rest);
	if (problem || rest)
		return;
	start_operation(call, &wanted, values[CHECKPOINT_PARAM_WHICH]);
}

/* destructiveHint is false as for run_command: these are the agent's own files. */
const struct tool tool_checkpoint = {
	.name = "checkpoint",
	.title = "Save, restore or fork a sandbox's files",
	.description = "Save the files of a persistent sandbox and return to them: save before a "
		       "risky step, rollback if it went wrong, fork to try two ways. Processes and "
		       "/tmp are not saved; no execution may run meanwhile.",
	TOOL_PARAMS(params),
	.handler = run_checkpoint,
};
