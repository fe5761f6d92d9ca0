/* SPDX-License-Identifier: Apache-2.0
 *
 * A change is looked up by each directory that it is in, in a sorted table, because a call may have
 * 65,536 paths and a sandbox any number of changes.
 */
#include "mcp/core/chosen_paths.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/call.h"
#include "mcp/core/request.h"

/* The path of the workspace for programs in the sandbox. */
#define INSIDE "/workspace/"

struct chosen_path {
	const char *text; /* in the tree */
	size_t size;
	bool is_met;
};

/* Return a path relative to the workspace, without prefixes and slashes that agents add. */
static struct chosen_path path_beneath(struct json_value *path)
{
	struct chosen_path ret;
	size_t skipped = 0;

	json_decode(path);
	ret = (struct chosen_path){ .text = path->text, .size = path->size };
	if (ret.size > strlen(INSIDE) && memcmp(ret.text, INSIDE, strlen(INSIDE)) == 0)
		skipped = strlen(INSIDE);
	else if (ret.size > 2 && memcmp(ret.text, "./", 2) == 0)
		skipped = 2;
	ret.text += skipped;
	ret.size -= skipped;
	while (ret.size > 1 && ret.text[ret.size - 1] == '/')
		ret.size--;
	return ret;
}

/* Return true for a path inside the workspace, other than the workspace itself. */
static bool is_beneath(const struct chosen_path *path)
{
	const char *part = path->text;
	const char *end = path->text + path->size;

	if (path->size == 0 || path->size >= IPC_PATH_MAX)
		return false;
	while (part < end) {
		const char *slash = memchr(part, '/', (size_t)(end - part));
		const size_t size = (size_t)((slash ? slash : end) - part);

		if (size == 0 || (size == 1 && part[0] == '.') ||
		    (size == 2 && memcmp(part, "..", 2) == 0))
			return false;
		part = slash ? slash + 1 : end;
	}
	return true;
}

bool chosen_paths_check(struct call *call, const struct json_document *document,
			const struct json_value *paths)
{
	struct json_value *v = json_first(document, paths);

	for (; v; v = json_next(document, v)) {
		const struct chosen_path path = path_beneath(v);

		if (!is_beneath(&path))
			break;
	}
	if (!v)
		return true;
	call_fail(
		call,
		"The argument `paths` contains \"%s\", but each path must be inside the workspace "
		"and relative to it, such as \"src/main.c\", without \"..\".",
		text_quoted(v->text, v->size, QUOTE_BYTES));
	return false;
}

void chosen_paths_take(struct chosen_paths *ret, const struct json_document *document,
		       const struct json_value *paths)
{
	if (paths)
		json_tree_copy(&ret->tree, document, paths);
}

void chosen_paths_done(struct chosen_paths *paths)
{
	json_tree_done(&paths->tree);
	free(paths->sorted);
	paths->sorted = NULL;
}

int chosen_paths_seal(const struct chosen_paths *paths)
{
	const struct json_document *document = &paths->tree.document;
	struct buffer list = { 0 };
	int fd;

	for (struct json_value *v = json_first(document, json_top(document)); v;
	     v = json_next(document, v)) {
		const struct chosen_path path = path_beneath(v);

		buffer_append(&list, path.text, path.size);
		buffer_append(&list, "", 1);
	}
	fd = fd_sealed_from_bytes("paths", list.bytes ? list.bytes : "", list.size);
	buffer_done(&list);
	return fd;
}

/* --- paths without a change ----------------------------------------------------------------- */

static int compare_paths(const void *left, const void *right)
{
	const struct chosen_path *a = left;
	const struct chosen_path *b = right;
	const int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static void drop_repeated(struct chosen_paths *paths)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->count; i++) {
		if (kept == 0 || compare_paths(&paths->sorted[kept - 1], &paths->sorted[i]) != 0)
			paths->sorted[kept++] = paths->sorted[i];
	}
	paths->count = kept;
}

void chosen_paths_watch(struct chosen_paths *paths)
{
	const struct json_document *document = &paths->tree.document;
	const struct json_value *list = json_top(document);

	paths->count = paths->unmet_count = 0;
	if (!list)
		return;
	free(paths->sorted);
	paths->sorted = memory_get_zeroed(list->count, sizeof(*paths->sorted));
	for (struct json_value *v = json_first(document, list); v; v = json_next(document, v))
		paths->sorted[paths->count++] = path_beneath(v);
	qsort(paths->sorted, paths->count, sizeof(*paths->sorted), compare_paths);
	drop_repeated(paths);
	paths->unmet_count = paths->count;
}

/* Mark the chosen paths that are this one, or directories of it. */
static void meet_path(struct chosen_paths *paths, const uint8_t *path, size_t size)
{
	for (size_t end = 1; end <= size && paths->unmet_count > 0; end++) {
		const struct chosen_path key = { .text = (const char *)path, .size = end };
		struct chosen_path *found;

		if (end < size && path[end] != '/')
			continue;
		found = bsearch(&key, paths->sorted, paths->count, sizeof(key), compare_paths);
		if (!found || found->is_met)
			continue;
		found->is_met = true;
		paths->unmet_count--;
	}
}

void chosen_paths_meet(struct chosen_paths *paths, const struct change *change)
{
	meet_path(paths, change->path, change->is.path_size);
	meet_path(paths, change->old_path, change->is.old_path_size);
}

bool chosen_paths_put_unmet(const struct chosen_paths *paths, struct buffer *text)
{
	size_t first = 0;

	if (paths->unmet_count == 0)
		return false;
	while (paths->sorted[first].is_met)
		first++;
	buffer_format(
		text, "There is no change at \"%s\"",
		text_quoted(paths->sorted[first].text, paths->sorted[first].size, QUOTE_BYTES));
	if (paths->unmet_count > 1)
		buffer_format(text, " and %zu more of `paths`", paths->unmet_count - 1);
	buffer_append_text(text, ": mistyped, or unchanged. diff_changes lists the changes.");
	return true;
}
