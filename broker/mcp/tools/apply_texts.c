/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/apply_texts.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/workspace_mode.h"
#include "frontend/profile_names.h"
#include "frontend/quote.h"
#include "io/text.h"
#include "mcp/asking/choice.h"
#include "mcp/core/changes_job.h"
#include "mcp/core/result.h"

/* Room for names of one kind; a question has less. */
#define HELD_NAMES_BYTES 200U

/* --- the view ------------------------------------------------------------------------------- */

void apply_view_start(struct apply_view *view)
{
	apply_view_done(view);
	*view = (struct apply_view){ .page = { .room = RESULT_TEXT_BYTES, .is_list = true } };
}

void apply_view_done(struct apply_view *view)
{
	change_page_done(&view->page);
	for (size_t i = 0; i < NAMED_KINDS; i++) {
		buffer_done(&view->held[i].names);
		buffer_done(&view->held[i].directory);
	}
}

/* Return true if the last change is the directory that this one is in. */
static bool is_in_last(const struct held_changes *held, const struct change *change)
{
	const size_t size = held->directory.size;

	return size > 0 && change->is.path_size > size && change->path[size] == '/' &&
	       memcmp(change->path, held->directory.bytes, size) == 0;
}

static void add_name(struct held_changes *held, const struct change *change)
{
	if (held->is_cut)
		return;
	held->before = held->names.size;
	if (held->names.size > 0)
		buffer_append_text(&held->names, ", ");
	change_put_name(&held->names, QUOTE_LISTED, change);
	if (held->names.size <= HELD_NAMES_BYTES)
		return;
	held->names.size = held->before;
	held->is_cut = true;
}

static void add_held(struct held_changes *held, const struct change *change)
{
	held->count++;
	if (is_in_last(held, change))
		held->names.size = held->before;
	else
		held->named++;
	add_name(held, change);
	held->directory.size = 0;
	if ((change->is.flags & CHANGE_IS_DIRECTORY) != 0)
		buffer_append(&held->directory, change->path, change->is.path_size);
}

void apply_view_add(struct apply_view *view, const struct change *change)
{
	const unsigned int flags = change->is.flags;

	view->total++;
	change_page_add(&view->page, change);
	if ((flags & (CHANGE_IS_HELD | CHANGE_MAY_RUN)) != 0 && (flags & CHANGE_IS_APPLIED) == 0 &&
	    !change_is_refused(change))
		add_held(&view->held[change_held_kind(flags)], change);
}

uint64_t apply_view_count(const struct apply_view *view)
{
	return view->total - view->page.refused - view->page.committed;
}

uint64_t apply_view_held(const struct apply_view *view)
{
	uint64_t count = 0;

	for (size_t i = 0; i < HELD_KINDS; i++)
		count += view->held[i].count;
	return count;
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
	quote_path(text, QUOTE_UTF8, info->workspace, strlen(info->workspace));
}

/* Say which changes come with the commits. */
static void describe_committed(const struct apply_view *view, struct buffer *text)
{
	if (view->page.committed > 0)
		buffer_format(text,
			      " · %" PRIu64 " in the commits: `git merge` of the branch in "
			      "refs/msp brings them",
			      view->page.committed);
}

/* --- the result --------------------------------------------------------------------------- */

void apply_digest_text(const uint8_t digest[IPC_DIGEST_BYTES], char ret[APPLY_DIGEST_ROOM])
{
	(void)sodium_bin2hex(ret, APPLY_DIGEST_ROOM, digest, APPLY_DIGEST_SHOWN);
}

enum plan_apply apply_policy(const struct host *host, const char *profile)
{
	const struct plan_profile *found = profile_find(&host->plan, profile);
	const uint32_t apply = found ? found->apply : (uint32_t)PLAN_APPLY_PERSON;

	return apply < PLAN_APPLY_COUNT ? (enum plan_apply)apply : PLAN_APPLY_PERSON;
}

const char *apply_check_workspace(const struct ipc_sandbox_info *info)
{
	if (info->workspace_mode == WORKSPACE_WRITE)
		return "The sandbox works on the project itself, which has its changes already.";
	if (info->workspace_mode == WORKSPACE_NONE)
		return "This sandbox has no project to apply to; it was created without workspace.";
	if (info->workspace_mode != WORKSPACE_COPY)
		return "The sandbox has no copy of a project. The user can copy its files with "
		       "`msp cp`.";
	return NULL;
}

void apply_put_nothing(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, struct buffer *text)
{
	put_list(view, text);
	buffer_append_text(text, view->page.committed ? "[nothing to apply to "
						      : "[nothing to apply: no file differs from ");
	put_project(text, info);
	if (view->page.committed > 0)
		describe_committed(view, text);
	else if (view->total > 0)
		buffer_append_text(text, " but for changes that are never applied");
	changes_job_put_ignored(done, text);
	buffer_append_text(text, "]");
}

/* Say what an apply would do with the changes that are listed. */
static void put_fates(const struct apply_view *view, struct buffer *text)
{
	const struct change_page *page = &view->page;

	if (page->conflicts > 0)
		buffer_format(text, " · %" PRIu64 " in conflict: see `conflict`", page->conflicts);
	if (apply_view_held(view) > 0)
		buffer_format(text, " · %" PRIu64 " held: need the user's consent",
			      apply_view_held(view));
	if (page->refused > 0)
		buffer_format(text, " · %" PRIu64 " never applied", page->refused);
	describe_committed(view, text);
}

void apply_put_preview(const struct apply_view *view, const struct ipc_sandbox_info *info,
		       const struct ipc_changes_done *done, enum plan_apply policy,
		       struct buffer *text)
{
	char digest[APPLY_DIGEST_ROOM];

	if (view->total == 0) {
		apply_put_nothing(view, info, done, text);
		return;
	}
	apply_digest_text(done->digest, digest);
	put_list(view, text);
	buffer_append_text(text, "[preview: ");
	put_count(text, view->total);
	buffer_append_text(text, " for ");
	put_project(text, info);
	put_fates(view, text);
	changes_job_put_ignored(done, text);
	buffer_format(text, " · digest %s · nothing was applied", digest);
	if (policy == PLAN_APPLY_PERSON)
		buffer_format(text, " · only the user can apply: `msp apply %s`", info->id);
	else if (policy == PLAN_APPLY_ASK)
		buffer_append_text(text, " · apply_changes asks the user");
	buffer_append_text(text, "]");
}

static void put_conflicts(const struct apply_view *view, const struct ipc_sandbox_info *info,
			  const char *more, struct buffer *text)
{
	put_list(view, text);
	buffer_append_text(text, "[nothing was applied: ");
	put_count(text, view->page.conflicts);
	buffer_append_text(text, " in conflict with newer changes in ");
	put_project(text, info);
	buffer_append_text(text, more);
	buffer_append_text(text, "conflict=\"host\" keeps the host's files and applies the rest, "
				 "conflict=\"sandbox\" replaces them]");
}

void apply_put_conflicts(const struct apply_view *view, const struct ipc_sandbox_info *info,
			 const struct ipc_changes_done *done, struct buffer *text)
{
	put_conflicts(view, info,
		      " · ask the user: conflict=\"merge\" merges the changes of both, ", text);
}

void apply_put_unmerged(const struct apply_view *view, const struct ipc_sandbox_info *info,
			const struct ipc_changes_done *done, struct buffer *text)
{
	put_conflicts(view, info, " and cannot be merged · ask the user: ", text);
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
	if (apply_view_held(view) > 0)
		buffer_format(
			text,
			" · %" PRIu64
			" host-executed, left out: the user can apply them with `msp apply %s`",
			held, info->id);
	describe_committed(view, text);
	if (done->applied > 0)
		buffer_format(text, " · `msp undo %s` undoes it", info->id);
	buffer_append_text(text, "]");
}

/* --- the question ----------------------------------------------------------------------- */

/* The end of a project's path: the room in an ordinary first line, and the least. */
#define PATH_BYTES 40U
#define PATH_LEAST 16U

static const char *const answers[APPLY_ANSWERS] = {
	[APPLY_NOTHING] = "apply nothing",
	[APPLY_ALL_BUT_HELD] = "apply all but held",
	[APPLY_EVERYTHING] = "apply everything",
};

/* --- the message ---------------------------------------------------------------------------- */

static void put_project_end(struct buffer *text, const char *path, size_t room)
{
	const size_t size = strlen(path);
	const size_t shown = text_fit_last(path, size, room, TEXT_JUDGED);

	if (shown < size)
		buffer_append_text(text, "...");
	quote_path(text, QUOTE_UTF8, path + size - shown, shown);
}

/* Return the bytes for the end of the path beside `used` bytes of the first line. */
static size_t path_room(size_t used)
{
	if (used + PATH_BYTES <= CHOICE_LINE_BYTES)
		return PATH_BYTES;
	return used + PATH_LEAST <= CHOICE_LINE_BYTES ? CHOICE_LINE_BYTES - used : PATH_LEAST;
}

/* Put the first words in one line, unless its numbers have many digits. */
static void put_head(struct buffer *text, const struct apply_view *view,
		     const struct ipc_sandbox_info *info)
{
	const struct change_page *page = &view->page;
	const uint64_t count = apply_view_count(view);
	const size_t start = text->size;
	size_t used;

	buffer_format(text, "Apply %" PRIu64 " change%s (+%" PRIu64 " -%" PRIu64, count,
		      count == 1 ? "" : "s", page->added, page->removed);
	if (page->opaque > 0)
		buffer_format(text, ", %" PRIu64 " binary or large", page->opaque);
	buffer_append_text(text, ") to ");
	used = text->size - start + strlen("...?");
	put_project_end(text, info->workspace, path_room(used));
	buffer_append_text(text, "?");
}

/* The lines of a message while it is made. */
struct lines {
	struct buffer *text;
	size_t start;   /* byte at which the current line begins */
	bool is_second; /* there is no third */
	bool is_begun;  /* the current line has a part */
	bool is_long;   /* a part had no room */
};

static void begin_second(struct lines *lines)
{
	buffer_append_text(lines->text, "\n");
	lines->start = lines->text->size;
	lines->is_second = true;
	lines->is_begun = false;
}

/* Put a part in the line that has room for it. */
static void put_part(struct lines *lines, const struct buffer *part)
{
	const char *between = lines->is_begun ? "; " : lines->is_second ? "" : " ";
	const size_t size = lines->text->size - lines->start + strlen(between) + part->size;

	if (size > CHOICE_LINE_BYTES && !lines->is_second) {
		begin_second(lines);
		between = "";
		lines->is_long |= part->size > CHOICE_LINE_BYTES;
	} else {
		lines->is_long |= size > CHOICE_LINE_BYTES;
	}
	buffer_append_text(lines->text, between);
	buffer_append(lines->text, part->bytes, part->size);
	lines->is_begun = true;
}

static void put_risk(struct lines *lines, uint64_t count, const char *words,
		     const struct buffer *names)
{
	struct buffer part = { 0 };

	if (count == 0)
		return;
	buffer_format(&part, "%" PRIu64 " %s", count, words);
	if (names) {
		buffer_append_text(&part, ": ");
		buffer_append(&part, names->bytes, names->size);
	}
	put_part(lines, &part);
	buffer_done(&part);
}

static const char *conflict_words(uint32_t conflict, bool is_one)
{
	if (conflict == CONFLICT_SANDBOX)
		return is_one ? "REPLACES a newer file of the host"
			      : "REPLACE newer files of the host";
	return is_one ? "keeps the host's newer version" : "keep the host's newer versions";
}

/* How much the two lines say, each shorter than the one before. */
enum wording {
	WORDS_NAMES,      /* each held change, and new files that may run */
	WORDS_HELD_NAMES, /* each held change; the new files are counted */
	WORDS_COUNTS,     /* how many of each kind */
	WORDS_SUMS,       /* how many are held, and how many are new */
	WORDINGS,
};

static void put_held(struct lines *lines, const struct apply_view *view, enum wording wording)
{
	const uint64_t held = apply_view_held(view);
	const size_t named = wording == WORDS_NAMES        ? NAMED_KINDS
			     : wording == WORDS_HELD_NAMES ? HELD_KINDS
							   : 0;

	if (wording == WORDS_SUMS)
		put_risk(lines, held, "held", NULL);
	for (size_t i = wording == WORDS_SUMS ? HELD_KINDS : 0; i < NAMED_KINDS; i++)
		put_risk(lines, view->held[i].named,
			 i == HELD_NONE_BUT_NEW && held > 0
				 ? "new may run, not held" /* "all but held" applies it */
			 : view->held[i].named == 1 ? held_words[i].one
						    : held_words[i].many,
			 i < named ? &view->held[i].names : NULL);
}

/* Return true if every change of the first kinds can be named. */
static bool has_all_names(const struct apply_view *view, size_t kinds)
{
	for (size_t i = 0; i < kinds; i++) {
		if (view->held[i].is_cut)
			return false;
	}
	return true;
}

/* Put the longest message that has room in the lines, in the end the shortest one. Return true if
 * it names each held change. */
static bool put_message(struct buffer *text, const struct apply_view *view,
			const struct ipc_sandbox_info *info, uint32_t conflict)
{
	const uint64_t conflicts = view->page.conflicts;
	enum wording wording = has_all_names(view, NAMED_KINDS)  ? WORDS_NAMES
			       : has_all_names(view, HELD_KINDS) ? WORDS_HELD_NAMES
								 : WORDS_COUNTS;
	struct lines lines;
	size_t head;

	put_head(text, view, info);
	head = text->size;
	do {
		text->size = head;
		lines = (struct lines){ .text = text };
		put_held(&lines, view, wording);
		put_risk(&lines, conflicts, conflict_words(conflict, conflicts == 1), NULL);
	} while (lines.is_long && ++wording < WORDINGS);
	return wording <= WORDS_HELD_NAMES || apply_view_held(view) == 0;
}

/* --- the form ------------------------------------------------------------------------------- */

static unsigned int offers_of(const struct apply_view *view, bool is_named)
{
	const uint64_t held = apply_view_held(view);
	const uint64_t all = apply_view_count(view);
	unsigned int offered = APPLY_OFFERS(APPLY_NOTHING);

	if (held > 0 && all > held)
		offered |= APPLY_OFFERS(APPLY_ALL_BUT_HELD);
	if (is_named && all > 0)
		offered |= APPLY_OFFERS(APPLY_EVERYTHING);
	return offered;
}

/* Put the meaning of "held" with the way to look, in the columns of a description. */
static void put_help(struct buffer *text, const struct ipc_sandbox_info *info, bool has_held)
{
	buffer_format(text, "%sReview: msp diff %s", has_held ? "Held: runs or leads out. " : "",
		      info->id);
}

static struct choice choice_of(unsigned int offered)
{
	return (struct choice){ answers, APPLY_ANSWERS, offered };
}

unsigned int apply_put_question(const struct apply_view *view, const struct ipc_sandbox_info *info,
				uint32_t conflict, struct buffer *params)
{
	struct buffer message = { 0 }, help = { 0 };
	const bool is_named = put_message(&message, view, info, conflict);
	const struct choice choice = choice_of(offers_of(view, is_named));

	put_help(&help, info, apply_view_held(view) > 0);
	choice_put_question(&choice, &message, help.bytes, params);
	buffer_done(&message);
	buffer_done(&help);
	return choice.offered;
}

enum apply_answer apply_read_answer(const struct ask_input *input, unsigned int offered,
				    struct buffer *ret_problem)
{
	const struct choice choice = choice_of(offered);
	unsigned int answer;

	(void)choice_read(&choice, input, &answer, ret_problem); /* else it is APPLY_NOTHING */
	return (enum apply_answer)answer;
}
