/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"
#include "lib/heap/grow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "refs.h"
#include "walk.h"

/* A loose ref has 41 bytes; git reads no more than 256. */
#define REF_BYTES_MAX 256

/* A search for an ancestor ends beyond so many commits with -E2BIG. */
#define CHAIN_COMMITS_MAX 200000U

struct reader {
	int requests, answers;
	reader_merge merge;
	int gits[OBJECTS_SOURCES_MAX];
	size_t count;
	bool has_objects; /* `objects` was opened, with `error`: */
	int objects_error;
	struct objects objects;
	uint64_t paths_bytes; /* told so far */
	uint32_t again;       /* the count of struct walk */
	struct walk_known known;
};

static int send_tell(void *context, const struct reader_tell *what, const void *bytes)
{
	const struct reader *reader = context;
	int error = fd_write_all(reader->answers, what, sizeof(*what));

	return error || what->size == 0 ? error : fd_write_all(reader->answers, bytes, what->size);
}

static int answer_ref(struct reader *reader, const struct reader_ask *ask)
{
	struct reader_tell found = { .kind = READER_FOUND };
	const int error = refs_read(reader->gits[ask->source], ask->path, REF_BYTES_MAX, found.id);

	return error ? error : send_tell(reader, &found, NULL);
}

static int answer_head(struct reader *reader, const struct reader_ask *ask)
{
	struct reader_tell named = { .kind = READER_NAMED };
	char *text, *name;
	size_t size;
	int error = beneath_text(reader->gits[ask->source], "HEAD", REF_BYTES_MAX, &text, &size);

	if (error)
		return error;
	if (strncmp(text, "ref:", 4) == 0) {
		name = text + 4 + strspn(text + 4, " \t");
		name[strcspn(name, " \t\r\n")] = '\0';
		named.size = (uint32_t)strlen(name);
		error = refs_is_name(name) && named.size < IPC_PATH_MAX
				? send_tell(reader, &named, name)
				: -ENOTSUP;
	}
	free(text);
	return error;
}

/* --- packed-refs ------------------------------------------------------------------------------ */

struct named {
	const char *name; /* in the text */
	uint8_t id[OBJECT_ID_BYTES];
};

struct packed {
	char *text;
	struct named *all;
	size_t count;
};

static void free_packed(struct packed *packed)
{
	free(packed->text);
	free(packed->all);
}

static int read_packed(int git, struct packed *ret)
{
	size_t size, room = 0;
	char *at;
	struct named next;
	int error = beneath_text(git, "packed-refs", REFS_PACKED_MAX, &ret->text, &size);

	if (error)
		return error == -ENOENT ? 0 : error;
	at = ret->text;
	while (refs_next(&at, ret->text + size, &next.name, next.id)) {
		struct named *named = grow_item(&ret->all, &room, &ret->count, sizeof(*named));

		if (!named)
			return -ENOMEM;
		*named = next;
	}
	list_sort(ret->all, ret->count, sizeof(*ret->all));
	return 0;
}

static bool has_same(const struct packed *packed, const struct named *named)
{
	const struct named *found =
		list_find(named->name, packed->all, packed->count, sizeof(*packed->all));

	return found && memcmp(found->id, named->id, sizeof(named->id)) == 0;
}

static int answer_packed(struct reader *reader, const struct reader_ask *ask)
{
	struct packed now = { 0 }, host = { 0 };
	int error = read_packed(reader->gits[ask->source], &now);

	if (!error)
		error = read_packed(reader->gits[reader->count - 1], &host);
	for (size_t i = 0; i < now.count && !error; i++) {
		struct reader_tell named = { .kind = READER_NAMED,
					     .size = (uint32_t)strlen(now.all[i].name) };

		if (named.size >= IPC_PATH_MAX || has_same(&host, &now.all[i]))
			continue;
		memcpy(named.id, now.all[i].id, sizeof(named.id));
		error = send_tell(reader, &named, now.all[i].name);
	}
	free_packed(&now);
	free_packed(&host);
	return error;
}

/* --- commits ---------------------------------------------------------------------------------- */

static int tell_object(void *context, const uint8_t id[OBJECT_ID_BYTES],
		       const struct object *object)
{
	struct reader_tell told = { .kind = READER_OBJECT,
				    .count = object->type,
				    .size = (uint32_t)object->size };

	memcpy(told.id, id, sizeof(told.id));
	return send_tell(context, &told, object->bytes);
}

static int tell_path(void *context, const char *path, uint32_t mode, const char *target)
{
	struct reader *reader = context;
	static char text[2 * IPC_PATH_MAX];
	const size_t size = strlen(path), more = target ? strlen(target) + 1 : 0;
	const struct reader_tell told = { .kind = READER_PATH,
					  .count = mode,
					  .size = (uint32_t)(size + more) };

	if (size + more >= sizeof(text))
		return -ENAMETOOLONG;
	reader->paths_bytes += sizeof(told) + size + more;
	if (reader->paths_bytes > READER_PATHS_BYTES_MAX)
		return -E2BIG;
	memcpy(text, path, size + 1);
	if (target)
		memcpy(text + size + 1, target, more - 1);
	return send_tell(reader, &told, text);
}

static int tell_file(void *context, const char *path, const struct tree_entry *old,
		     const struct tree_entry *now)
{
	struct reader *reader = context;
	static uint8_t text[sizeof(struct reader_file) + IPC_PATH_MAX];
	const size_t size = strlen(path); /* shorter than IPC_PATH_MAX */
	struct reader_file file = { .old_mode = old ? old->mode : 0,
				    .new_mode = now ? now->mode : 0 };
	const struct reader_tell told = { .kind = READER_FILE,
					  .size = (uint32_t)(sizeof(file) + size) };

	if (old)
		memcpy(file.old_id, old->id, sizeof(file.old_id));
	if (now)
		memcpy(file.new_id, now->id, sizeof(file.new_id));
	reader->paths_bytes += sizeof(told) + size;
	if (reader->paths_bytes > READER_PATHS_BYTES_MAX)
		return -E2BIG;
	memcpy(mempcpy(text, &file, sizeof(file)), path, size + 1);
	return send_tell(reader, &told, text);
}

/* --- the way from one commit to another ------------------------------------------------------- */

struct node {
	uint8_t id[OBJECT_ID_BYTES];
	size_t child; /* the node from which the search came here */
};

/* The search goes breadth first: `nodes` is its queue, and all that it has met. */
struct search {
	struct node *nodes;
	size_t count, room;
	struct ids met;
};

/* Add a commit once. -E2BIG: there are too many. */
static int add_node(struct search *search, const uint8_t id[OBJECT_ID_BYTES], size_t child)
{
	const int status = ids_add(&search->met, id);
	struct node *node;

	if (status)
		return status < 0 ? status : 0;
	if (search->count == CHAIN_COMMITS_MAX)
		return -E2BIG;
	node = grow_item(&search->nodes, &search->room, &search->count, sizeof(*node));
	if (!node)
		return -ENOMEM;
	memcpy(node->id, id, OBJECT_ID_BYTES);
	node->child = child;
	return 0;
}

static int add_parents(const struct objects *objects, struct search *search, size_t at)
{
	static struct commit commit;
	int error = walk_read_commit(objects, search->nodes[at].id, NULL, &commit);

	for (size_t i = 0; !error && i < commit.parent_count; i++)
		error = add_node(search, commit.parents[i], at);
	return error;
}

static int answer_chain(struct reader *reader, const struct reader_ask *ask)
{
	struct search search = { 0 };
	size_t at = 0;
	int error = add_node(&search, ask->id, 0);

	while (!error && memcmp(search.nodes[at].id, ask->old, OBJECT_ID_BYTES) != 0) {
		error = add_parents(&reader->objects, &search, at++);
		if (!error && at == search.count)
			error = -ESTALE;
	}
	while (!error && at != 0) {
		struct object object;

		at = search.nodes[at].child;
		error = objects_read(&reader->objects, search.nodes[at].id, &object);
		if (!error)
			error = tell_object(reader, search.nodes[at].id, &object);
		object_free(&object);
	}
	free(search.nodes);
	ids_free(&search.met);
	return error;
}

/* --- requests --------------------------------------------------------------------------------- */

static int open_objects(struct reader *reader)
{
	if (reader->has_objects)
		return reader->objects_error;
	reader->has_objects = true;
	for (size_t i = 0; i < reader->count && !reader->objects_error; i++)
		reader->objects_error = objects_add(&reader->objects,
						    beneath_directory(reader->gits[i], "objects"));
	return reader->objects_error;
}

static int answer_walk(struct reader *reader, const struct reader_ask *ask, uint32_t *ret_commits)
{
	static struct walk walk;
	int error = open_objects(reader);

	if (ask->kind == READER_MERGE) /* an opened source may have the base */
		return reader->merge(reader->requests, reader->gits, &reader->objects, ask,
				     send_tell, reader);
	if (!error && ask->kind == READER_CHAIN)
		return answer_chain(reader, ask);
	if (!error && ask->kind == READER_FILES)
		return walk_compare(&reader->objects, ask->old, ask->id, &reader->again, tell_file,
				    reader);
	walk = (struct walk){ .objects = &reader->objects,
			      .context = reader,
			      .found = ask->kind == READER_BRING ? tell_object : NULL,
			      .changed = ask->kind == READER_WALK ? tell_path : NULL,
			      .git = reader->gits[reader->count - 1],
			      .known = &reader->known,
			      .again = &reader->again };
	memcpy(walk.bases[0], ask->old, sizeof(ask->old));
	memcpy(walk.bases[1], ask->head, sizeof(ask->head));
	if (!error)
		error = walk_run(&walk, ask->id);
	*ret_commits = walk.commits;
	return error;
}

static int answer_ask(struct reader *reader, const struct reader_ask *ask, uint32_t *ret_count)
{
	if (ask->kind == READER_REF)
		return answer_ref(reader, ask);
	if (ask->kind == READER_HEAD)
		return answer_head(reader, ask);
	if (ask->kind == READER_PACKED)
		return answer_packed(reader, ask);
	return answer_walk(reader, ask, ret_count);
}

int reader_read(int pipe, void *ret, size_t size)
{
	for (size_t used = 0; used < size;) {
		const ssize_t more = read(pipe, (uint8_t *)ret + used, size - used);

		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			return more < 0 ? -errno : -EPIPE;
		used += (size_t)more;
	}
	return 0;
}

void reader_serve(int requests, int answers, const int *gits, size_t count, reader_merge merge)
{
	static struct reader reader;
	static struct reader_ask ask;

	reader.requests = requests;
	reader.answers = answers;
	reader.count = count;
	reader.merge = merge;
	memcpy(reader.gits, gits, count * sizeof(*gits));
	while (reader_read(requests, &ask, sizeof(ask)) == 0) {
		struct reader_tell end = { .kind = READER_END };

		end.error = answer_ask(&reader, &ask, &end.count);
		if (send_tell(&reader, &end, NULL) != 0)
			break;
	}
	walk_forget(&reader.known);
	objects_close(&reader.objects);
}
