/* SPDX-License-Identifier: Apache-2.0 */
#include "ancestor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "layers/base/beneath.h"
#include "layers/reader/refs.h"
#include "layers/reader/walk.h"
#include "text.h"

/* Versions of the file that are remembered as wrong. */
#define WRONG_MAX 256

/* git reads no longer HEAD. */
#define HEAD_BYTES_MAX 4096

struct search {
	const int *gits;
	const struct objects *objects;
	const struct reader_ask *ask;
	uint8_t commits[ANCESTOR_COMMITS_MAX][OBJECT_ID_BYTES]; /* met, in their order */
	size_t count;
	uint8_t wrong[WRONG_MAX][OBJECT_ID_BYTES];
	size_t wrong_count;
	uint32_t entries; /* trees' entries over all files, bounded by walk.h */
};

/* Return whether this is the content that was noted. */
static bool is_noted(const struct reader_ask *ask, const uint8_t *bytes, size_t size)
{
	uint8_t hash[SHA256_BYTES];

	if (size != ask->base_size)
		return false;
	sha256(bytes, size, hash);
	return memcmp(hash, ask->base, sizeof(hash)) == 0;
}

static bool has_id(uint8_t (*ids)[OBJECT_ID_BYTES], size_t count, const uint8_t *id)
{
	for (size_t i = 0; i < count; i++) {
		if (memcmp(ids[i], id, OBJECT_ID_BYTES) == 0)
			return true;
	}
	return false;
}

static void add_commit(struct search *search, const uint8_t *id)
{
	if (search->count < ANCESTOR_COMMITS_MAX && !has_id(search->commits, search->count, id))
		memcpy(search->commits[search->count++], id, OBJECT_ID_BYTES);
}

/* --- the first commits ------------------------------------------------------------------------ */

/* Add the commit of a branch, in every repository that has it. */
static void add_branch(struct search *search, const char *name)
{
	uint8_t id[OBJECT_ID_BYTES];

	for (size_t i = search->objects->count; i-- > 0;) {
		if (refs_read(search->gits[i], name, HEAD_BYTES_MAX, id) == 0)
			add_commit(search, id);
		if (refs_find_packed(search->gits[i], "packed-refs", name, id) == 0)
			add_commit(search, id);
	}
}

static void add_head(struct search *search, int git)
{
	uint8_t id[OBJECT_ID_BYTES];
	char *text, *name;
	size_t size;

	if (beneath_text(git, "HEAD", HEAD_BYTES_MAX, &text, &size) != 0)
		return;
	if (refs_parse(text, size, id) == 0) {
		add_commit(search, id);
	} else if (strncmp(text, "ref:", 4) == 0) {
		name = text + 4 + strspn(text + 4, " \t");
		name[strcspn(name, " \t\r\n")] = '\0';
		if (refs_is_name(name))
			add_branch(search, name);
	}
	free(text);
}

/* --- a commit's version of the file ------------------------------------------------------------
 */

/* Find a name in the tree `id`, which becomes that of the entry. 0, -ENOENT or -errno, as of
 * walk_run(). */
static int find_entry(struct search *search, uint8_t id[OBJECT_ID_BYTES], const char *name,
		      size_t size, uint32_t *ret_mode)
{
	struct walk_side side = { .has_entry = false };
	int error = walk_open_side(search->objects, id, &search->entries, &side);

	while (!error && side.has_entry &&
	       !(side.entry.name_size == size && memcmp(side.entry.name, name, size) == 0))
		error = walk_next_entry(&side, &search->entries);
	if (!error && !side.has_entry)
		error = -ENOENT;
	if (!error) {
		*ret_mode = side.entry.mode;
		memcpy(id, side.entry.id, OBJECT_ID_BYTES);
	}
	object_free(&side.object);
	return error;
}

/* Find the file in the tree `id`, which becomes that of its content. */
static int find_file(struct search *search, uint8_t id[OBJECT_ID_BYTES])
{
	const char *part = search->ask->path;
	uint32_t mode = TREE_DIRECTORY;
	int error = 0;

	while (*part && !error && mode == TREE_DIRECTORY) {
		const size_t size = strcspn(part, "/");

		error = find_entry(search, id, part, size, &mode);
		part += size + (part[size] == '/');
	}
	if (error)
		return error;
	return *part == '\0' && (mode == TREE_FILE || mode == TREE_FILE_OLD || mode == TREE_PROGRAM)
		       ? 0
		       : -ENOENT;
}

static int look_at(struct search *search, const uint8_t *commit_id, struct object *ret)
{
	static struct commit commit;
	uint8_t id[OBJECT_ID_BYTES];
	int error = walk_read_commit(search->objects, commit_id, NULL, &commit);

	if (error)
		return error;
	for (size_t i = 0; i < commit.parent_count; i++)
		add_commit(search, commit.parents[i]);
	memcpy(id, commit.tree, sizeof(id));
	error = find_file(search, id);
	if (error || has_id(search->wrong, search->wrong_count, id))
		return error ? error : -ENOENT;
	error = objects_read(search->objects, id, ret);
	if (error)
		return error;
	if (ret->type == OBJECT_BLOB && is_noted(search->ask, ret->bytes, ret->size))
		return 0;
	object_free(ret);
	if (search->wrong_count < WRONG_MAX)
		memcpy(search->wrong[search->wrong_count++], id, sizeof(id));
	return -ENOENT;
}

/* Find the file `ask->path` with the noted content among the commits that are checked out in any of
 * the directories .git (-1: there is none; the host's last) and those before them. 0, and the
 * caller frees the object; -ENOENT: no commit has it; -E2BIG: the search of all files so far took
 * too long; -ENOMEM. */
static int find_noted(const int *gits, const struct objects *objects, const struct reader_ask *ask,
		      struct object *ret)
{
	static struct search search;
	int error = -ENOENT;

	search.gits = gits;
	search.objects = objects;
	search.ask = ask;
	search.count = search.wrong_count = 0;
	for (size_t i = objects->count; i-- > 0;)
		add_head(&search, gits[i]);
	for (size_t at = 0; at < search.count && error; at++) {
		error = look_at(&search, search.commits[at], ret);
		if (error == -E2BIG || error == -ENOMEM)
			return error;
	}
	return error ? -ENOENT : 0; /* a commit that cannot be read has no version */
}

/* --- the answer ------------------------------------------------------------------------------- */

static int merge_body(const uint8_t *body, const int *gits, const struct objects *objects,
		      const struct reader_ask *ask, struct text_merged *ret)
{
	const struct text host = { body, ask->host_size };
	const struct text sandbox = { body + ask->host_size, ask->body_size - ask->host_size };
	struct object object = { 0 };
	struct text base = sandbox;
	int error = 0;

	/* The base of a file that was merged before is the sandbox's side of that merge. */
	if (!is_noted(ask, sandbox.bytes, sandbox.size)) {
		error = find_noted(gits, objects, ask, &object);
		base = (struct text){ object.bytes, object.size };
	}
	if (!error)
		error = text_merge(&base, &host, &sandbox, ret);
	object_free(&object);
	return error;
}

int answer_merge(int requests, const int *gits, const struct objects *objects,
		 const struct reader_ask *ask,
		 int (*tell)(void *context, const struct reader_tell *what, const void *bytes),
		 void *context)
{
	struct reader_tell told = { .kind = READER_MERGED };
	struct text_merged merged = { 0 };
	uint8_t *body = NULL;
	int error = -EPROTO;

	if (ask->body_size <= READER_BODY_MAX && ask->host_size <= ask->body_size)
		body = malloc((size_t)ask->body_size + 1);
	if (body)
		error = reader_read(requests, body, ask->body_size);
	if (!error)
		error = merge_body(body, gits, objects, ask, &merged);
	told.size = (uint32_t)merged.size;
	told.count = merged.has_markers;
	if (!error)
		error = tell(context, &told, merged.bytes);
	free(merged.bytes);
	free(body);
	return error;
}
