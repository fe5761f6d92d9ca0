/* SPDX-License-Identifier: Apache-2.0
 *
 * The hunks of a file, in both forms: models write numbers in one and anchors in the other.
 */
#include <string.h>

#include "answer.h"
#include "patch_reader.h"

struct patch_hunk *reader_add_hunk(struct reader *reader)
{
	struct patch *patch = reader->patch;
	struct patch_hunk *hunk =
		answer_item(&patch->hunks, &patch->hunk_room, &patch->hunk_count, sizeof(*hunk));

	hunk->number = reader->at + 1;
	hunk->first = patch->line_count;
	reader_last_file(reader)->count++;
	return hunk;
}

static void add_line(struct reader *reader, struct patch_hunk *hunk, enum patch_sign sign,
		     struct source_line line)
{
	struct patch *patch = reader->patch;
	struct patch_line *added =
		answer_item(&patch->lines, &patch->line_room, &patch->line_count, sizeof(*added));

	*added = (struct patch_line){ .text = line.text, .size = line.size, .sign = sign };
	hunk->count++;
}

bool reader_take_body_line(struct reader *reader, struct patch_hunk *hunk)
{
	struct source_line line = reader_line(reader, reader->at);
	const char sign = line.size > 0 ? *line.text : ' ';

	if (sign == '\\') {
		if (hunk->count > 0)
			reader->patch->lines[reader->patch->line_count - 1].is_open = true;
	} else if (sign == ' ' || sign == '+' || sign == '-') {
		if (line.size > 0) {
			line.text++;
			line.size--;
		}
		add_line(reader, hunk, (enum patch_sign)sign, line);
	} else {
		return false;
	}
	reader->at++;
	return true;
}

/* Return whether the body of a hunk ends here. */
static bool is_body_end(const struct reader *reader)
{
	return reader->at >= reader->count || reader_begins(reader, reader->at, "@@") ||
	       reader_begins(reader, reader->at, "*** ") ||
	       reader_begins(reader, reader->at, "diff --git ") ||
	       reader_begins(reader, reader->at, "```") ||
	       reader_is_file_header(reader, reader->at);
}

/* Take the lines up to the next hunk or file. Empty lines at the end are not the hunk's. */
static bool take_open_body(struct reader *reader, struct patch_hunk *hunk)
{
	size_t empty = 0;

	while (!is_body_end(reader)) {
		empty = reader_line(reader, reader->at).size == 0 ? empty + 1 : 0;
		if (!reader_take_body_line(reader, hunk))
			return reader_set_fault(reader,
						"a line of a hunk begins with a space, + or -, and "
						"this one does not");
	}
	hunk->count -= empty;
	reader->patch->line_count -= empty;
	return true;
}

/* Take as many lines as a unified diff's header counts. False: the counts are not true, and nothing
 * is taken. */
static bool take_counted_body(struct reader *reader, struct patch_hunk *hunk, uint64_t old,
			      uint64_t new)
{
	const struct patch_hunk before = *hunk;
	const size_t at = reader->at;
	bool fits = true;

	while (fits && (old > 0 || new > 0)) {
		const struct source_line line = reader_line(reader, reader->at);
		const char sign = line.size > 0 ? *line.text : ' ';
		const bool is_old = sign == ' ' || sign == '-';
		const bool is_new = sign == ' ' || sign == '+';

		fits = reader->at < reader->count && old >= (uint64_t)is_old &&
		       (uint64_t)is_new <= new &&reader_take_body_line(reader, hunk);
		if (fits) {
			old -= is_old;
			new -= is_new;
		}
	}
	if (fits && reader_begins(reader, reader->at, "\\"))
		fits = reader_take_body_line(reader, hunk);
	if (fits && (is_body_end(reader) || reader_line(reader, reader->at).size == 0 ||
		     reader_begins(reader, reader->at, "-- ") ||
		     !strchr(" +-", *reader_line(reader, reader->at).text)))
		return true;
	reader->patch->line_count -= hunk->count - before.count;
	*hunk = before;
	reader->at = at;
	return false;
}

/* Read "N" or "N,M" at *at; M is 1 if it is missing. */
static bool take_range(const char **at, const char *end, uint64_t *ret_first, uint64_t *ret_count)
{
	uint64_t *number = ret_first;
	bool has_digit = false;

	*ret_first = 0;
	*ret_count = 0;
	for (; *at < end && (**at == ',' || (**at >= '0' && **at <= '9')); (*at)++) {
		if (**at == ',') {
			if (number == ret_count || !has_digit)
				return false;
			number = ret_count;
			has_digit = false;
			continue;
		}
		has_digit = true;
		if (*number > UINT32_MAX)
			return false;
		*number = *number * 10 + (uint64_t)(**at - '0');
	}
	if (number == ret_first)
		*ret_count = 1;
	return has_digit;
}

/* Read "@@ -1,2 +3,4 @@". False: it is an anchor, or a bare @@. */
static bool take_numbers(struct source_line line, uint64_t ret_numbers[4])
{
	const char *at = line.text + 2;
	const char *const end = line.text + line.size;

	while (at < end && *at == ' ')
		at++;
	if (at == end || *at++ != '-' || !take_range(&at, end, &ret_numbers[0], &ret_numbers[1]))
		return false;
	while (at < end && *at == ' ')
		at++;
	if (at == end || *at++ != '+' || !take_range(&at, end, &ret_numbers[2], &ret_numbers[3]))
		return false;
	while (at < end && *at == ' ')
		at++;
	return end - at >= 2 && at[0] == '@' && at[1] == '@';
}

/* Return the anchor of "@@ line" or "@@ line @@", empty: a bare @@. */
static struct source_line anchor_of(const struct reader *reader)
{
	struct source_line anchor = reader_rest(reader, "@@");

	if (anchor.size >= 2 && memcmp(anchor.text + anchor.size - 2, "@@", 2) == 0)
		anchor.size -= 2;
	if (source_is_blank(anchor))
		anchor.size = 0;
	return anchor;
}

/* Take a hunk that begins with lines of @@, or without. */
static bool take_hunk(struct reader *reader)
{
	struct patch_hunk *hunk = reader_add_hunk(reader);
	uint64_t numbers[4];

	while (reader_begins(reader, reader->at, "@@")) {
		const struct source_line anchor = anchor_of(reader);

		if (take_numbers(reader_line(reader, reader->at), numbers)) {
			reader->at++;
			hunk->stated = numbers[0];
			hunk->is_after = numbers[1] == 0;
			return take_counted_body(reader, hunk, numbers[1], numbers[3]) ||
			       take_open_body(reader, hunk);
		}
		if (anchor.size > 0)
			add_line(reader, hunk, PATCH_ANCHOR, anchor);
		reader->at++;
	}
	if (!take_open_body(reader, hunk))
		return false;
	if (reader_begins(reader, reader->at, "*** End of File")) {
		hunk->is_at_end = true;
		reader->at++;
	}
	return true;
}

bool reader_take_hunks(struct reader *reader)
{
	const struct patch *patch = reader->patch;

	while (reader->at < reader->count) {
		const size_t before = reader->at;
		const struct patch_hunk *hunk;

		if (source_is_blank(reader_line(reader, reader->at))) {
			reader->at++;
			continue;
		}
		if (!reader_begins(reader, reader->at, "@@") &&
		    (is_body_end(reader) || reader_last_file(reader)->count > 0))
			return true;
		if (!take_hunk(reader))
			return false;
		hunk = &patch->hunks[patch->hunk_count - 1];
		if (hunk->count == 0 || patch->lines[patch->line_count - 1].sign == PATCH_ANCHOR) {
			reader->at = before;
			return reader_set_fault(reader, "this hunk has no lines");
		}
	}
	return true;
}
