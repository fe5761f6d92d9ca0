/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/apply_question.h"

#include <inttypes.h>
#include <string.h>

#include "common/ipc_changes.h"
#include "common/ipc_persistent.h"
#include "io/text.h"
#include "mcp/asking/choice.h"

/* The end of a project's path: the room in an ordinary first line, and the least. */
#define PATH_BYTES 40U
#define PATH_LEAST 16U

static const char *const answers[APPLY_ANSWERS] = {
	[APPLY_NOTHING] = "apply nothing",
	[APPLY_ALL_BUT_HELD] = "apply all but held",
	[APPLY_EVERYTHING] = "apply everything",
};

/* --- the message ---------------------------------------------------------------------------- */

static void put_project(struct buffer *text, const char *path, size_t room)
{
	const size_t size = strlen(path);
	const size_t shown = text_fit_last(path, size, room, TEXT_JUDGED);

	if (shown < size)
		buffer_append_text(text, "...");
	change_put_path(text, (const uint8_t *)path + size - shown, shown);
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
	const uint64_t count = view->total - page->refused;
	const size_t start = text->size;
	size_t used;

	buffer_format(text, "Apply %" PRIu64 " change%s (+%" PRIu64 " -%" PRIu64, count,
		      count == 1 ? "" : "s", page->added, page->removed);
	if (page->opaque > 0)
		buffer_format(text, ", %" PRIu64 " binary or large", page->opaque);
	buffer_append_text(text, ") to ");
	used = text->size - start + strlen("...?");
	put_project(text, info->workspace, path_room(used));
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
	static const char *const words[NAMED_KINDS][2] = {
		[HELD_RUNS] = { "can run by themselves", "can run by itself" },
		[HELD_LEADS_OUT] = { "lead outside", "leads outside" },
		[HELD_RULES] = { "decide what is asked", "decides what is asked" },
		[HELD_TOOL] = { "run with their tools", "runs with its tool" },
		[HELD_DOT] = { "are dot files", "is a dot file" },
		[HELD_NONE_BUT_NEW] = { "new files may run", "new file may run" },
	};
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
				 : words[i][view->held[i].named == 1],
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
	const uint64_t all = view->total - view->page.refused;
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
	choice_put_question(&choice, &message, &help, params);
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
