/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/changes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct {
	const char *name;
	char letter;
} kinds[CHANGE_KIND_COUNT] = {
	[CHANGE_NONE] = { "none", ' ' },
#define CHANGE(name_, text_, letter_) [CHANGE_##name_] = { text_, letter_ },
#include "common/records/changes.def"
#undef CHANGE
};

const char *change_kind_name(uint32_t kind)
{
	return kinds[kind < CHANGE_KIND_COUNT ? kind : CHANGE_NONE].name;
}

char change_kind_letter(uint32_t kind)
{
	return kinds[kind < CHANGE_KIND_COUNT ? kind : CHANGE_NONE].letter;
}

static const char *const stages[CHANGE_STAGE_COUNT] = {
	[CHANGE_STAGE_NONE] = "working",
	[CHANGE_STAGE_COMPARE] = "comparing files",
	[CHANGE_STAGE_READ] = "reading changes",
	[CHANGE_STAGE_PREPARE] = "preparing files",
	[CHANGE_STAGE_REPLACE] = "replacing files",
};

const char *changes_stage_text(uint32_t stage)
{
	return stages[stage < CHANGE_STAGE_COUNT ? stage : CHANGE_STAGE_NONE];
}

bool changes_is_progress(const struct change_record *record)
{
	const struct change_record progress = { .flags = record->flags,
						.old_size = record->old_size,
						.new_size = record->new_size };

	return record->flags != CHANGE_STAGE_NONE && record->flags < CHANGE_STAGE_COUNT &&
	       (record->new_size == 0 || record->old_size <= record->new_size) &&
	       memcmp(record, &progress, sizeof(progress)) == 0;
}

static bool is_record(const struct change_record *record)
{
	return record->kind != CHANGE_NONE && record->kind < CHANGE_KIND_COUNT &&
	       (record->flags & ~(uint32_t)CHANGE_FLAGS) == 0 && record->path_size > 0 &&
	       record->path_size < IPC_PATH_MAX && record->old_path_size < IPC_PATH_MAX &&
	       record->link_size < IPC_PATH_MAX && record->patch_size <= CHANGE_TEXT_MAX &&
	       record->unmerged < UNMERGED_COUNT && record->unused == 0 &&
	       (record->kind == CHANGE_RENAMED) == (record->old_path_size > 0);
}

/* A path with a NUL would be two to whoever prints it. The three texts follow one another. */
static bool are_paths(const struct change *change)
{
	return !memchr(change->path, 0, (size_t)(change->patch - change->path));
}

long changes_read(const uint8_t *bytes, size_t size, struct change *ret)
{
	struct change change;
	size_t whole = sizeof(change.is);

	if (size < whole)
		return 0;
	memcpy(&change.is, bytes, sizeof(change.is));
	if (!changes_is_progress(&change.is) && !is_record(&change.is))
		return -EBADMSG;
	change.path = bytes + whole;
	change.old_path = change.path + change.is.path_size;
	change.link = change.old_path + change.is.old_path_size;
	change.patch = change.link + change.is.link_size;
	whole += (size_t)change.is.path_size + change.is.old_path_size + change.is.link_size +
		 change.is.patch_size;
	if (size < whole)
		return 0;
	if (!are_paths(&change))
		return -EBADMSG;
	*ret = change;
	return (long)whole;
}

void change_put_path(struct buffer *text, enum quote_use use, const struct change *change)
{
	quote_path_with(text, use, "", change->path, change->is.path_size,
			change->is.flags & CHANGE_IS_DIRECTORY ? "/" : "");
}

void change_put_name(struct buffer *text, enum quote_use use, const struct change *change)
{
	change_put_path(text, use, change);
	if (change->is.link_size == 0)
		return;
	buffer_append_text(text, " -> ");
	quote_path(text, use, change->link, change->is.link_size);
}

/* Heads come before the first "@@" of a file, and one patch may be of two: a deletion and an
 * addition. */
void change_count_lines(const struct change *change, uint64_t *ret_added, uint64_t *ret_removed)
{
	const uint8_t *at = change->patch;
	const uint8_t *end = at + change->is.patch_size;
	bool is_hunk = false;

	*ret_added = *ret_removed = 0;
	while (at < end) {
		const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));

		if (*at == 'd')
			is_hunk = false;
		else if (*at == '@')
			is_hunk = true;
		else if (is_hunk && *at == '+')
			++*ret_added;
		else if (is_hunk && *at == '-')
			++*ret_removed;
		at = newline ? newline + 1 : end;
	}
}
