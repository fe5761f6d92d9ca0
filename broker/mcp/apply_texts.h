/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of apply_changes, for the agent and for the user whom it asks.
 */
#ifndef BROKER_MCP_APPLY_TEXTS_H
#define BROKER_MCP_APPLY_TEXTS_H

#include "mcp/change_page.h"
#include "mcp/sandboxes.h"

/* The member of the user's form that includes host-executed files. */
#define APPLY_HELD_KEY "include_held"

/* The changes of a preview or an apply, as far as they are shown. */
struct apply_view {
	struct change_page page; /* a list */
	uint64_t total;
	struct buffer held; /* names of the host-executed files, a line each */
	struct buffer
		tools; /* names of the files that take effect when their tool runs, listed last */
	uint64_t held_shown;
};

/* Begin anew; `is_answer`: for a result, which has more room than a question. */
void apply_view_start(struct apply_view *view, bool is_answer);
void apply_view_add(struct apply_view *view, const struct change *change);
void apply_view_done(struct apply_view *view);

/* Append the parameters of the question (elicitation/create) as JSON. `is_held_only`: the other
 * changes need no consent. */
void apply_put_question(const struct apply_view *view, const struct ipc_sandbox_info *info,
			uint32_t conflict, bool is_held_only, bool offers_held,
			struct buffer *params);

/* Append the result: of a preview, of an apply. */
void apply_put_preview(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);
void apply_put_nothing(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);
void apply_put_conflicts(const struct apply_view *view, const struct ipc_sandbox_info *info,
			 const struct ipc_changes_done *done, struct buffer *text);
void apply_put_applied(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);

/* Append the problem, that nothing was applied, and how the user can apply the changes. */
void apply_put_failure(struct buffer *text, const char *problem,
		       const struct ipc_sandbox_info *info);

#endif
