/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a file after a patch.
 */
#include <errno.h>

#include "answer.h"
#include "lib/heap/grow.h"
#include "patch.h"

static void append_bytes(struct patch_text *text, size_t *room, const char *bytes, size_t size)
{
	if (!grow_bytes(&text->bytes, room, &text->size, bytes, size))
		answer_error(ENOMEM);
}

struct making {
	struct patch_text *text;
	size_t room;
	enum line_end end; /* line end of new lines */
	bool is_open;      /* the last line made has no line end */
	bool is_named;     /* the patch has the document's byte order mark in its old lines */
	bool needs_mark;   /* the document's byte order mark is to come before the next line */
};

static void append_end(struct making *making, enum line_end end)
{
	if (end == END_CRLF)
		append_bytes(making->text, &making->room, "\r\n", 2);
	else if (end == END_LF)
		append_bytes(making->text, &making->room, "\n", 1);
	making->is_open = end == END_NONE;
}

static void append_line(struct making *making, const char *bytes, size_t size, enum line_end end)
{
	if (making->is_open)
		append_end(making, making->end); /* it is not the last line any more */
	if (making->needs_mark)
		append_bytes(making->text, &making->room, BYTE_ORDER_MARK,
			     sizeof(BYTE_ORDER_MARK) - 1);
	making->needs_mark = false;
	append_bytes(making->text, &making->room, bytes, size);
	append_end(making, end);
}

static void append_kept(struct making *making, const struct document *document, size_t from,
			size_t to)
{
	for (size_t i = from; i < to; i++) {
		making->needs_mark |= i == 0 && document->has_mark && making->is_named;
		append_line(making, document->lines[i].text, document->lines[i].size,
			    document->lines[i].end);
	}
}

/* Return whether a new last line has no line end, like the old last line that it replaces. */
static bool stays_open(const struct patch *patch, const struct document *document,
		       const struct place *place)
{
	const struct patch_line *last =
		place->count > 0 ? patch_old_line(patch, place->hunk, place->count - 1) : NULL;

	return last && last->sign == PATCH_DROP && !last->is_open &&
	       place->at + place->count == document->count &&
	       document->lines[document->count - 1].end == END_NONE;
}

static void append_hunk(struct making *making, const struct patch *patch,
			const struct document *document, const struct place *place)
{
	const struct patch_hunk *hunk = place->hunk;
	size_t at = place->at;

	for (size_t i = 0; i < hunk->count; i++) {
		const struct patch_line *line = &patch->lines[hunk->first + i];
		/* without its line end, an empty line would be none */
		const bool is_open = line->size > 0 &&
				     (line->is_open ||
				      (i + 1 == hunk->count && stays_open(patch, document, place)));

		if (line->sign == PATCH_INSERT) {
			append_line(making, line->text, line->size,
				    is_open ? END_NONE : making->end);
			making->text->added++;
		} else if (line->sign == PATCH_KEEP) {
			append_kept(making, document, at, at + 1);
			at++;
		} else if (line->sign == PATCH_DROP) {
			making->text->removed++;
			at++;
		}
	}
}

/* Return whether the patch has the document's byte order mark, and so says what becomes of it. */
static bool names_mark(const struct patch *patch, const struct document *document,
		       const struct place *places, size_t count)
{
	const struct patch_line *first =
		document->has_mark && count > 0 && places[0].at == 0 && places[0].count > 0
			? patch_old_line(patch, places[0].hunk, 0)
			: NULL;

	return first && document_mark(first->text, first->size) > 0;
}

void patch_make_text(const struct patch *patch, const struct document *document,
		     const struct place *places, size_t count, struct patch_text *ret)
{
	const bool is_named = names_mark(patch, document, places, count);
	struct making making = { .text = ret,
				 .end = document->end,
				 .is_named = is_named,
				 .needs_mark = document->has_mark && !is_named };
	size_t at = 0;

	*ret = (struct patch_text){ 0 };
	for (size_t i = 0; i < count; i++) {
		append_kept(&making, document, at, places[i].at);
		append_hunk(&making, patch, document, &places[i]);
		at = places[i].at + places[i].count;
	}
	append_kept(&making, document, at, document->count);
}
