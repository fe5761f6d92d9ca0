/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lib/heap/buffer.h"
#include "lib/heap/memory.h"

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *file;
	struct places *places;
	struct policy_error *error;
};

static int read_node(struct reader *reader, const char *path, uint32_t depth);

static uint32_t line_of_event(const struct reader *reader)
{
	return (uint32_t)reader->event.start_mark.line + 1;
}

static int fail_at(struct reader *reader, const char *path, const char *problem)
{
	(void)snprintf(reader->error->text, sizeof(reader->error->text), "%s:%u: %s%s%s",
		       reader->file, line_of_event(reader), path, *path != '\0' ? ": " : "",
		       problem);
	policy_error_tidy(reader->error);
	return -1;
}

static int fail_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;

	(void)snprintf(reader->error->text, sizeof(reader->error->text),
		       "%s:%zu: not YAML: %s%s%s; " PLACES_EXPECTED " and values of YAML 1.1",
		       reader->file, parser->problem_mark.line + 1,
		       parser->problem != NULL ? parser->problem : "unreadable",
		       parser->context != NULL ? ", " : "",
		       parser->context != NULL ? parser->context : "");
	policy_error_tidy(reader->error);
	return -1;
}

/* Read the next event; the previous event is freed. */
static int next_event(struct reader *reader)
{
	yaml_event_delete(&reader->event);
	return yaml_parser_parse(&reader->parser, &reader->event) != 0 ? 0 : fail_syntax(reader);
}

/* Return the slot of the path, or the free slot for it. */
static uint32_t *slot_of(const struct places *places, const char *path)
{
	for (uint32_t hash = bytes_hash(path, strlen(path));; hash++) {
		uint32_t *slot = &places->slots[hash & (places->slot_count - 1)];

		if (*slot == 0 || strcmp(places->items[*slot - 1].path, path) == 0)
			return slot;
	}
}

static const struct place *find_place(const struct places *places, const char *path)
{
	const uint32_t *slot = places->slot_count > 0 ? slot_of(places, path) : NULL;

	return slot != NULL && *slot != 0 ? &places->items[*slot - 1] : NULL;
}

static void grow_places(struct places *places)
{
	const uint32_t room = places->room == 0 ? 64 : 2 * places->room;

	places->items = memory_resize_array(places->items, room, sizeof(places->items[0]));
	free(places->slots);
	places->room = room;
	places->slot_count = 4 * room;
	places->slots = memory_get_zeroed(places->slot_count, sizeof(places->slots[0]));
	for (uint32_t i = 0; i < places->count; i++)
		*slot_of(places, places->items[i].path) = i + 1;
}

/* Add a path, which must be new. */
static void add_place(struct places *places, const char *path, uint32_t line)
{
	if (places->count == places->room)
		grow_places(places);
	places->items[places->count++] =
		(struct place){ .path = memory_text(path, strlen(path)), .line = line };
	*slot_of(places, path) = places->count;
}

static int check_scalar(struct reader *reader, const char *path)
{
	const unsigned char *value = reader->event.data.scalar.value;
	const size_t length = reader->event.data.scalar.length;

	if (memchr(value, '\0', length) != NULL)
		return fail_at(reader, path, "holds a NUL character; expected text");
	if (reader->event.data.scalar.anchor != NULL || reader->event.data.scalar.tag != NULL)
		return fail_at(reader, path,
			       "has an anchor or a tag; expected the value written out");
	return 0;
}

/* Read the value of the place that was added last; the current event is its first. */
static int read_value(struct reader *reader, const char *path, uint32_t depth)
{
	struct place *place = &reader->places->items[reader->places->count - 1];

	if (reader->event.type == YAML_SCALAR_EVENT)
		place->value = memory_text((const char *)reader->event.data.scalar.value,
					   reader->event.data.scalar.length);
	return read_node(reader, path, depth);
}

/* Read a key and its value; the current event is the key. */
static int read_pair(struct reader *reader, const char *path, uint32_t depth)
{
	struct buffer inner = { .bytes = NULL };
	int result;

	if (reader->event.type != YAML_SCALAR_EVENT)
		return fail_at(reader, path, "a key is no single value; expected a word");
	if (check_scalar(reader, path) != 0)
		return -1;
	buffer_format(&inner, "%s%s%s", path, *path != '\0' ? "." : "",
		      (const char *)reader->event.data.scalar.value);
	if (find_place(reader->places, inner.bytes) != NULL) {
		result = fail_at(reader, inner.bytes, "given twice; expected once");
	} else {
		add_place(reader->places, inner.bytes, line_of_event(reader));
		result = next_event(reader) != 0 ? -1 : read_value(reader, inner.bytes, depth);
	}
	buffer_done(&inner);
	return result;
}

static int read_mapping(struct reader *reader, const char *path, uint32_t depth)
{
	while (next_event(reader) == 0) {
		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (read_pair(reader, path, depth) != 0)
			return -1;
	}
	return -1;
}

static int read_sequence(struct reader *reader, const char *path, uint32_t depth)
{
	for (uint32_t i = 0; next_event(reader) == 0; i++) {
		struct buffer inner = { .bytes = NULL };
		int result;

		if (reader->event.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		buffer_format(&inner, "%s[%u]", path, i);
		add_place(reader->places, inner.bytes, line_of_event(reader));
		result = read_node(reader, inner.bytes, depth);
		buffer_done(&inner);
		if (result != 0)
			return -1;
	}
	return -1;
}

static bool has_properties(const yaml_event_t *event)
{
	if (event->type == YAML_SEQUENCE_START_EVENT)
		return event->data.sequence_start.anchor != NULL ||
		       event->data.sequence_start.tag != NULL;
	return event->data.mapping_start.anchor != NULL || event->data.mapping_start.tag != NULL;
}

/* Read the node whose first event is the current event. */
static int read_node(struct reader *reader, const char *path, uint32_t depth)
{
	if (reader->event.type == YAML_SCALAR_EVENT)
		return check_scalar(reader, path);
	if (reader->event.type != YAML_SEQUENCE_START_EVENT &&
	    reader->event.type != YAML_MAPPING_START_EVENT)
		return fail_at(reader, path,
			       "stands for an anchor; expected the value written out");
	if (has_properties(&reader->event))
		return fail_at(reader, path,
			       "has an anchor or a tag; expected the value written out");
	if (depth == PLACES_DEPTH_MAX)
		return fail_at(reader, path, "nested too deeply; expected fewer brackets");
	return reader->event.type == YAML_MAPPING_START_EVENT
		       ? read_mapping(reader, path, depth + 1)
		       : read_sequence(reader, path, depth + 1);
}

static int read_stream(struct reader *reader)
{
	if (next_event(reader) != 0) /* the stream's start */
		return -1;
	if (next_event(reader) != 0)
		return -1;
	if (reader->event.type == YAML_STREAM_END_EVENT)
		return fail_at(reader, "", "empty; " PLACES_EXPECTED);
	if (next_event(reader) != 0)
		return -1;
	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return fail_at(reader, "", "no set of keys; " PLACES_EXPECTED);
	if (read_node(reader, "", 0) != 0 || next_event(reader) != 0) /* the document's end */
		return -1;
	if (next_event(reader) != 0)
		return -1;
	if (reader->event.type != YAML_STREAM_END_EVENT)
		return fail_at(reader, "", "a second document; expected one in a file");
	return 0;
}

int places_read(const char *file, const char *text, size_t size, struct places *ret,
		struct policy_error *error)
{
	struct reader reader = { .file = file, .places = ret, .error = error };
	int result;

	if (yaml_parser_initialize(&reader.parser) == 0)
		abort();
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, size);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	result = read_stream(&reader);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return result;
}

bool places_have(const struct places *places, const char *path)
{
	return find_place(places, path) != NULL;
}

const char *places_value(const struct places *places, const char *path)
{
	const struct place *place = find_place(places, path);

	return place != NULL ? place->value : NULL;
}

bool places_have_keys(const struct places *places, const char *path)
{
	const size_t length = strlen(path);

	for (uint32_t i = 0; i < places->count; i++) {
		if (strncmp(places->items[i].path, path, length) == 0 &&
		    places->items[i].path[length] == '.')
			return true;
	}
	return false;
}

uint32_t places_line(const struct places *places, const char *path)
{
	char *outer = memory_text(path, strlen(path));
	uint32_t line = 1;

	while (*outer != '\0') {
		const struct place *place = find_place(places, outer);
		char *dot = strrchr(outer, '.'), *bracket = strrchr(outer, '[');

		if (place != NULL) {
			line = place->line;
			break;
		}
		if (bracket != NULL && (dot == NULL || bracket > dot))
			*bracket = '\0';
		else if (dot != NULL)
			*dot = '\0';
		else
			break;
	}
	free(outer);
	return line;
}

void places_done(struct places *places)
{
	for (uint32_t i = 0; i < places->count; i++) {
		free(places->items[i].path);
		free(places->items[i].value);
	}
	free(places->items);
	free(places->slots);
	*places = (struct places){ .count = 0 };
}
