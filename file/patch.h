/* SPDX-License-Identifier: Apache-2.0
 *
 * A patch of a model: what it says (patch_parse.c), where its hunks belong in the files
 * (patch_place.c), and the text after it (patch_text.c). Texts point into the patch, which the
 * caller keeps.
 */
#ifndef FILE_PATCH_H
#define FILE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files of a patch, at most: each keeps a descriptor until all are written. */
#define PATCH_FILES_MAX 256

enum patch_kind {
	PATCH_UPDATE,
	PATCH_ADD,
	PATCH_DELETE,
};

enum patch_sign {
	PATCH_KEEP = ' ',
	PATCH_DROP = '-',
	PATCH_INSERT = '+',
	PATCH_ANCHOR = '@', /* a line before the place, from an "@@ line" */
};

struct patch_line {
	const char *text; /* without its line end */
	size_t size;
	enum patch_sign sign;
	bool is_open; /* the patch says that it has no line end */
};

/* A hunk: anchors first, then its other lines. */
struct patch_hunk {
	size_t number; /* line of the patch where it begins, from 1 */
	size_t first;  /* index among the patch's lines */
	size_t count;
	uint64_t stated; /* line of the old file, from 1, as the patch says; 0: it does not */
	bool is_after;   /* it inserts behind the stated line, which may be 0 */
	bool is_at_end;  /* its old lines are the last of the file */
};

struct patch_file {
	enum patch_kind kind;
	char *path;
	char *move;     /* new path; NULL: it stays */
	int is_program; /* mode of the new file: 1 executable, 0 not, -1 as it is */
	size_t first;   /* index among the patch's hunks */
	size_t count;
};

struct patch {
	struct patch_file *files;
	size_t file_count, file_room;
	struct patch_hunk *hunks;
	size_t hunk_count, hunk_room;
	struct patch_line *lines;
	size_t line_count, line_room;
};

/* Why a text is no patch. */
struct patch_fault {
	size_t number; /* line, from 1; 0: none */
	const char *text;
};

/* Read a patch in the apply_patch form or a unified diff. False: *ret_fault says why not. */
bool patch_parse(const char *text, size_t size, struct patch *ret, struct patch_fault *ret_fault);

/* --- places ----------------------------------------------------------------------------------- */

enum line_end {
	END_NONE, /* the last line of a file */
	END_LF,
	END_CRLF,
};

struct document_line {
	const char *text;
	size_t size;
	enum line_end end;
};

/* A file as lines; the text is the caller's. */
struct document {
	struct document_line *lines;
	size_t count, room;
	enum line_end end; /* line end of most lines */
	bool has_mark;     /* a byte order mark is before the first line */
};

/* Return the line end that most of the lines with one have; LF without any. */
enum line_end document_end(const char *text, size_t size);

/* Return the bytes of a byte order mark that the text begins with, or 0. */
size_t document_mark(const char *text, size_t size);

/* The mark before the first line. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

void document_split(const char *text, size_t size, struct document *ret);
void document_free(struct document *document);

/* Differences that a match allows. */
enum match_level {
	MATCH_EXACT,
	MATCH_TRAILING, /* spaces and tabs at line ends */
	MATCH_SPACES,   /* any spaces and tabs */
	MATCH_LEVELS,
};

enum place_result {
	PLACE_FOUND,
	PLACE_NONE,
	PLACE_MANY,      /* `places` has the first of them */
	PLACE_NO_ANCHOR, /* `anchor` is not in the file */
	PLACE_UNKNOWN,   /* only new lines, and no word of where they belong */
	PLACE_TAKEN,     /* only where an earlier hunk is */
};

#define PLACES_SHOWN 3

struct place {
	enum place_result result;
	size_t at;    /* first line of the document, from 0 */
	size_t count; /* lines of the document that it covers */
	enum match_level level;
	size_t places[PLACES_SHOWN]; /* PLACE_MANY: others; PLACE_FOUND: one more place */
	size_t place_count;
	const struct patch_line *anchor;
	const struct patch_hunk *hunk;
};

/* Find the places of all hunks of a file, in *ret, which has room for them. Returns the index of
 * the first hunk that has none, or `file->count`. Then they are in the order of the document. */
size_t patch_place(const struct patch *patch, const struct patch_file *file,
		   const struct document *document, struct place *ret);

/* A place where most lines of a hunk are. */
struct candidate {
	size_t at;
	size_t fitting;  /* lines */
	size_t old_line; /* index of the first line that does not fit, among the hunk's old ones */
};

/* Find up to PLACES_SHOWN candidates, the best first; returns their number. */
size_t patch_candidates(const struct patch *patch, const struct patch_hunk *hunk,
			const struct document *document, struct candidate ret[PLACES_SHOWN]);

/* Return the hunk's line at `index` among those that are in the old file; NULL: there is none. */
const struct patch_line *patch_old_line(const struct patch *patch, const struct patch_hunk *hunk,
					size_t index);

/* Return whether a line of the patch is the one of the document at `at`. A patch may leave out the
 * document's byte order mark. */
bool patch_is_line(const struct patch_line *line, const struct document *document, size_t at,
		   enum match_level level);

/* Compare two lines. */
bool patch_is_same(const char *a, size_t a_size, const char *b, size_t b_size,
		   enum match_level level);

/* --- the new text ----------------------------------------------------------------------------- */

struct patch_text {
	char *bytes; /* the caller frees it */
	size_t size;
	size_t added, removed; /* lines */
};

/* Make the text of a file after its hunks, whose places are found. Kept lines stay as they are in
 * the document; new ones get its line end. */
void patch_make_text(const struct patch *patch, const struct document *document,
		     const struct place *places, size_t count, struct patch_text *ret);

#endif
