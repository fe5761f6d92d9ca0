/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts that the readers of both forms share: lines of a patch, names of files, and its files.
 */
#include "patch_reader.h"

#include <stdlib.h>
#include <string.h>

#include "answer.h"

bool reader_set_fault(struct reader *reader, const char *text)
{
	reader->fault->number = reader->at < reader->count ? reader->at + 1 : reader->count;
	reader->fault->text = text;
	return false;
}

void reader_split(struct reader *reader, const char *text, size_t size)
{
	const char *const end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct source_line line = { text, (size_t)((newline ? newline : end) - text) };
		struct source_line *added;

		text += line.size + 1;
		if (line.size > 0 && line.text[line.size - 1] == '\r')
			line.size--;
		added = answer_item(&reader->lines, &reader->room, &reader->count, sizeof(*added));
		*added = line;
	}
}

struct source_line reader_line(const struct reader *reader, size_t at)
{
	return at < reader->count ? reader->lines[at] : (struct source_line){ "", 0 };
}

bool reader_begins(const struct reader *reader, size_t at, const char *word)
{
	const struct source_line line = reader_line(reader, at);
	const size_t size = strlen(word);

	return line.size >= size && memcmp(line.text, word, size) == 0;
}

struct source_line reader_rest(const struct reader *reader, const char *word)
{
	struct source_line rest = reader_line(reader, reader->at);

	rest.text += strlen(word);
	rest.size -= strlen(word);
	while (rest.size > 0 && *rest.text == ' ') {
		rest.text++;
		rest.size--;
	}
	while (rest.size > 0 && rest.text[rest.size - 1] == ' ')
		rest.size--;
	return rest;
}

bool source_is_blank(struct source_line line)
{
	for (size_t i = 0; i < line.size; i++) {
		if (line.text[i] != ' ' && line.text[i] != '\t')
			return false;
	}
	return true;
}

bool reader_is_file_header(const struct reader *reader, size_t at)
{
	return reader_begins(reader, at, "--- ") && reader_begins(reader, at + 1, "+++ ");
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Decode one escape of a quoted name; returns the bytes that it takes. */
static size_t take_escape(const char *text, size_t size, char *ret)
{
	static const char letters[] = "abtnvfr\"\\";
	static const char bytes[] = "\a\b\t\n\v\f\r\"\\";
	const char *letter = size > 1 ? memchr(letters, text[1], sizeof(letters) - 1) : NULL;

	if (letter) {
		*ret = bytes[letter - letters];
		return 2;
	}
	if (size < 4 || text[1] < '0' || text[1] > '3' || text[2] < '0' || text[2] > '7' ||
	    text[3] < '0' || text[3] > '7')
		return 0;
	*ret = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
	return 4;
}

char *source_copy_path(struct source_line name)
{
	char *path = name.size > 0 ? malloc(name.size + 1) : NULL;
	size_t size = 0;

	if (name.size == 0)
		return NULL;
	if (!path)
		answer_problem(FILE_ERROR);
	if (name.size >= 2 && name.text[0] == '"' && name.text[name.size - 1] == '"') {
		for (size_t i = 1; i < name.size - 1; size++) {
			const bool is_plain = name.text[i] != '\\';
			const size_t taken = is_plain ? 1
						      : take_escape(name.text + i,
								    name.size - 1 - i, path + size);

			if (taken == 0) {
				free(path);
				return NULL;
			}
			if (is_plain)
				path[size] = name.text[i];
			i += taken;
		}
	} else {
		memcpy(path, name.text, name.size);
		size = name.size;
	}
	path[size] = '\0';
	if (size == 0 || strlen(path) != size) {
		free(path);
		return NULL;
	}
	return path;
}

bool reader_add_file(struct reader *reader, enum patch_kind kind, char *path)
{
	struct patch *patch = reader->patch;
	struct patch_file *file;

	if (!path)
		return reader_set_fault(reader, "the name of a file is missing or not valid");
	if (patch->file_count == PATCH_FILES_MAX) {
		free(path);
		return reader_set_fault(reader,
					"a patch may have at most 256 files: send it in parts");
	}
	file = answer_item(&patch->files, &patch->file_room, &patch->file_count, sizeof(*file));
	*file = (struct patch_file){
		.kind = kind, .path = path, .is_program = -1, .first = patch->hunk_count
	};
	return true;
}

struct patch_file *reader_last_file(const struct reader *reader)
{
	return &reader->patch->files[reader->patch->file_count - 1];
}
