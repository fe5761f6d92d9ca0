/* SPDX-License-Identifier: Apache-2.0
 *
 * A document holds its values in the order of their text: the content of a value follows it
 * directly, and ends before the next value outside all its containers.
 */
#include "json/copy.h"

#include <stdlib.h>
#include <string.h>

#include "lib/heap/memory.h"

uint32_t json_end(const struct json_document *document, const struct json_value *value)
{
	const uint32_t place = (uint32_t)(value - document->values);
	uint32_t end = place + 1;

	while (end < document->count && document->values[end].parent >= place)
		end++;
	return end;
}

static size_t text_size(const struct json_document *document, uint32_t first, uint32_t end)
{
	size_t size = 0;

	for (uint32_t i = first; i < end; i++)
		size += document->values[i].size + document->values[i].key_size;
	return size;
}

static char *move_text(char **next, char *text, size_t size)
{
	char *const place = *next;

	if (!text)
		return NULL;
	if (size > 0)
		memcpy(place, text, size);
	*next += size;
	return place;
}

void json_tree_copy(struct json_tree *ret, const struct json_document *document,
		    const struct json_value *value)
{
	const uint32_t first = (uint32_t)(value - document->values);
	const uint32_t end = json_end(document, value);
	const uint32_t count = end - first;
	const size_t size = text_size(document, first, end);
	struct json_value *values = memory_get(count * sizeof(*values));
	char *next = memory_get(size + 1);

	ret->text = next;
	ret->document = (struct json_document){ values, count, count };
	ret->bytes = size + count * sizeof(*values);
	memcpy(values, value, count * sizeof(*values));
	for (uint32_t i = 0; i < count; i++) {
		values[i].first -= values[i].count ? first : 0;
		values[i].next -= values[i].next ? first : 0;
		values[i].parent -= i ? first : values[i].parent;
		values[i].text = move_text(&next, values[i].text, values[i].size);
		values[i].key = move_text(&next, values[i].key, values[i].key_size);
	}
	values[0].next = 0;
	values[0].key = NULL;
	values[0].key_size = 0;
}

void json_tree_done(struct json_tree *tree)
{
	json_done(&tree->document);
	free(tree->text);
	memset(tree, 0, sizeof(*tree));
}

static void put_scalar(struct json_writer *writer, struct json_value *value)
{
	static const char *const literals[] = {
		[JSON_NULL] = "null",
		[JSON_TRUE] = "true",
		[JSON_FALSE] = "false",
	};

	if (value->kind == JSON_STRING) {
		json_decode(value);
		json_put_string(writer, NULL, value->text, value->size);
	} else if (value->kind == JSON_NUMBER) {
		json_put_raw(writer, NULL, value->text, value->size);
	} else {
		json_put_raw(writer, NULL, literals[value->kind], strlen(literals[value->kind]));
	}
}

static void close_container(struct json_writer *writer, const struct json_value *container)
{
	if (container->kind == JSON_OBJECT)
		json_close_object(writer);
	else
		json_close_array(writer);
}

static void open_value(struct json_writer *writer, struct json_value *value)
{
	if (value->kind == JSON_OBJECT)
		json_open_object(writer, NULL);
	else if (value->kind == JSON_ARRAY)
		json_open_array(writer, NULL);
	else
		put_scalar(writer, value);
}

static bool is_container(const struct json_value *value)
{
	return value->kind == JSON_OBJECT || value->kind == JSON_ARRAY;
}

void json_put_value(struct json_writer *writer, const char *key,
		    const struct json_document *document, const struct json_value *value)
{
	struct json_value *const values = document->values;
	const uint32_t first = (uint32_t)(value - values);
	const uint32_t end = json_end(document, value);
	uint32_t open = first; /* the container that is being written */

	if (key)
		json_put_key(writer, key, strlen(key));
	open_value(writer, &values[first]);
	for (uint32_t i = first + 1; i < end; i++) {
		for (; open != values[i].parent; open = values[open].parent)
			close_container(writer, &values[open]);
		if (values[i].key)
			json_put_key(writer, values[i].key, values[i].key_size);
		open_value(writer, &values[i]);
		if (is_container(&values[i]))
			open = i;
	}
	for (; is_container(&values[open]); open = values[open].parent) {
		close_container(writer, &values[open]);
		if (open == first)
			break;
	}
}
