/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client sends, as the broker reads it: bytes into lines, a line into a JSON tree, the tree
 * into a JSON-RPC message. Properties: the tree is whole and lies in the text; with more behind it
 * the text is none; a string that is written back reads as the same bytes.
 */
#include "lib/json/read.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/json_write.h"
#include "frontend/utf8.h"
#include "io/lines.h"
#include "mcp/core/era.h"
#include "mcp/core/message.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const char *text, size_t size, const char *start, size_t length)
{
	must(text >= start && size <= length && (size_t)(text - start) <= length - size);
}

/* Write a decoded string and read it again. */
static void check_round_trip(const struct json_value *value)
{
	struct buffer out = { 0 };
	struct json_writer writer = { .out = &out };
	struct json_document again;

	json_put_string(&writer, NULL, value->text, value->size);
	must(utf8_is_valid(out.bytes, out.size) && !memchr(out.bytes, '\n', out.size));
	must(json_read(&again, out.bytes, out.size) == JSON_OK);
	struct json_value *top = json_top(&again);

	must(top && json_is(top, JSON_STRING));
	json_decode(top);
	if (!value->has_unpaired)
		must(top->size == value->size && memcmp(top->text, value->text, top->size) == 0);
	json_done(&again);
	buffer_done(&out);
}

static void check_tree(const struct json_document *document, const char *line, size_t size)
{
	uint32_t children = 0;

	for (uint32_t i = 0; i < document->count; i++) {
		struct json_value *value = &document->values[i];
		uint32_t count = 0;
		int64_t number;

		if (value->key)
			check_inside(value->key, value->key_size, line, size);
		for (struct json_value *child = json_first(document, value); child;
		     child = json_next(document, child))
			count++;
		must(count == value->count || json_is(value, JSON_STRING));
		children += count;
		if (json_is(value, JSON_NUMBER)) {
			check_inside(value->text, value->size, line, size);
			(void)json_integer(value, &number); /* any answer, no crash */
		}
		if (json_is(value, JSON_STRING)) {
			json_decode(value);
			check_inside(value->text, value->size, line, size);
			check_round_trip(value);
		}
	}
	must(document->count == children + 1);
}

static void check_message(const struct json_document *document)
{
	struct message message;
	const char *problem = NULL;
	struct json_value *version = NULL;

	message_read(document, json_top(document), &message);
	if (message.kind == MESSAGE_REQUEST)
		must(message.id.raw.size > 0 && message.method != NULL);
	if (message.kind == MESSAGE_INVALID)
		must(message.problem != NULL && message.code != 0);
	if (era_is_claimed(document, message.meta))
		(void)era_check_claim(document, message.meta, &problem, &version);
	message_done(&message);
}

/* What begins behind a whole text makes it none. */
static void check_end(const char *line, size_t size)
{
	static const char behind[] = "\",:]}x";
	struct json_document document;
	char *copy = malloc(size + 1);

	for (size_t i = 0; copy && i < sizeof(behind) - 1; i++) {
		memcpy(copy, line, size);
		copy[size] = behind[i];
		must(json_read(&document, copy, size + 1) == JSON_ERROR_SYNTAX);
		json_done(&document);
	}
	free(copy);
}

static void try_line(char *line, size_t size)
{
	struct json_document document;
	char *copy = property_copy(line, size);
	const enum json_error error = json_read(&document, copy, size);

	if (error == JSON_OK) {
		check_end(line, size);
		check_message(&document);
		check_tree(&document, copy, size);
	}
	if (error == JSON_ERROR_UTF8 || error == JSON_ERROR_SYNTAX)
		must(json_top(&document) == NULL);
	json_done(&document);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines lines = { 0 };
	char *line;
	size_t line_size;

	while (size > 0) {
		size_t room = 0;
		char *space = lines_space(&lines, &room);
		const size_t part = size < room ? size : room;

		must(room > 0);
		memcpy(space, data, part);
		lines_added(&lines, part);
		data += part;
		size -= part;
		while (lines_next(&lines, &line, &line_size) == LINES_LINE)
			try_line(line, line_size);
	}
	lines_done(&lines);
	return 0;
}
