/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/change_page.h"

#include <inttypes.h>

#include "frontend/words/changes.h"
#include "io/text.h"

/* --- a line of the list --------------------------------------------------------------------- */

static void put_sizes(struct buffer *text, const struct change_record *is)
{
	if (is->old_mode == 0)
		buffer_format(text, "%" PRIu64 " byte%s", is->new_size,
			      is->new_size == 1 ? "" : "s");
	else if (is->new_mode == 0)
		buffer_format(text, "%" PRIu64 " byte%s before", is->old_size,
			      is->old_size == 1 ? "" : "s");
	else
		buffer_format(text, "%" PRIu64 " -> %" PRIu64 " byte%s", is->old_size, is->new_size,
			      is->new_size == 1 ? "" : "s");
}

static void put_extent(struct buffer *text, const struct change *change)
{
	const struct change_record *is = &change->is;
	uint64_t more, less;

	if (is->link_size > 0) /* the target is in the line already */
		return;
	if (is->patch_size > 0) {
		change_count_lines(change, &more, &less);
		if (more > 0 || less > 0)
			buffer_format(text, " | +%" PRIu64 " -%" PRIu64, more, less);
		return;
	}
	if ((is->flags & CHANGE_IS_DIRECTORY) != 0)
		return;
	buffer_append_text(text, " | ");
	if ((is->flags & CHANGE_IS_BINARY) != 0)
		buffer_append_text(text, "binary, ");
	if ((is->flags & CHANGE_IS_LARGE) != 0)
		buffer_append_text(text, "too large for a diff, ");
	put_sizes(text, is);
}

static void put_marks(struct buffer *text, const struct change_record *is)
{
	for (size_t i = 0; i < CHANGE_WORDS; i++) {
		if (change_words[i].mark && (is->flags & change_words[i].flag))
			buffer_format(text, " [%s]", change_words[i].mark);
	}
	if (is->unmerged)
		buffer_format(text, " [not merged: %s]", unmerged_words[is->unmerged].word);
}

static void put_line(struct buffer *text, const struct change *change)
{
	const struct change_record *is = &change->is;

	buffer_format(text, " %c ", change_kind_letter(is->kind));
	if (is->old_path_size > 0) {
		quote_path(text, QUOTE_UTF8, change->old_path, is->old_path_size);
		buffer_append_text(text, " => ");
	}
	change_put_name(text, QUOTE_UTF8, change);
	if (is->kind == CHANGE_MODE || is->kind == CHANGE_TYPE)
		buffer_format(text, " (%s %" PRIo32 " -> %" PRIo32 ")", change_kind_name(is->kind),
			      is->old_mode, is->new_mode);
	put_extent(text, change);
	put_marks(text, is);
	buffer_append_text(text, "\n");
}

/* --- the page ------------------------------------------------------------------------------- */

/* Put whole lines of the diff, in about `room` bytes of text. */
static void put_beginning(struct change_page *page, const struct change *change, size_t room)
{
	const char *patch = (const char *)change->patch;
	size_t fits = text_fit_first(patch, change->is.patch_size, room, TEXT_JUDGED);
	size_t whole = fits;

	if (fits < change->is.patch_size) {
		while (whole > 0 && patch[whole - 1] != '\n')
			whole--;
		if (whole > 0)
			fits = whole;
		page->is_cut = true;
	}
	text_append(&page->diffs, patch, fits, TEXT_JUDGED);
	buffer_end_line(&page->diffs);
	if (page->is_cut)
		buffer_format(&page->diffs, "[%zu byte%s more of this diff]\n",
			      change->is.patch_size - fits,
			      change->is.patch_size - fits == 1 ? "" : "s");
}

bool change_is_refused(const struct change *change)
{
	return (change->is.flags & (CHANGE_IS_REFUSED | CHANGE_IS_GITS | CHANGE_IS_UNREADABLE)) !=
	       0;
}

static void add_sums(struct change_page *page, const struct change *change)
{
	uint64_t added, removed;

	change_count_lines(change, &added, &removed);
	page->added += added;
	page->removed += removed;
	page->opaque += (change->is.flags & (CHANGE_IS_BINARY | CHANGE_IS_LARGE)) != 0;
	page->held += (change->is.flags & CHANGE_IS_HELD) != 0;
	page->conflicts += (change->is.flags & CHANGE_IS_CONFLICT) != 0;
	page->refused += change_is_refused(change);
	page->committed += (change->is.flags & CHANGE_IS_COMMITTED) != 0;
}

void change_page_add(struct change_page *page, const struct change *change)
{
	const size_t used = page->list.size + page->diffs.size;
	const size_t left = page->room > used ? page->room - used : 0;
	const char *patch = (const char *)change->patch;
	const size_t patch_size = page->is_list ? 0 : change->is.patch_size;
	struct buffer line = { 0 };

	add_sums(page, change);
	if (page->is_full)
		return;
	put_line(&line, change);
	if (page->count > 0 &&
	    (line.size > left ||
	     text_fit_first(patch, patch_size, left - line.size, TEXT_JUDGED) < patch_size)) {
		page->is_full = true;
	} else {
		page->count++;
		page->flags |= change->is.flags;
		buffer_append(&page->list, line.bytes, line.size);
		if (patch_size > 0)
			put_beginning(page, change, line.size < left ? left - line.size : 0);
		page->is_full = page->is_cut;
	}
	buffer_done(&line);
}

void change_page_put(const struct change_page *page, struct buffer *text)
{
	buffer_append(text, page->list.bytes, page->list.size);
	for (size_t i = 0; i < CHANGE_WORDS; i++) {
		if (change_words[i].meaning && (page->flags & change_words[i].flag))
			buffer_format(text, "[%s: %s]\n", change_words[i].mark,
				      change_words[i].meaning);
	}
	if (page->diffs.size > 0)
		buffer_append_text(text, "\n");
	buffer_append(text, page->diffs.bytes, page->diffs.size);
}

void change_page_done(struct change_page *page)
{
	buffer_done(&page->list);
	buffer_done(&page->diffs);
}
