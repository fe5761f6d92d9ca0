/* SPDX-License-Identifier: Apache-2.0
 *
 * yajl checks only the rough shape of UTF-8, accepts white space that JSON does not, decodes
 * unpaired surrogates to '?', accepts duplicate keys, and bounds depth only by memory. This file
 * therefore checks UTF-8 and control characters first, decodes strings, and counts and compares in
 * the callbacks.
 *
 * After an error that leaves the text JSON (depth, duplicate key, too many values), reading goes
 * on and keeps only the top-level "id", so that the answer can name its request.
 */
#include "lib/json/read.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "frontend/utf8.h"
#include "lib/heap/memory.h"
#include "lib/json/keys.h"
#include "lib/json/string.h"

struct reader {
	struct json_document *document;
	struct json_keys keys;
	yajl_handle yajl;
	char *text;
	size_t size;
	enum json_error error;
	uint32_t depth;
	bool is_id; /* the pending key is the top object's "id" */
	bool is_id_twice;
	char *key; /* key of the next value */
	size_t key_size;
	uint32_t open[JSON_DEPTH_MAX]; /* the open containers */
	uint32_t last[JSON_DEPTH_MAX]; /* the newest value in each */
};

/* Find the string token before yajl's position in our text, without quotes. A quote inside it has
 * an odd number of backslashes before it; the opening quote has none. */
static void find_token(const struct reader *reader, char **ret_start, size_t *ret_size)
{
	const size_t end = yajl_get_bytes_consumed(reader->yajl) - 1;
	size_t at = end;

	for (;;) {
		size_t backslashes = 0;

		at--;
		if (reader->text[at] != '"')
			continue;
		while (backslashes < at && reader->text[at - backslashes - 1] == '\\')
			backslashes++;
		if (backslashes % 2 == 0)
			break;
	}
	*ret_start = reader->text + at + 1;
	*ret_size = end - at - 1;
}

/* Return true if the token lies in our text; yajl copies tokens that it had to decode. */
static bool is_ours(const struct reader *reader, const void *token)
{
	const uintptr_t place = (uintptr_t)token;
	const uintptr_t start = (uintptr_t)reader->text;

	return place >= start && place <= start + reader->size;
}

static void refuse_text(struct reader *reader, enum json_error error)
{
	if (!reader->error)
		reader->error = error;
}

/* Add a value to its container. NULL: reading keeps no values any more. */
static struct json_value *add_value(struct reader *reader, enum json_kind kind)
{
	struct json_document *document = reader->document;
	const uint32_t place = document->count;
	struct json_value *value;

	if (place >= JSON_VALUES_MAX)
		refuse_text(reader, JSON_ERROR_VALUES);
	if (reader->error && (!reader->is_id || reader->is_id_twice))
		return NULL;
	document->values = memory_grow_list(document->values, &document->room, (size_t)place + 1,
					    sizeof(*document->values));
	value = &document->values[place];
	*value = (struct json_value){ .kind = (uint8_t)kind };
	document->count++;
	if (reader->depth == 0)
		return value;
	value->parent = reader->open[reader->depth - 1];
	struct json_value *parent = &document->values[value->parent];
	if (parent->count++ == 0)
		parent->first = place;
	else
		document->values[reader->last[reader->depth - 1]].next = place;
	reader->last[reader->depth - 1] = place;
	value->key = reader->key;
	value->key_size = (uint32_t)reader->key_size;
	return value;
}

static void note_duplicate(struct reader *reader, uint32_t place)
{
	const struct json_value *value = &reader->document->values[place];

	if (!value->key || json_keys_add(&reader->keys, reader->document->values, place))
		return;
	refuse_text(reader, JSON_ERROR_DUPLICATE);
	if (reader->is_id)
		reader->is_id_twice = true;
}

static struct json_value *add_member(struct reader *reader, enum json_kind kind)
{
	struct json_value *value = add_value(reader, kind);

	if (value)
		note_duplicate(reader, (uint32_t)(value - reader->document->values));
	reader->key = NULL;
	reader->key_size = 0;
	reader->is_id = false;
	return value;
}

static int on_null(void *context)
{
	(void)add_member(context, JSON_NULL);
	return 1;
}

static int on_boolean(void *context, int is_true)
{
	(void)add_member(context, is_true ? JSON_TRUE : JSON_FALSE);
	return 1;
}

static int on_number(void *context, const char *text, size_t size)
{
	struct reader *reader = context;
	struct json_value *value = add_member(reader, JSON_NUMBER);

	if (!value)
		return 1;
	/* a number at the end of the text might go on, so yajl keeps a copy of it */
	value->text = is_ours(reader, text) ? reader->text + (text - reader->text)
					    : reader->text + reader->size - size;
	value->size = (uint32_t)size;
	return 1;
}

static int on_string(void *context, const unsigned char *text, size_t size)
{
	struct reader *reader = context;
	struct json_value *value = add_member(reader, JSON_STRING);
	char *start;

	if (!value)
		return 1;
	value->is_escaped = !is_ours(reader, text);
	if (value->is_escaped)
		find_token(reader, &start, &size);
	else
		start = reader->text + ((const char *)text - reader->text);
	value->text = start;
	value->size = (uint32_t)size;
	return 1;
}

static int on_key(void *context, const unsigned char *text, size_t size)
{
	struct reader *reader = context;
	bool has_unpaired = false;
	char *start;

	if (!is_ours(reader, text)) {
		find_token(reader, &start, &size);
		size = json_string_decode(start, size, &has_unpaired);
	} else {
		start = reader->text + ((const char *)text - reader->text);
	}
	reader->key = start;
	reader->key_size = size;
	reader->is_id = reader->depth == 1 && size == 2 && memcmp(start, "id", 2) == 0;
	return 1;
}

static int open_container(struct reader *reader, enum json_kind kind)
{
	struct json_value *value;

	if (reader->depth >= JSON_DEPTH_MAX)
		refuse_text(reader, JSON_ERROR_DEPTH);
	value = add_member(reader, kind);
	/* after an error only the top container's index is used, which is always known */
	if (value && reader->depth < JSON_DEPTH_MAX)
		reader->open[reader->depth] = (uint32_t)(value - reader->document->values);
	reader->depth++;
	return 1;
}

static int on_object(void *context)
{
	return open_container(context, JSON_OBJECT);
}

static int on_array(void *context)
{
	return open_container(context, JSON_ARRAY);
}

static int on_end(void *context)
{
	struct reader *reader = context;

	reader->depth--;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_array,
	.yajl_end_array = on_end,
};

static void *yajl_get(void *context, size_t size)
{
	return memory_get(size);
}

static void *yajl_resize(void *context, void *memory, size_t size)
{
	return memory_resize(memory, size);
}

static void yajl_release(void *context, void *memory)
{
	free(memory);
}

/* JSON allows the control characters tab, line feed and carriage return; no other may occur, inside
 * a string or outside. */
static bool has_control(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const unsigned char byte = (unsigned char)text[i];

		if (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r')
			return true;
	}
	return false;
}

static enum json_error parse_text(struct reader *reader)
{
	yajl_alloc_funcs memory = { yajl_get, yajl_resize, yajl_release, NULL };
	const unsigned char *text = (const unsigned char *)reader->text;
	bool is_json;

	reader->yajl = yajl_alloc(&callbacks, &memory, reader);
	(void)yajl_config(reader->yajl, yajl_dont_validate_strings, 1); /* checked already */
	/* behind a whole value yajl accepts an unterminated string; no string has a newline */
	is_json = yajl_parse(reader->yajl, text, reader->size) == yajl_status_ok &&
		  yajl_parse(reader->yajl, (const unsigned char *)"\n", 1) == yajl_status_ok &&
		  yajl_complete_parse(reader->yajl) == yajl_status_ok;
	yajl_free(reader->yajl);
	return is_json ? reader->error : JSON_ERROR_SYNTAX;
}

/* Drop an "id" that occurs twice. */
static void forget_id(struct json_document *document)
{
	struct json_value *id = json_member(document, json_top(document), "id");

	if (id)
		id->kind = JSON_NULL;
}

enum json_error json_read(struct json_document *ret, char *text, size_t size)
{
	struct reader reader = { .document = ret, .text = text, .size = size };
	enum json_error error;

	memset(ret, 0, sizeof(*ret));
	if (!utf8_is_valid(text, size))
		return JSON_ERROR_UTF8;
	if (has_control(text, size))
		return JSON_ERROR_SYNTAX;
	json_keys_init(&reader.keys);
	error = parse_text(&reader);
	json_keys_done(&reader.keys);
	if (error == JSON_ERROR_SYNTAX)
		ret->count = 0;
	else if (reader.is_id_twice)
		forget_id(ret);
	return error;
}

void json_done(struct json_document *document)
{
	free(document->values);
	memset(document, 0, sizeof(*document));
}

struct json_value *json_top(const struct json_document *document)
{
	return document->count > 0 ? &document->values[0] : NULL;
}

struct json_value *json_first(const struct json_document *document, const struct json_value *in)
{
	return in && in->count > 0 ? &document->values[in->first] : NULL;
}

struct json_value *json_next(const struct json_document *document, const struct json_value *after)
{
	return after->next ? &document->values[after->next] : NULL;
}

struct json_value *json_member(const struct json_document *document,
			       const struct json_value *object, const char *key)
{
	const size_t size = strlen(key);

	if (!json_is(object, JSON_OBJECT))
		return NULL;
	for (struct json_value *v = json_first(document, object); v; v = json_next(document, v)) {
		if (v->key_size == size && memcmp(v->key, key, size) == 0)
			return v;
	}
	return NULL;
}

bool json_is(const struct json_value *value, enum json_kind kind)
{
	return value && value->kind == kind;
}

void json_decode(struct json_value *value)
{
	if (value->kind != JSON_STRING)
		bug("a value decoded that is no string");
	if (!value->is_escaped)
		return;
	value->size = (uint32_t)json_string_decode(value->text, value->size, &value->has_unpaired);
	value->is_escaped = false;
}

bool json_equals(struct json_value *value, const char *text)
{
	if (!json_is(value, JSON_STRING))
		return false;
	json_decode(value);
	return value->size == strlen(text) && memcmp(value->text, text, value->size) == 0;
}
