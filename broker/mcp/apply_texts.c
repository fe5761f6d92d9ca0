/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/apply_texts.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/json_write.h"
#include "io/text.h"
#include "mcp/result.h"
#include "mcp/sandbox_view.h"

/* Bounded, because a user reads it in a dialogue. */
#define QUESTION_LIST_BYTES 2500U
#define QUESTION_HELD_BYTES 1500U

/* --- the view ------------------------------------------------------------------------------- */

void apply_view_start(struct apply_view *view, bool is_answer)
{
	apply_view_done(view);
	*view = (struct apply_view){ .page = { .room = is_answer ? RESULT_TEXT_BYTES
								 : QUESTION_LIST_BYTES,
					       .is_list = true } };
}

void apply_view_done(struct apply_view *view)
{
	change_page_done(&view->page);
	buffer_done(&view->held);
	buffer_done(&view->tools);
}

void apply_view_add(struct apply_view *view, const struct change *change)
{
	struct buffer *held = change->is.flags & CHANGE_IS_TOOL ? &view->tools : &view->held;
	const size_t before = held->size;

	view->total++;
	change_page_add(&view->page, change);
	if ((change->is.flags & CHANGE_IS_HELD) == 0 || (change->is.flags & CHANGE_IS_APPLIED) != 0)
		return;
	buffer_append_text(held, "  ");
	change_put_name(held, change);
	buffer_append_text(held, "\n");
	if (view->held.size + view->tools.size <= QUESTION_HELD_BYTES)
		view->held_shown++;
	else
		held->size = before;
}

static void put_count(struct buffer *text, uint64_t count)
{
	buffer_format(text, "%" PRIu64 " change%s", count, count == 1 ? "" : "s");
}

static void put_list(const struct apply_view *view, struct buffer *text)
{
	change_page_put(&view->page, text);
	if (view->total > view->page.count)
		buffer_format(text, " and %" PRIu64 " more\n", view->total - view->page.count);
}

static void put_project(struct buffer *text, const struct ipc_sandbox_info *info)
{
	change_put_path(text, (const uint8_t *)info->workspace, strlen(info->workspace));
}

/* --- the question --------------------------------------------------------------------------- */

static void put_held(const struct apply_view *view, bool offers_held, struct buffer *text)
{
	const uint64_t held = view->page.held;

	if (held == 0)
		return;
	buffer_format(text,
		      "\n%" PRIu64 " of them can be executed by this machine automatically (hooks, "
		      "start-up files, configuration of editors, agents or CI):\n",
		      held);
	buffer_append(text, view->held.bytes, view->held.size);
	if (view->tools.size > 0)
		buffer_append_text(text, "and, when their tools are started:\n");
	buffer_append(text, view->tools.bytes, view->tools.size);
	if (offers_held)
		buffer_append_text(text, "They are left out unless you tick the box below.\n");
	else
		buffer_format(text,
			      "  and %" PRIu64
			      " more. They are left out; `msp apply` asks about each.\n",
			      held - view->held_shown);
}

static void put_message(const struct apply_view *view, const struct ipc_sandbox_info *info,
			uint32_t conflict, bool is_held_only, bool offers_held, struct buffer *text)
{
	const char *called = sandbox_handle(info);

	buffer_append_text(text, "The agent wants to apply ");
	put_count(text, view->total);
	buffer_append_text(text, " from the sandbox \"");
	text_quote(text, called, strlen(called), QUOTE_BYTES);
	buffer_append_text(text, "\" to ");
	put_project(text, info);
	buffer_append_text(text, ":\n");
	put_list(view, text);
	if (view->page.conflicts > 0)
		buffer_format(
			text,
			conflict == CONFLICT_OURS
				? "\n%" PRIu64 " also changed on the host and will be REPLACED by "
				  "the sandbox's version.\n"
				: "\n%" PRIu64
				  " also changed on the host and will keep the host's version.\n",
			view->page.conflicts);
	put_held(view, offers_held, text);
	if (is_held_only)
		buffer_append_text(text, "\nThe other changes are applied in any case.\n");
	buffer_format(text, "\n`msp diff %s` shows every line.", info->id);
}

static void put_form(struct json_writer *writer, bool offers_held)
{
	json_open_object(writer, "requestedSchema");
	json_put_text(writer, "type", "object");
	json_open_object(writer, "properties");
	if (offers_held) {
		json_open_object(writer, APPLY_HELD_KEY);
		json_put_text(writer, "type", "boolean");
		json_put_text(writer, "title",
			      "Also apply files that this machine can execute automatically");
		json_put_bool(writer, "default", false);
		json_close_object(writer);
	}
	json_close_object(writer);
	json_close_object(writer);
}

void apply_put_question(const struct apply_view *view, const struct ipc_sandbox_info *info,
			uint32_t conflict, bool is_held_only, bool offers_held,
			struct buffer *params)
{
	struct json_writer writer = { .out = params };
	struct buffer message = { 0 };

	put_message(view, info, conflict, is_held_only, offers_held, &message);
	json_open_object(&writer, NULL);
	json_put_string(&writer, "message", message.bytes, message.size);
	put_form(&writer, offers_held);
	json_close_object(&writer);
	buffer_done(&message);
}

/* --- the result --------------------------------------------------------------------------- */

void apply_put_failure(struct buffer *text, const char *problem,
		       const struct ipc_sandbox_info *info)
{
	buffer_append_text(text, "Nothing was applied. ");
	buffer_append_text(text, problem);
	buffer_format(text,
		      " The changes stay in the sandbox; the user can review them with `msp diff "
		      "%s` and apply them with `msp apply %s`.",
		      info->id, info->id);
}

void apply_put_nothing(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text)
{
	(void)view;
	(void)done;
	buffer_append_text(text, "[nothing to apply: no chosen file differs from ");
	put_project(text, info);
	buffer_append_text(text, "]");
}

void apply_put_preview(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text)
{
	if (view->total == 0) {
		apply_put_nothing(view, info, done, text);
		return;
	}
	put_list(view, text);
	buffer_append_text(text, "[preview: ");
	put_count(text, view->total);
	buffer_append_text(text, " for ");
	put_project(text, info);
	if (view->page.conflicts > 0)
		buffer_format(text, " · %" PRIu64 " in conflict: see `conflict`",
			      view->page.conflicts);
	if (view->page.held > 0)
		buffer_format(text, " · %" PRIu64 " host-executed: the user has to agree",
			      view->page.held);
	if (view->page.refused > 0)
		buffer_format(text, " · %" PRIu64 " never applied", view->page.refused);
	buffer_append_text(text, " · nothing was applied]");
}

void apply_put_conflicts(const struct apply_view *view, const struct ipc_sandbox_info *info,
			 const struct ipc_changes_done *done, struct buffer *text)
{
	(void)done;
	put_list(view, text);
	buffer_append_text(text, "[nothing was applied: ");
	put_count(text, view->page.conflicts);
	buffer_append_text(text, " in conflict with newer changes in ");
	put_project(text, info);
	buffer_append_text(text, " · ask the user: conflict=\"theirs\" keeps the host's files and "
				 "applies the rest, conflict=\"ours\" replaces them]");
}

void apply_put_applied(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text)
{
	const uint64_t held = done->held;

	put_list(view, text);
	buffer_append_text(text, "[");
	put_count(text, done->applied);
	buffer_append_text(text, done->applied == 1 ? " was applied to " : " were applied to ");
	put_project(text, info);
	if (done->conflicts > 0)
		buffer_format(text, " · %u in conflict", done->conflicts);
	if (view->held.size + view->tools.size > 0)
		buffer_format(
			text,
			" · %" PRIu64
			" host-executed, left out: the user can apply them with `msp apply %s`",
			held, info->id);
	if (done->applied > 0)
		buffer_format(text, " · `msp undo %s` undoes it", info->id);
	buffer_append_text(text, "]");
}
