/* SPDX-License-Identifier: Apache-2.0
 *
 * What apply_changes says, to the agent and to the user whom it asks.
 */
#ifndef BROKER_MCP_APPLY_TEXTS_H
#define BROKER_MCP_APPLY_TEXTS_H

#include "mcp/change_page.h"
#include "mcp/sandboxes.h"

/* The member of the user's form that lets held changes go along. */
#define APPLY_HELD_KEY "include_held"

/* The changes of a preview or an apply, as far as they are shown. */
struct apply_view {
	struct change_page page; /* a list */
	uint64_t total;
	struct buffer held;  /* names of the held ones, a line each */
	struct buffer tools; /* of those that wait for their tool: they come last */
	uint64_t held_shown;
};

/* Begin anew; `is_answer`: for a result, which has more room than a question. */
void apply_view_start(struct apply_view *view, bool is_answer);
void apply_view_add(struct apply_view *view, const struct change *change);
void apply_view_done(struct apply_view *view);

/* The parameters of the question (elicitation/create) as JSON. `is_held_only`: the others need no
 * word. */
void apply_put_question(const struct apply_view *view, const struct ipc_sandbox_info *info,
			uint32_t conflict, bool is_held_only, bool offers_held,
			struct buffer *params);

/* What became of it. */
void apply_put_preview(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);
void apply_put_nothing(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);
void apply_put_conflicts(const struct apply_view *view, const struct ipc_sandbox_info *info,
			 const struct ipc_changes_done *done, struct buffer *text);
void apply_put_applied(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);

/* The problem, that nothing was applied, and how the user can do it. */
void apply_put_failure(struct buffer *text, const char *problem,
		       const struct ipc_sandbox_info *info);

#endif
