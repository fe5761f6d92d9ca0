/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/node.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "lib/heap/memory.h"

struct reader {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *file;
	struct node *root;
	struct policy_error *error;
};

static int read_node(struct reader *reader, struct node *node, uint32_t depth);

static uint32_t line_of_event(const struct reader *reader)
{
	return (uint32_t)reader->event.start_mark.line + 1;
}

/* Set an error of a node, in the line of the current event. */
static int fail_at(struct reader *reader, const struct node *node, const char *problem)
{
	struct buffer path = { .bytes = NULL };

	node_print_path(reader->root, node, &path);
	(void)policy_error_set(reader->error, reader->file, line_of_event(reader), path.bytes, "%s",
			       problem);
	buffer_done(&path);
	return -1;
}

static int fail_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;

	return policy_error_set(reader->error, reader->file,
				(uint32_t)parser->problem_mark.line + 1, "",
				"not YAML: %s%s%s; " NODE_EXPECTED " and values of YAML 1.1",
				parser->problem != NULL ? parser->problem : "unreadable",
				parser->context != NULL ? ", " : "",
				parser->context != NULL ? parser->context : "");
}

/* Read the next event; the previous event is freed. */
static int next_event(struct reader *reader)
{
	yaml_event_delete(&reader->event);
	return yaml_parser_parse(&reader->parser, &reader->event) != 0 ? 0 : fail_syntax(reader);
}

/* Append an item in the line of the current event. The room doubles: it is a power of two. */
static struct node *append_item(struct reader *reader, struct node *node)
{
	if ((node->count & (node->count - 1)) == 0)
		node->items = memory_resize_array(node->items,
						  node->count == 0 ? 1 : 2 * (size_t)node->count,
						  sizeof(node->items[0]));
	node->items[node->count] = (struct node){ .line = line_of_event(reader) };
	return &node->items[node->count++];
}

/* Copy the text of the current event, a scalar. NULL with the error set. */
static char *copy_scalar(struct reader *reader, const struct node *node)
{
	const char *value = (const char *)reader->event.data.scalar.value;
	const size_t length = reader->event.data.scalar.length;

	if (memchr(value, '\0', length) != NULL) {
		(void)fail_at(reader, node, "holds a NUL character; expected text");
		return NULL;
	}
	if (reader->event.data.scalar.anchor != NULL || reader->event.data.scalar.tag != NULL) {
		(void)fail_at(reader, node,
			      "has an anchor or a tag; expected the value written out");
		return NULL;
	}
	return memory_text(value, length);
}

/* Read a key, the current event, and its value. */
static int read_pair(struct reader *reader, struct node *node, uint32_t depth)
{
	struct node *item;
	char *key;

	if (reader->event.type != YAML_SCALAR_EVENT)
		return fail_at(reader, node, "a key is no single value; expected a word");
	if (node->count == NODE_KEYS_MAX)
		return fail_at(reader, node, "too many keys; expected at most 64");
	key = copy_scalar(reader, node);
	if (key == NULL)
		return -1;
	item = append_item(reader, node);
	item->key = key;
	for (const struct node *other = node->items; other < item; other++) {
		if (strcmp(other->key, key) == 0)
			return fail_at(reader, item, "given twice; expected once");
	}
	return next_event(reader) != 0 ? -1 : read_node(reader, item, depth);
}

static int read_keys(struct reader *reader, struct node *node, uint32_t depth)
{
	node->kind = NODE_KEYS;
	while (next_event(reader) == 0) {
		if (reader->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (read_pair(reader, node, depth) != 0)
			return -1;
	}
	return -1;
}

static int read_list(struct reader *reader, struct node *node, uint32_t depth)
{
	node->kind = NODE_LIST;
	while (next_event(reader) == 0) {
		if (reader->event.type == YAML_SEQUENCE_END_EVENT) {
			node->texts = memory_get_zeroed(node->count + 1, sizeof(node->texts[0]));
			for (uint32_t i = 0; i < node->count; i++)
				node->texts[i] = node->items[i].text;
			return 0;
		}
		if (read_node(reader, append_item(reader, node), depth) != 0)
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
static int read_node(struct reader *reader, struct node *node, uint32_t depth)
{
	if (reader->event.type == YAML_SCALAR_EVENT) {
		node->text = copy_scalar(reader, node);
		return node->text != NULL ? 0 : -1;
	}
	if (reader->event.type != YAML_SEQUENCE_START_EVENT &&
	    reader->event.type != YAML_MAPPING_START_EVENT)
		return fail_at(reader, node,
			       "stands for an anchor; expected the value written out");
	if (has_properties(&reader->event))
		return fail_at(reader, node,
			       "has an anchor or a tag; expected the value written out");
	if (depth == NODE_DEPTH_MAX)
		return fail_at(reader, node, "nested too deeply; expected fewer brackets");
	return reader->event.type == YAML_MAPPING_START_EVENT ? read_keys(reader, node, depth + 1)
							      : read_list(reader, node, depth + 1);
}

static int read_stream(struct reader *reader)
{
	if (next_event(reader) != 0) /* the stream's start */
		return -1;
	if (next_event(reader) != 0)
		return -1;
	if (reader->event.type == YAML_STREAM_END_EVENT)
		return fail_at(reader, reader->root, "empty; " NODE_EXPECTED);
	if (next_event(reader) != 0)
		return -1;
	if (reader->event.type != YAML_MAPPING_START_EVENT)
		return fail_at(reader, reader->root, "no set of keys; " NODE_EXPECTED);
	if (read_node(reader, reader->root, 0) != 0 ||
	    next_event(reader) != 0) /* the document's end */
		return -1;
	if (next_event(reader) != 0)
		return -1;
	if (reader->event.type != YAML_STREAM_END_EVENT)
		return fail_at(reader, reader->root, "a second document; expected one in a file");
	return 0;
}

int node_read(const char *file, const char *text, size_t size, struct node *ret,
	      struct policy_error *error)
{
	struct reader reader = { .file = file, .root = ret, .error = error };
	int result;

	*ret = (struct node){ .line = 1 };
	if (yaml_parser_initialize(&reader.parser) == 0)
		abort();
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, size);
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	result = read_stream(&reader);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return result;
}

/* Find the item that the path names first, and move *path behind its name. */
static const struct node *find_item(const struct node *node, const char **path)
{
	const char *name = *path + (**path == '.');
	const size_t length = strcspn(name, ".[");
	char *end;

	if (*name == '[') {
		const unsigned long index = strtoul(name + 1, &end, 10);

		*path = end + (*end == ']');
		return node->kind == NODE_LIST && index < node->count ? &node->items[index] : NULL;
	}
	*path = name + length;
	for (uint32_t i = 0; node->kind == NODE_KEYS && i < node->count; i++) {
		const char *key = node->items[i].key;

		if (strncmp(key, name, length) == 0 && key[length] == '\0')
			return &node->items[i];
	}
	return NULL;
}

const struct node *node_find(const struct node *node, const char *path)
{
	while (node != NULL && *path != '\0')
		node = find_item(node, &path);
	return node;
}

uint32_t node_line(const struct node *node, const char *path)
{
	uint32_t line = node->line;

	while (*path != '\0' && (node = find_item(node, &path)) != NULL)
		line = node->line;
	return line;
}

const char *node_text(const struct node *node, const char *path)
{
	const struct node *found = node_find(node, path);

	return found != NULL ? found->text : NULL;
}

struct strings node_texts(const struct node *node, const char *path)
{
	const struct node *found = node_find(node, path);

	return found != NULL && found->kind == NODE_LIST
		       ? (struct strings){ found->texts, found->count }
		       : (struct strings){ .count = 0 };
}

static char *copy_text(const char *text)
{
	return text != NULL ? memory_text(text, strlen(text)) : NULL;
}

struct node node_copy(const struct node *node, uint32_t line)
{
	struct node copy = { .kind = node->kind,
			     .line = line != 0 ? line : node->line,
			     .key = copy_text(node->key),
			     .text = copy_text(node->text),
			     .count = node->count };

	copy.items = memory_get_zeroed(node->count + 1, sizeof(copy.items[0]));
	copy.texts = memory_get_zeroed(node->count + 1, sizeof(copy.texts[0]));
	for (uint32_t i = 0; i < node->count; i++) {
		copy.items[i] = node_copy(&node->items[i], line);
		copy.texts[i] = copy.items[i].text;
	}
	return copy;
}

/* Append the path to a node that is somewhere below `around`. False, and nothing: it is not. */
static bool print_path(const struct node *around, const struct node *node, const char *dot,
		       struct buffer *path)
{
	const size_t size = path->size;

	for (uint32_t i = 0; i < around->count; i++) {
		const struct node *item = &around->items[i];

		if (item->key != NULL)
			buffer_format(path, "%s%s", dot, item->key);
		else
			buffer_format(path, "[%u]", i);
		if (item == node || print_path(item, node, ".", path))
			return true;
		path->size = size;
	}
	return false;
}

void node_print_path(const struct node *root, const struct node *node, struct buffer *path)
{
	buffer_append(path, "", 0); /* that of the root */
	if (root != node)
		(void)print_path(root, node, "", path); /* our own node is there */
}

void node_done(struct node *node)
{
	for (uint32_t i = 0; i < node->count; i++)
		node_done(&node->items[i]);
	free(node->items);
	free(node->texts);
	free(node->text);
	free(node->key);
	*node = (struct node){ .count = 0 };
}
