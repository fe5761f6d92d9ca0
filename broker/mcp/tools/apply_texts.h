/* SPDX-License-Identifier: Apache-2.0
 *
 * The changes of a preview or an apply, as far as they are shown, and the results of
 * preview_changes and apply_changes.
 */
#ifndef BROKER_MCP_TOOLS_APPLY_TEXTS_H
#define BROKER_MCP_TOOLS_APPLY_TEXTS_H

#include "common/plan/plan.h"
#include "frontend/words/changes.h"
#include "mcp/asking/ask.h"
#include "mcp/core/change_page.h"
#include "mcp/core/sandboxes.h"

struct ipc_changes_done;
struct ipc_sandbox_info;

struct held_changes {
	uint64_t count;
	/* For a question: a new directory counts as the changes in it, if there are some. */
	uint64_t named;
	struct buffer names;     /* in a line, separated by ", " */
	bool is_cut;             /* further names have no room in a question */
	struct buffer directory; /* path of the last change, if it is a directory */
	size_t before;           /* bytes of the names before it */
};

struct apply_view {
	struct change_page page; /* a list */
	uint64_t total;
	struct held_changes held[NAMED_KINDS]; /* without changes that are applied, or never are */
};

/* Begin anew. */
void apply_view_start(struct apply_view *view);
void apply_view_add(struct apply_view *view, const struct change *change);
void apply_view_done(struct apply_view *view);

/* Return the number of changes that an apply would make, also those that wait for a person. */
uint64_t apply_view_count(const struct apply_view *view);

/* Return the number of changes that wait for a person. */
uint64_t apply_view_held(const struct apply_view *view);

/* Bytes of a digest that are shown, as twice as many digits; enough that a workload finds no two
 * sets of changes with the same. */
#define APPLY_DIGEST_SHOWN 16
#define APPLY_DIGEST_ROOM (2 * APPLY_DIGEST_SHOWN + 1)
void apply_digest_text(const uint8_t digest[IPC_DIGEST_BYTES], char ret[APPLY_DIGEST_ROOM]);

/* Append the result: of a preview, of an apply. */
void apply_put_preview(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, enum plan_apply policy,
		       struct buffer *text);
void apply_put_nothing(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);
void apply_put_conflicts(const struct apply_view *view, const struct ipc_sandbox_info *info,
			 const struct ipc_changes_done *done, struct buffer *text);
void apply_put_unmerged(const struct apply_view *view, const struct ipc_sandbox_info *info,
			const struct ipc_changes_done *done, struct buffer *text);
void apply_put_applied(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text);

/* Return who may apply under this profile. If it is gone, no policy allows agents to. */
enum plan_apply apply_policy(const struct host *host, const char *profile);

/* Return the reason why no changes of this sandbox can be applied; NULL: there is none. */
const char *apply_check_workspace(const struct ipc_sandbox_info *info);

/* --- the question ----------------------------------------------------------------------- */

struct ipc_sandbox_info;

/* The answers, in the order in which they are offered; the first is the default. */
enum apply_answer {
	APPLY_NOTHING,
	APPLY_ALL_BUT_HELD,
	APPLY_EVERYTHING,
	APPLY_ANSWERS,
};
#define APPLY_OFFERS(answer) (1U << (answer))

/* Append the parameters of the question (elicitation/create) as JSON. Returns the offered answers,
 * as bits. APPLY_EVERYTHING is one of them only if the question names each held change. */
unsigned int apply_put_question(const struct apply_view *view, const struct ipc_sandbox_info *info,
				uint32_t conflict, struct buffer *params);

/* Return the answer, one of `offered`. With APPLY_NOTHING the reason is appended to `ret_problem`
 * as a sentence. */
enum apply_answer apply_read_answer(const struct ask_input *input, unsigned int offered,
				    struct buffer *ret_problem);

#endif
