/* SPDX-License-Identifier: Apache-2.0
 *
 * edit PATH OLD_SIZE: one replacement of a text, which must occur once. A model sees lines, and
 * writes "\n" for their ends: where neither text has a carriage return, "\n" is any line end of the
 * file, and a new line gets the one that most lines have, as a patch gives it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "common/fd.h"
#include "patch.h"
#include "target.h"

struct span {
	const char *bytes;
	size_t size;
};

static bool is_crlf(struct span text, size_t at)
{
	return at + 1 < text.size && text.bytes[at] == '\r' && text.bytes[at + 1] == '\n';
}

/* Return the text with "\n" for each "\r\n", to be freed. */
static char *join_ends(struct span text, size_t *ret_size)
{
	char *joined = malloc(text.size + 1);

	if (!joined)
		answer_error(ENOMEM);
	*ret_size = 0;
	for (size_t i = 0; i < text.size; i++) {
		if (!is_crlf(text, i))
			joined[(*ret_size)++] = text.bytes[i];
	}
	return joined;
}

/* Return where a byte of the joined text is in the text. */
static size_t find_unjoined(struct span text, size_t joined)
{
	size_t at = 0;

	for (; joined > 0; joined--)
		at += is_crlf(text, at) ? 2 : 1;
	return at;
}

/* Count the occurrences of `old`, which may overlap, and find the first. */
static uint64_t find_all(struct span text, struct span old, size_t *ret_first)
{
	uint64_t count = 0;
	const char *at = text.bytes;

	while ((at = memmem(at, text.size - (size_t)(at - text.bytes), old.bytes, old.size))) {
		if (count++ == 0)
			*ret_first = (size_t)(at - text.bytes);
		at++;
	}
	return count;
}

/* A replacement in a text: [first, last). */
struct edit {
	struct span text, old, new;
	size_t first, last;
	bool is_joined; /* "\n" of both is any line end */
};

/* Find the only place of the old text, as it is or else with any line ends. Return the number of
 * places. */
static uint64_t find_place(struct edit *edit)
{
	const uint64_t exact = find_all(edit->text, edit->old, &edit->first);
	size_t size, at = 0;
	uint64_t count;
	char *joined;

	edit->last = edit->first + edit->old.size;
	if (memchr(edit->old.bytes, '\r', edit->old.size))
		return exact;
	joined = join_ends(edit->text, &size);
	count = find_all((struct span){ joined, size }, edit->old, &at);
	free(joined);
	edit->is_joined = memchr(edit->new.bytes, '\r', edit->new.size) == NULL;
	if (count > 1 && exact == 1)
		return exact;
	edit->first = find_unjoined(edit->text, at);
	edit->last = find_unjoined(edit->text, at + edit->old.size);
	return count;
}

static void write_span(struct target *target, struct span text, size_t first, size_t last)
{
	target_write(target, text.bytes + first, last - first);
}

/* Write the part of the new text that the old one does not have, each line with this end. */
static void write_lines(struct target *target, struct span new, size_t first, size_t last,
			enum line_end end)
{
	while (first < last) {
		const char *newline = memchr(new.bytes + first, '\n', last - first);
		const size_t to = newline ? (size_t)(newline - new.bytes) : last;

		write_span(target, new, first, to);
		if (newline && end == END_CRLF)
			target_write(target, "\r\n", 2);
		else if (newline)
			target_write(target, "\n", 1);
		first = to + (newline != NULL);
	}
}

/* Write the new text where it is joined: lines that the old one has too stay as they are. */
static void write_joined(struct target *target, const struct edit *edit)
{
	const struct span old = edit->old, new = edit->new;
	const struct span place = { edit->text.bytes + edit->first, edit->last - edit->first };
	const size_t least = old.size < new.size ? old.size : new.size;
	size_t begin = 0, end = 0;

	while (begin < least && old.bytes[begin] == new.bytes[begin])
		begin++;
	while (end < least - begin &&
	       old.bytes[old.size - 1 - end] == new.bytes[new.size - 1 - end])
		end++;
	write_span(target, place, 0, find_unjoined(place, begin));
	write_lines(target, new, begin, new.size - end,
		    document_end(edit->text.bytes, edit->text.size));
	write_span(target, place, find_unjoined(place, old.size - end), place.size);
}

static struct span read_span(int from)
{
	struct span ret;

	ret.bytes = target_read_all(from, &ret.size);
	return ret;
}

void command_edit(char **arguments)
{
	const uint64_t old_size = answer_number(arguments[1]);
	const struct span given = read_span(-1);
	struct file_head head = { .problem = FILE_NO_MATCH };
	struct edit edit = { .old = { given.bytes, (size_t)old_size } };
	struct target *target;
	struct stat status;
	int file;

	if (old_size == 0 || old_size > given.size)
		answer_problem(FILE_MISUSED);
	edit.new = (struct span){ given.bytes + old_size, given.size - (size_t)old_size };
	file = answer_open(arguments[0], &status);
	edit.text = read_span(file);
	fd_close(&file);
	head.count = find_place(&edit);
	if (head.count != 1) {
		head.problem = head.count == 0 ? FILE_NO_MATCH : FILE_AMBIGUOUS;
		answer_end(head, "");
	}
	target = write_begin(arguments[0]);
	write_span(target, edit.text, 0, edit.first);
	if (edit.is_joined)
		write_joined(target, &edit);
	else
		write_span(target, edit.new, 0, edit.new.size);
	write_span(target, edit.text, edit.last, edit.text.size);
	write_finish(edit.new.size, false);
}
