/* SPDX-License-Identifier: Apache-2.0
 *
 * Compare a file with the table of keys: names, shapes and lengths of lists.
 */
#include "policy/read/source.h"

#include "lib/heap/memory.h"
#include "policy/read/foreign_keys.h"
#include "policy/read/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file while it is compared. */
struct check {
	const struct source *source;
	struct policy_error *error;
};

static int check_keys(const struct check *check, const struct node *node, enum key_set set);

/* Set an error of a node, in its line: a key may hold a dot, so its path would not find it. */
static int fail_node(const struct check *check, const struct node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int fail_node(const struct check *check, const struct node *node, const char *format, ...)
{
	struct buffer text = { .bytes = NULL }, path = { .bytes = NULL };
	va_list arguments;

	node_print_path(&check->source->root, node, &path);
	buffer_format(&text, "%s:%u: %s%s", check->source->file, node->line,
		      path.size > 0 ? path.bytes : "", path.size > 0 ? ": " : "");
	va_start(arguments, format);
	buffer_vformat(&text, format, arguments);
	va_end(arguments);
	(void)snprintf(check->error->text, sizeof(check->error->text), "%s", text.bytes);
	policy_error_tidy(check->error);
	buffer_done(&text);
	buffer_done(&path);
	return -1;
}

static int fail_unknown_key(const struct check *check, const struct node *node, enum key_set set)
{
	const char *remedy = set == SET_file || set == SET_profile
				     ? foreign_key_remedy(node->key, node->text)
				     : NULL;
	struct buffer known = { .bytes = NULL };

	if (remedy != NULL)
		return fail_node(check, node, "unknown key: %s", remedy);
	for (enum key_id key = 0; key < KEY_COUNT; key++) {
		if (key_table[key].of == set)
			buffer_format(&known, "%s%s", known.size > 0 ? ", " : "",
				      key_table[key].name);
	}
	(void)fail_node(check, node, "unknown key; expected one of: %s", known.bytes);
	buffer_done(&known);
	return -1;
}

static int check_kind(const struct check *check, const struct node *node, enum node_kind wanted)
{
	static const char *const names[] = {
		[NODE_TEXT] = "a value",
		[NODE_LIST] = "a list",
		[NODE_KEYS] = "a set of keys",
	};

	return node->kind == wanted ? 0
				    : fail_node(check, node, "expected %s, not %s", names[wanted],
						names[node->kind]);
}

static int check_list(const struct check *check, const struct node *node, const struct key *key)
{
	if (check_kind(check, node, NODE_LIST) != 0)
		return -1;
	for (uint32_t i = 0; i < node->count; i++) {
		const struct node *entry = &node->items[i];

		if (i == key->most)
			return fail_node(check, node, "too many entries; expected at most %u",
					 (uint32_t)key->most);
		if (key->type == TYPE_ENTRIES ? check_kind(check, entry, NODE_KEYS) != 0 ||
							check_keys(check, entry, key->keys) != 0
					      : check_kind(check, entry, NODE_TEXT) != 0)
			return -1;
	}
	return 0;
}

static int check_value(const struct check *check, const struct node *node, enum key_id id)
{
	const struct key *key = &key_table[id];

	if (key->type == TYPE_TEXTS || key->type == TYPE_ENTRIES)
		return check_list(check, node, key);
	if (key->type == TYPE_KEYS || (key->keys != SET_file && node->kind == NODE_KEYS))
		return check_kind(check, node, NODE_KEYS) != 0 ? -1
							       : check_keys(check, node, key->keys);
	if (id == KEY_profile_network && node->kind != NODE_TEXT)
		return fail_node(check, node,
				 "expected none, loopback or hosts; the list has a key of its own, "
				 "hosts");
	return check_kind(check, node, NODE_TEXT);
}

static int check_keys(const struct check *check, const struct node *node, enum key_set set)
{
	for (uint32_t i = 0; i < node->count; i++) {
		const struct node *item = &node->items[i];
		const enum key_id key = key_find(set, item->key);

		if (key == KEY_COUNT)
			return fail_unknown_key(check, item, set);
		if (check_value(check, item, key) != 0)
			return -1;
	}
	return 0;
}

struct source *source_load(const char *file, const char *text, size_t size,
			   struct policy_error *error)
{
	struct source *source = memory_get_zeroed(1, sizeof(*source));
	const struct check check = { source, error };

	source->file = memory_text(file, strlen(file));
	source->root.line = 1;
	if (size > SOURCE_BYTES_MAX) {
		(void)source_fail(source, error, "", "too long; expected at most %u bytes",
				  SOURCE_BYTES_MAX);
		return source_free(source);
	}
	if (node_read(file, text, size, &source->root, error) != 0 ||
	    check_keys(&check, &source->root, SET_file) != 0)
		return source_free(source);
	return source;
}

uint32_t source_profiles(const struct source *source)
{
	const struct node *profiles = node_find(&source->root, "profiles");

	return profiles != NULL ? profiles->count : 0;
}

const struct node *source_profile(const struct source *source, uint32_t index)
{
	return &node_find(&source->root, "profiles")->items[index];
}

void source_vfail(const struct source *source, struct policy_error *error, const char *key,
		  const char *format, va_list arguments)
{
	const size_t most = sizeof(error->text) - 1;
	const int size = snprintf(error->text, sizeof(error->text), "%s:%u: %s%s", source->file,
				  source_origin(source, key).line, key, *key != '\0' ? ": " : "");
	const size_t used = size < 0 ? 0 : (size_t)size < most ? (size_t)size : most;

	(void)vsnprintf(error->text + used, sizeof(error->text) - used, format, arguments);
	policy_error_tidy(error);
}

int source_fail(const struct source *source, struct policy_error *error, const char *key,
		const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	source_vfail(source, error, key, format, arguments);
	va_end(arguments);
	return -1;
}

struct origin source_origin(const struct source *source, const char *key)
{
	return (struct origin){ source->file, node_line(&source->root, key) };
}

struct source *source_free(struct source *source)
{
	if (source == NULL)
		return NULL;
	node_done(&source->root);
	free(source->file);
	free(source);
	return NULL;
}
