/* SPDX-License-Identifier: Apache-2.0
 *
 * A patch and, behind a NUL, a file: each line of the patch lies within it; hunks that find a place
 * fit there, in order and apart from one another; the new text has the kept lines, and the counts
 * of lines are true.
 */
#include <stdlib.h>
#include <string.h>

#include "patch.h"
#include "property.h"

static void free_patch(struct patch *parsed)
{
	for (size_t i = 0; i < parsed->file_count; i++) {
		free(parsed->files[i].path);
		free(parsed->files[i].move);
	}
	free(parsed->files);
	free(parsed->hunks);
	free(parsed->lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lines(const struct patch *patch, const char *text, size_t size)
{
	size_t hunks = 0;
	size_t lines = 0;

	for (size_t i = 0; i < patch->file_count; i++) {
		must(patch->files[i].path != NULL && *patch->files[i].path);
		must(patch->files[i].first == hunks);
		hunks += patch->files[i].count;
	}
	must(hunks == patch->hunk_count);
	for (size_t i = 0; i < patch->hunk_count; i++) {
		must(patch->hunks[i].first == lines);
		lines += patch->hunks[i].count;
	}
	must(lines == patch->line_count);
	for (size_t i = 0; i < patch->line_count; i++) {
		const struct patch_line *line = &patch->lines[i];

		must(line->text >= text && line->text + line->size <= text + size);
		must(!memchr(line->text, '\n', line->size));
	}
}

static void check_places(const struct patch *patch, const struct document *document,
			 const struct place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct place *place = &places[i];

		must(place->at + place->count <= document->count);
		must(i == 0 || places[i - 1].at + places[i - 1].count <= place->at);
		for (size_t j = 0; j < place->count; j++) {
			const struct patch_line *line = patch_old_line(patch, place->hunk, j);

			must(line &&
			     patch_is_same(line->text, line->size,
					   document->lines[place->at + j].text,
					   document->lines[place->at + j].size, place->level));
		}
		must(patch_old_line(patch, place->hunk, place->count) == NULL);
	}
}

static void check_file(const struct patch *patch, const struct patch_file *file,
		       const struct document *document)
{
	struct place *places = calloc(file->count + 1, sizeof(*places));
	struct candidate candidates[PLACES_SHOWN];
	struct document after;
	struct patch_text text;
	size_t placed;

	must(places != NULL);
	placed = patch_place(patch, file, document, places);
	if (placed < file->count) {
		must(places[placed].result != PLACE_FOUND);
		must(patch_candidates(patch, places[placed].hunk, document, candidates) <=
		     PLACES_SHOWN);
	} else {
		check_places(patch, document, places, file->count);
		patch_make_text(patch, document, places, file->count, &text);
		document_split(text.bytes ? text.bytes : "", text.size, &after);
		must(after.count + text.removed == document->count + text.added ||
		     memchr(text.bytes, '\r', text.size));
		document_free(&after);
		free(text.bytes);
	}
	free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size > 0 ? memchr(text, '\0', size) : NULL;
	const size_t patch_size = end ? (size_t)(end - text) : size;
	struct document document;
	struct patch_fault fault;
	struct patch patch;

	document_split(end ? end + 1 : "", end ? size - patch_size - 1 : 0, &document);
	if (patch_parse(text, patch_size, &patch, &fault)) {
		must(fault.text == NULL && patch.file_count > 0);
		check_lines(&patch, text, patch_size);
		for (size_t i = 0; i < patch.file_count; i++)
			check_file(&patch, &patch.files[i], &document);
	} else {
		must(fault.text != NULL);
	}
	free_patch(&patch);
	document_free(&document);
	return 0;
}
