/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for a hunk's place. No hunk is put into a place that is only likely: its old lines
 * must be there, and nowhere else, unless the patch states this line or an anchor before it.
 * Differences in spaces are allowed if the place is the only one.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "patch.h"

static bool is_space(char byte)
{
	return byte == ' ' || byte == '\t';
}

static size_t without_trailing(const char *text, size_t size)
{
	while (size > 0 && is_space(text[size - 1]))
		size--;
	return size;
}

/* Compare texts in which any number of spaces and tabs is one space. */
static bool is_same_without_spaces(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t i = 0;
	size_t j = 0;

	while (i < a_size && is_space(a[i]))
		i++;
	while (j < b_size && is_space(b[j]))
		j++;
	while (i < a_size && j < b_size) {
		if (is_space(a[i]) != is_space(b[j]) || (!is_space(a[i]) && a[i] != b[j]))
			return false;
		if (!is_space(a[i])) {
			i++;
			j++;
			continue;
		}
		while (i < a_size && is_space(a[i]))
			i++;
		while (j < b_size && is_space(b[j]))
			j++;
	}
	return i == a_size && j == b_size;
}

bool patch_is_same(const char *a, size_t a_size, const char *b, size_t b_size,
		   enum match_level level)
{
	if (level > MATCH_EXACT) {
		a_size = without_trailing(a, a_size);
		b_size = without_trailing(b, b_size);
	}
	if (a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0))
		return true;
	return level == MATCH_SPACES && is_same_without_spaces(a, a_size, b, b_size);
}

size_t document_mark(const char *text, size_t size)
{
	const size_t mark = sizeof(BYTE_ORDER_MARK) - 1;

	return size >= mark && memcmp(text, BYTE_ORDER_MARK, mark) == 0 ? mark : 0;
}

bool patch_is_line(const struct patch_line *line, const struct document *document, size_t at,
		   enum match_level level)
{
	const struct document_line *there = &document->lines[at];
	const size_t mark =
		at == 0 && document->has_mark ? document_mark(line->text, line->size) : 0;

	return patch_is_same(line->text + mark, line->size - mark, there->text, there->size, level);
}

enum line_end document_end(const char *text, size_t size)
{
	const char *const end = text + size;
	const char *newline;
	size_t crlf = 0, all = 0;

	for (const char *at = text; (newline = memchr(at, '\n', (size_t)(end - at)));
	     at = newline + 1) {
		crlf += newline > text && newline[-1] == '\r';
		all++;
	}
	return 2 * crlf > all ? END_CRLF : END_LF;
}

void document_split(const char *text, size_t size, struct document *ret)
{
	const char *const end = text + size;

	*ret = (struct document){ .end = document_end(text, size),
				  .has_mark = document_mark(text, size) > 0 };
	text += document_mark(text, size);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct document_line line = { .text = text,
					      .size = (size_t)((newline ? newline : end) - text),
					      .end = newline ? END_LF : END_NONE };
		struct document_line *added;

		text += line.size + 1;
		if (newline && line.size > 0 && newline[-1] == '\r') {
			line.size--;
			line.end = END_CRLF;
		}
		added = answer_item(&ret->lines, &ret->room, &ret->count, sizeof(*added));
		*added = line;
	}
}

void document_free(struct document *document)
{
	free(document->lines);
}

/* --- old lines -------------------------------------------------------------------------------- */

static bool is_old(const struct patch_line *line)
{
	return line->sign == PATCH_KEEP || line->sign == PATCH_DROP;
}

const struct patch_line *patch_old_line(const struct patch *patch, const struct patch_hunk *hunk,
					size_t index)
{
	for (size_t i = 0; i < hunk->count; i++) {
		const struct patch_line *line = &patch->lines[hunk->first + i];

		if (is_old(line) && index-- == 0)
			return line;
	}
	return NULL;
}

static size_t count_old(const struct patch *patch, const struct patch_hunk *hunk)
{
	size_t count = 0;

	for (size_t i = 0; i < hunk->count; i++)
		count += is_old(&patch->lines[hunk->first + i]);
	return count;
}

static size_t count_anchors(const struct patch *patch, const struct patch_hunk *hunk)
{
	size_t count = 0;

	while (count < hunk->count && patch->lines[hunk->first + count].sign == PATCH_ANCHOR)
		count++;
	return count;
}

/* Return whether all old lines of a hunk are at a line of the document. */
static bool fits_at(const struct patch *patch, const struct patch_hunk *hunk,
		    const struct document *document, size_t at, enum match_level level)
{
	for (size_t i = 0; i < hunk->count; i++) {
		const struct patch_line *line = &patch->lines[hunk->first + i];

		if (!is_old(line))
			continue;
		if (at == document->count || !patch_is_line(line, document, at, level))
			return false;
		at++;
	}
	return !hunk->is_at_end || at == document->count;
}

/* --- anchors ---------------------------------------------------------------------------------- */

/* How closely a line must be like an anchor: models leave out indentation, and git cuts it. */
enum likeness {
	LIKE_WHOLE,
	LIKE_BEGINNING,
	LIKENESSES,
};

static bool is_like_anchor(const struct patch_line *anchor, const struct document_line *line,
			   enum likeness likeness)
{
	const char *text = line->text;
	size_t size = line->size;

	while (size > 0 && is_space(*text)) {
		text++;
		size--;
	}
	if (likeness == LIKE_BEGINNING && size > anchor->size)
		size = anchor->size;
	return patch_is_same(anchor->text, anchor->size, text, size, MATCH_SPACES);
}

static bool find_likeness(const struct patch_line *anchor, const struct document *document,
			  enum likeness *ret)
{
	for (*ret = 0; *ret < LIKENESSES; (*ret)++) {
		for (size_t i = 0; i < document->count; i++) {
			if (is_like_anchor(anchor, &document->lines[i], *ret))
				return true;
		}
	}
	return false;
}

/* --- search ----------------------------------------------------------------------------------- */

#define NOWHERE SIZE_MAX

struct search {
	const struct patch *patch;
	const struct patch_hunk *hunk;
	const struct document *document;
	size_t from;     /* first line that may be the place */
	size_t expected; /* line that the patch states; NOWHERE: it does not */
	size_t old;      /* old lines */
	size_t anchors;
	size_t *next; /* for each line: the first place from it on */
};

static void add_place(struct place *ret, size_t at)
{
	if (ret->place_count < PLACES_SHOWN)
		ret->places[ret->place_count] = at;
	ret->place_count++;
}

/* Fill `next` with the places of the hunk itself. */
static void find_fits(struct search *search, enum match_level level)
{
	const size_t count = search->document->count;

	search->next[count + 1] = NOWHERE;
	for (size_t at = count + 1; at-- > 0;) {
		const bool is_place =
			at >= search->from && count - at >= search->old &&
			fits_at(search->patch, search->hunk, search->document, at, level);

		search->next[at] = is_place ? at : search->next[at + 1];
	}
}

/* Change `next` from places behind an anchor to places behind the anchor before it. */
static bool go_before_anchor(struct search *search, size_t index)
{
	const struct patch_line *anchor = &search->patch->lines[search->hunk->first + index];
	const bool is_last = index + 1 == search->anchors;
	/* The hunk may begin with the line of its anchor; lines to insert go right behind it. */
	const bool is_inserted = is_last && search->old == 0;
	const size_t behind = is_last && !is_inserted ? 0 : 1;
	const struct document *document = search->document;
	enum likeness likeness;

	if (!find_likeness(anchor, document, &likeness))
		return false;
	for (size_t at = 0; at <= document->count; at++) {
		const bool is_anchor = at < document->count &&
				       is_like_anchor(anchor, &document->lines[at], likeness);

		if (!is_anchor || (is_inserted && at + 1 < search->from))
			search->next[at] = NOWHERE;
		else
			search->next[at] = search->next[at + behind];
	}
	if (index == 0)
		return true; /* one place, or none, for each line that is the first anchor */
	for (size_t at = document->count + 1; at-- > 0;) {
		if (search->next[at] == NOWHERE)
			search->next[at] = search->next[at + 1];
	}
	return true;
}

/* Collect the different places. */
static void collect_places(const struct search *search, struct place *ret)
{
	size_t last = NOWHERE;

	ret->place_count = 0;
	for (size_t at = 0; at <= search->document->count; at++) {
		if (search->next[at] != NOWHERE && search->next[at] != last)
			add_place(ret, last = search->next[at]);
	}
}

static void set_found(const struct search *search, struct place *ret, size_t at,
		      enum match_level level)
{
	ret->result = PLACE_FOUND;
	ret->at = at;
	ret->count = search->old;
	ret->level = level;
}

/* Search with differences of a level. False: there is no place. */
static bool search_level(struct search *search, enum match_level level, struct place *ret)
{
	size_t another;

	find_fits(search, level);
	if (level == MATCH_EXACT && search->expected <= search->document->count &&
	    search->next[search->expected] == search->expected) {
		set_found(search, ret, search->expected, level);
		return true;
	}
	for (size_t i = search->anchors; i-- > 0;) {
		if (!go_before_anchor(search, i)) {
			ret->result = PLACE_NO_ANCHOR;
			ret->anchor = &search->patch->lines[search->hunk->first + i];
			return true;
		}
	}
	collect_places(search, ret);
	if (ret->place_count == 0)
		return false;
	if (ret->place_count > 1) {
		ret->result = PLACE_MANY;
		return true;
	}
	set_found(search, ret, ret->places[0], level);
	ret->place_count = 0;
	if (search->anchors == 0 || search->old == 0)
		return true;
	find_fits(search, level); /* others behind the anchor, which are worth a word */
	another = search->next[ret->at + 1];
	if (another != NOWHERE && level > MATCH_EXACT) {
		ret->result = PLACE_MANY;
		add_place(ret, ret->at);
	}
	if (another != NOWHERE)
		add_place(ret, another);
	return true;
}

/* Find the place of lines that are inserted without an old line. */
static void place_insertion(struct search *search, struct place *ret)
{
	const size_t count = search->document->count;

	if (search->anchors > 0) {
		if (!search_level(search, MATCH_EXACT, ret))
			ret->result = PLACE_NONE;
	} else if (search->hunk->is_at_end || count == 0) {
		set_found(search, ret, count, MATCH_EXACT);
	} else if (search->expected <= count) {
		set_found(search, ret, search->expected, MATCH_EXACT);
	} else {
		ret->result = search->expected == NOWHERE ? PLACE_UNKNOWN : PLACE_NONE;
	}
}

static void place_hunk(struct search *search, struct place *ret)
{
	*ret = (struct place){ .result = PLACE_NONE, .hunk = search->hunk };
	if (search->old == 0) {
		place_insertion(search, ret);
		return;
	}
	for (enum match_level level = 0; level < MATCH_LEVELS; level++) {
		if (search_level(search, level, ret))
			return;
	}
}

/* Return whether a place shares a line with an earlier hunk's, or lies within it. */
static bool is_taken(const struct place *places, size_t count, const struct place *place)
{
	for (size_t i = 0; i < count; i++) {
		const struct place *other = &places[i];

		if (place->at < other->at + other->count && other->at < place->at + place->count)
			return true;
		if (place->count == 0 && place->at > other->at &&
		    place->at < other->at + other->count)
			return true;
	}
	return false;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *const one = a;
	const struct place *const other = b;

	if (one->at != other->at)
		return one->at < other->at ? -1 : 1;
	if ((one->count == 0) != (other->count == 0))
		return one->count == 0 ? -1 : 1; /* new lines go before the line that they name */
	return one->hunk->number < other->hunk->number ? -1
						       : one->hunk->number > other->hunk->number;
}

/* Return the line that a hunk states, moved as the hunk before it was. */
static size_t expected_line(const struct patch_hunk *hunk, long moved)
{
	const uint64_t stated = hunk->is_after ? hunk->stated + 1 : hunk->stated;

	if ((hunk->stated == 0 && !hunk->is_after) || (long)stated - 1 + moved < 0)
		return NOWHERE;
	return (size_t)((long)stated - 1 + moved);
}

size_t patch_place(const struct patch *patch, const struct patch_file *file,
		   const struct document *document, struct place *ret)
{
	struct search search = { .patch = patch, .document = document };
	long moved = 0;

	search.next = reallocarray(NULL, document->count + 2, sizeof(*search.next));
	if (!search.next)
		answer_problem(FILE_ERROR);
	for (size_t i = 0; i < file->count; i++) {
		search.hunk = &patch->hunks[file->first + i];
		search.old = count_old(patch, search.hunk);
		search.anchors = count_anchors(patch, search.hunk);
		search.expected = expected_line(search.hunk, moved);
		search.from = i > 0 ? ret[i - 1].at + ret[i - 1].count : 0;
		place_hunk(&search, &ret[i]);
		if (ret[i].result == PLACE_NONE && search.from > 0) {
			search.from = 0; /* hunks in another order than in the file */
			place_hunk(&search, &ret[i]);
		}
		if (ret[i].result == PLACE_FOUND && is_taken(ret, i, &ret[i]))
			ret[i].result = PLACE_TAKEN;
		if (ret[i].result != PLACE_FOUND) {
			free(search.next);
			return i;
		}
		if (search.expected != NOWHERE)
			moved += (long)ret[i].at - (long)search.expected;
	}
	free(search.next);
	if (file->count > 0)
		qsort(ret, file->count, sizeof(*ret), compare_places);
	return file->count;
}

/* --- candidates ------------------------------------------------------------------------------- */

/* Old lines of a hunk that are compared for a candidate. */
#define COMPARED_LINES 100

/* Compare the old lines with a place, and return how many fit. */
static struct candidate compare_at(const struct patch *patch, const struct patch_hunk *hunk,
				   const struct document *document, size_t at)
{
	struct candidate candidate = { .at = at, .old_line = NOWHERE };
	size_t index = 0;

	for (size_t i = 0; i < hunk->count && index < COMPARED_LINES; i++) {
		const struct patch_line *line = &patch->lines[hunk->first + i];
		bool is_same;

		if (!is_old(line))
			continue;
		is_same = at + index < document->count &&
			  patch_is_line(line, document, at + index, MATCH_SPACES);
		candidate.fitting += is_same && without_trailing(line->text, line->size) > 0;
		if (!is_same && candidate.old_line == NOWHERE)
			candidate.old_line = index;
		index++;
	}
	return candidate;
}

size_t patch_candidates(const struct patch *patch, const struct patch_hunk *hunk,
			const struct document *document, struct candidate ret[PLACES_SHOWN])
{
	size_t count = 0;

	for (size_t at = 0; at < document->count; at++) {
		const struct candidate found = compare_at(patch, hunk, document, at);
		size_t rank = count;

		while (rank > 0 && ret[rank - 1].fitting < found.fitting)
			rank--;
		if (found.fitting == 0 || rank == PLACES_SHOWN)
			continue;
		count += count < PLACES_SHOWN;
		memmove(&ret[rank + 1 < count ? rank + 1 : count - 1], &ret[rank],
			(count - 1 - rank) * sizeof(*ret));
		ret[rank] = found;
	}
	return count;
}
