/* SPDX-License-Identifier: Apache-2.0
 *
 * Compare a file with the table of keys: names, shapes and lengths of lists.
 */
#include "policy/read/source.h"

#include "lib/heap/memory.h"
#include "policy/read/keys.h"

#include <stdlib.h>
#include <string.h>

#define IMAGES "'image: NAME' and 'extends: image', after 'msp image import FILE NAME'"

/* Keys of other tools that a person may expect. The first row that fits counts; a row without a
 * value fits all of them. */
static const struct {
	const char *key, *value, *remedy;
} foreign_keys[] = {
	{ "driver", "bwrap", "a sandbox is always msp's own; expected no such line" },
	{ "driver", "chroot", "a sandbox is always msp's own; expected no such line" },
	{ "driver", "podman", "msp runs images without podman; expected " IMAGES },
	{ "driver", "docker", "msp runs images without docker; expected " IMAGES },
	{ "driver", "lima", "a virtual machine is a profile; expected 'extends: vm'" },
	{ "driver", "qemu", "a virtual machine is a profile; expected 'extends: vm'" },
	{ "driver", NULL,
	  "a sandbox is always msp's own; expected no such line, or an 'image' or a 'runner'" },
	{ "runtime", NULL, "msp starts its sandboxes itself; expected no such line" },
	{ "container", NULL, "a container's image is a key of its own; expected " IMAGES },
	{ "dockerfile", NULL, "msp builds no images; expected one of another tool, by " IMAGES },
	{ "volumes", NULL,
	  "directories of the host are entries of 'files'; expected such as {at: /data, from: "
	  "/srv/data, kind: bind}" },
	{ "mounts", NULL,
	  "mounts are entries of 'files'; expected such as {at: /data, from: /srv/data, kind: "
	  "bind}" },
	{ "ports", NULL,
	  "no profile opens ports of the host; expected no such line, and 'msp bridge SANDBOX "
	  "PORT'" },
};

/* Return what to write in the place of a key of another tool; NULL: it is no such key. */
static const char *foreign_key_remedy(const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(foreign_keys) / sizeof(foreign_keys[0]); i++) {
		const bool is_of_value =
			foreign_keys[i].value == NULL ||
			(value != NULL && strcmp(foreign_keys[i].value, value) == 0);

		if (strcmp(foreign_keys[i].key, key) == 0 && is_of_value)
			return foreign_keys[i].remedy;
	}
	return NULL;
}

/* A file while it is compared. */
struct check {
	const struct source *source;
	struct policy_error *error;
};

static int check_keys(const struct check *check, const struct node *node, enum key_set set);

/* Return what to write in the place of an unknown key; NULL: it is not known. */
static const char *find_remedy(const struct node *node, enum key_set set)
{
	if (set == SET_machine && strcmp(node->key, "limits") == 0)
		return "for all profiles it stands at the top of the file; expected a line "
		       "'limits: fallback' beside 'requirements'";
	return set == SET_file || set == SET_profile ? foreign_key_remedy(node->key, node->text)
						     : NULL;
}

static int fail_unknown_key(const struct check *check, const struct node *node, enum key_set set)
{
	const char *remedy = find_remedy(node, set);
	struct buffer known = { .bytes = NULL };

	if (remedy != NULL)
		return source_fail(check->source, check->error, node, "", "unknown key: %s",
				   remedy);
	for (enum key_id key = 0; key < KEY_COUNT; key++) {
		if (key_table[key].of == set)
			buffer_format(&known, "%s%s", known.size > 0 ? ", " : "",
				      key_table[key].name);
	}
	(void)source_fail(check->source, check->error, node, "", "unknown key; expected one of: %s",
			  known.bytes);
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

	return node->kind == wanted
		       ? 0
		       : source_fail(check->source, check->error, node, "", "expected %s, not %s",
				     names[wanted], names[node->kind]);
}

static int check_list(const struct check *check, const struct node *node, const struct key *key)
{
	if (check_kind(check, node, NODE_LIST) != 0)
		return -1;
	for (uint32_t i = 0; i < node->count; i++) {
		const struct node *entry = &node->items[i];

		if (i == key->most)
			return source_fail(check->source, check->error, node, "",
					   "too many entries; expected at most %u",
					   (uint32_t)key->most);
		if (key->type == TYPE_ENTRIES || (key->keys != SET_file && entry->kind == NODE_KEYS)
			    ? check_kind(check, entry, NODE_KEYS) != 0 ||
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
		return source_fail(
			check->source, check->error, node, "",
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
		(void)source_fail(source, error, &source->root, "",
				  "too long; expected at most %u bytes", SOURCE_BYTES_MAX);
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

void source_vfail(const struct source *source, struct policy_error *error, const struct node *node,
		  const char *key, const char *format, va_list arguments)
{
	struct buffer path = { .bytes = NULL };

	node_print_path(&source->root, node, &path);
	buffer_format(&path, "%s%s", path.size > 0 && *key != '\0' ? "." : "", key);
	policy_error_vset(error, source->file, node_line(node, key), path.bytes, format, arguments);
	buffer_done(&path);
}

int source_fail(const struct source *source, struct policy_error *error, const struct node *node,
		const char *key, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	source_vfail(source, error, node, key, format, arguments);
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
