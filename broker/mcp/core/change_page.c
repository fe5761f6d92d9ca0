/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/change_page.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/utf8.h"
#include "io/text.h"

/* --- names ---------------------------------------------------------------------------------- */

/* Return true for a character that would end the line or the quotation, or look like another. */
static bool is_odd(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	return length == 0 || bytes[0] < ' ' || bytes[0] == 0x7f || bytes[0] == '"' ||
	       bytes[0] == '\\' || utf8_is_hidden(text, length);
}

static bool has_odd(const char *path, size_t size)
{
	size_t length;

	for (size_t at = 0; at < size; at += length) {
		length = utf8_length(path + at, size - at);
		if (is_odd(path + at, length))
			return true;
	}
	return false;
}

static void put_byte(struct buffer *text, unsigned char byte)
{
	if (byte == '\n')
		buffer_append_text(text, "\\n");
	else if (byte == '\t')
		buffer_append_text(text, "\\t");
	else if (byte == '"' || byte == '\\')
		buffer_format(text, "\\%c", byte);
	else
		buffer_format(text, "\\%03o", byte);
}

static void put_quoted(struct buffer *text, const char *bytes, size_t size)
{
	size_t length;

	buffer_append_text(text, "\"");
	for (size_t at = 0; at < size;) {
		length = utf8_length(bytes + at, size - at);
		if (!is_odd(bytes + at, length)) {
			buffer_append(text, bytes + at, length);
			at += length;
		} else {
			for (size_t i = 0; i < (length ? length : 1); i++)
				put_byte(text, (unsigned char)bytes[at + i]);
			at += length ? length : 1;
		}
	}
	buffer_append_text(text, "\"");
}

void change_put_path(struct buffer *text, const uint8_t *path, size_t size)
{
	if (has_odd((const char *)path, size))
		put_quoted(text, (const char *)path, size);
	else
		buffer_append(text, path, size);
}

/* Return true for a path that could be read as more than one name. */
static bool has_separator(const uint8_t *path, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (strchr(" ,;:?", path[i]))
			return true;
	}
	return false;
}

static void put_listed_path(struct buffer *text, const uint8_t *path, size_t size)
{
	if (has_separator(path, size))
		put_quoted(text, (const char *)path, size);
	else
		change_put_path(text, path, size);
}

static void put_name(struct buffer *text, const struct change *change,
		     void (*put)(struct buffer *text, const uint8_t *path, size_t size))
{
	const struct change_record *is = &change->is;

	put(text, change->path, is->path_size);
	if ((is->flags & CHANGE_IS_DIRECTORY) != 0)
		buffer_append_text(text, "/");
	if (is->link_size > 0) {
		buffer_append_text(text, " -> ");
		put(text, change->link, is->link_size);
	}
}

void change_put_name(struct buffer *text, const struct change *change)
{
	put_name(text, change, change_put_path);
}

void change_put_listed_name(struct buffer *text, const struct change *change)
{
	put_name(text, change, put_listed_path);
}

/* --- a line of the list --------------------------------------------------------------------- */

static const struct {
	enum change_flag flag;
	const char *mark;
	const char *meaning;
} marks[] = {
	{ CHANGE_IS_CONFLICT, "conflict",
	  "the host's file has changed since the sandbox copied it" },
	{ CHANGE_IS_HELD, "host-executed",
	  "the host can execute it automatically, or as marked; applied only if the user agrees" },
	{ CHANGE_LEADS_OUT, "leads out", "a link out of the project" },
	{ CHANGE_IS_TOOL, "tool", "executed when its tool is started" },
	{ CHANGE_IS_RULES, "rules", "decides which changes the user is asked about" },
	{ CHANGE_MAY_RUN, "may run",
	  "of a kind that tools execute: new, newly executable or a dot file" },
	{ CHANGE_IS_STRIPPED, "stripped", "set-ID bits and capabilities are not applied" },
	{ CHANGE_IS_REFUSED, "refused", "a device, socket or FIFO; never applied" },
	{ CHANGE_IS_GITS, "repository", "part of the sandbox's repository; never applied" },
	{ CHANGE_IS_MERGED, "merged",
	  "the host's changes of the file stay, and the sandbox's are added" },
	{ CHANGE_IS_APPLIED, "applied", NULL },
	{ CHANGE_IS_UNDONE, "undone", NULL },
};
#define MARK_COUNT (sizeof(marks) / sizeof(marks[0]))

/* Count added and removed lines of a unified diff: lines behind the first @@ that begin with + or
 * -. */
static void count_lines(const struct change *change, uint64_t *ret_more, uint64_t *ret_less)
{
	const char *line = (const char *)change->patch;
	const char *end = line + change->is.patch_size;
	bool is_hunk = false;

	*ret_more = *ret_less = 0;
	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		is_hunk |= end - line > 1 && line[0] == '@' && line[1] == '@';
		*ret_more += is_hunk && line[0] == '+';
		*ret_less += is_hunk && line[0] == '-';
		line = newline ? newline + 1 : end;
	}
}

static void put_sizes(struct buffer *text, const struct change_record *is)
{
	if (is->old_mode == 0)
		buffer_format(text, "%" PRIu64 " bytes", is->new_size);
	else if (is->new_mode == 0)
		buffer_format(text, "%" PRIu64 " bytes before", is->old_size);
	else
		buffer_format(text, "%" PRIu64 " -> %" PRIu64 " bytes", is->old_size, is->new_size);
}

static void put_extent(struct buffer *text, const struct change *change)
{
	const struct change_record *is = &change->is;
	uint64_t more, less;

	if (is->link_size > 0) /* the target is in the line already */
		return;
	if (is->patch_size > 0) {
		count_lines(change, &more, &less);
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

/* Reasons against a merge, without the options of a command. */
static const char *const unmerged[UNMERGED_COUNT] = {
#define UNMERGED(name, word, text) [UNMERGED_##name] = (word),
#include "common/unmerged.def"
#undef UNMERGED
};

static void put_marks(struct buffer *text, const struct change_record *is)
{
	const unsigned int flags = is->flags;

	for (size_t i = 0; i < MARK_COUNT; i++) {
		if ((flags & (unsigned int)marks[i].flag) != 0)
			buffer_format(text, " [%s]", marks[i].mark);
	}
	if (is->unmerged)
		buffer_format(text, " [not merged: %s]", unmerged[is->unmerged]);
}

static void put_line(struct buffer *text, const struct change *change)
{
	const struct change_record *is = &change->is;

	buffer_format(text, " %c ", change_kind_letter(is->kind));
	if (is->old_path_size > 0) {
		change_put_path(text, change->old_path, is->old_path_size);
		buffer_append_text(text, " => ");
	}
	change_put_name(text, change);
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
		buffer_format(&page->diffs, "[%zu bytes more of this diff]\n",
			      change->is.patch_size - fits);
}

bool change_is_refused(const struct change *change)
{
	return (change->is.flags & (CHANGE_IS_REFUSED | CHANGE_IS_GITS | CHANGE_IS_UNREADABLE)) !=
	       0;
}

static void add_sums(struct change_page *page, const struct change *change)
{
	uint64_t added, removed;

	count_lines(change, &added, &removed);
	page->added += added;
	page->removed += removed;
	page->opaque += (change->is.flags & (CHANGE_IS_BINARY | CHANGE_IS_LARGE)) != 0;
	page->held += (change->is.flags & CHANGE_IS_HELD) != 0;
	page->conflicts += (change->is.flags & CHANGE_IS_CONFLICT) != 0;
	page->refused += change_is_refused(change);
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
	for (size_t i = 0; i < MARK_COUNT; i++) {
		if (marks[i].meaning && (page->flags & (unsigned int)marks[i].flag) != 0)
			buffer_format(text, "[%s: %s]\n", marks[i].mark, marks[i].meaning);
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
