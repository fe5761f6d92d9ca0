/* SPDX-License-Identifier: Apache-2.0
 *
 * Refs and objects as the files that they become. Nothing of the reader's word is believed: an
 * object is hashed again, and compressed by this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/files.h"
#include "layers/branches/branches.h"
#include "layers/changes/commits_state.h"
#include "layers/reader/library.h"
#include "layers/reader/refs.h"
#include "layers/reader/walk.h"
#include "lib/heap/grow.h"

#define MODE_REF (S_IFREG | 0644U)

/* "commit 134217728" and a NUL. */
#define HEAD_MAX 32

/* zlib's fastest: what is stored is repacked by git some day. */
#define LEVEL 1

/* All objects of one apply, compressed; they are in memory. */
#define SPOOL_MAX ((off_t)WALK_BYTES_MAX)

void commits_show(size_t number, struct difference *ret, char ret_text[IPC_PATH_MAX])
{
	const struct commits_ref *ref = &commits.refs[number];

	memset(ret, 0, sizeof(*ret));
	ret->kind = ref->old.st_mode ? CHANGE_MODIFIED : CHANGE_ADDED;
	ret->flags = CHANGE_IS_COMMITS | (ref->error ? CHANGE_IS_GITS : 0) |
		     (ref->refusal ? CHANGE_IS_CONFLICT : 0) |
		     (ref->held > 0 && !ref->error ? CHANGE_IS_HELD : 0);
	(void)snprintf(ret->path, sizeof(ret->path), "%s", ref->path);
	ret->old = ref->old;
	ret->now.st_mode = MODE_REF;
	ret->now.st_size = HEX_BYTES + 1;
	ret->layer = ret->old_layer = -1;
	branches_describe(ref, ret_text);
}

void commits_add_to_digest(const struct job_directories *directories, struct sha256 *digest)
{
	static struct difference difference;
	char text[IPC_PATH_MAX + 1 + OBJECT_ID_BYTES];
	uint8_t shown[SHA256_BYTES];

	for (size_t i = 0; i < commits.ref_count; i++) {
		commits_show(i, &difference, text);
		/* The text names what is held; the host's branch may have gone on since. */
		memcpy(text + strlen(text) + 1, commits.refs[i].id, OBJECT_ID_BYTES);
		files_hash((const uint8_t *)text, strlen(text) + 1 + OBJECT_ID_BYTES, shown);
		digest_add(digest, directories, &difference, difference.flags, shown);
	}
}

/* --- objects ---------------------------------------------------------------------------------- */

static int spool_bytes(const uint8_t *bytes, size_t size)
{
	if (commits.spool < 0)
		commits.spool = memfd_create("objects", MFD_CLOEXEC);
	if (commits.spool < 0)
		return -errno;
	if (commits.spooled > SPOOL_MAX - (off_t)size)
		return -E2BIG;
	return fd_write_all(commits.spool, bytes, size);
}

static int add_object(const uint8_t id[OBJECT_ID_BYTES], size_t size)
{
	struct commits_object *object = grow_item(&commits.objects, &commits.object_room,
						  &commits.object_count, sizeof(*object));

	if (!object)
		return -ENOMEM;
	memcpy(object->id, id, sizeof(object->id));
	object->at = commits.spooled;
	object->size = size;
	commits.spooled += (off_t)size;
	return 0;
}

/* As git stores a loose object: a head and the content, compressed together. */
static int store_object(uint32_t type, const uint8_t id[OBJECT_ID_BYTES], const uint8_t *bytes,
			size_t size)
{
	const struct library_zlib *zlib = library_zlib();
	char head[HEAD_MAX];
	const size_t length =
		(size_t)snprintf(head, sizeof(head), "%s %zu", object_type_names[type], size) + 1;
	uLongf packed_size = zlib->compressBound(length + size);
	uint8_t *plain = malloc(length + size), *packed = malloc(packed_size);
	int error = plain && packed ? 0 : -ENOMEM;

	if (!error) {
		memcpy(plain, head, length);
		memcpy(plain + length, bytes, size);
		if (zlib->compress2(packed, &packed_size, plain, length + size, LEVEL) != Z_OK)
			error = -ENOMEM;
	}
	if (!error)
		error = spool_bytes(packed, packed_size);
	if (!error)
		error = add_object(id, packed_size);
	free(plain);
	free(packed);
	return error;
}

static int compare_objects(const void *left, const void *right)
{
	return memcmp(((const struct commits_object *)left)->id,
		      ((const struct commits_object *)right)->id, OBJECT_ID_BYTES);
}

/* Was it fetched for another ref? */
static bool has_object(const uint8_t id[OBJECT_ID_BYTES])
{
	struct commits_object wanted = { 0 };

	memcpy(wanted.id, id, sizeof(wanted.id));
	return commits.sorted_count > 0 && bsearch(&wanted, commits.objects, commits.sorted_count,
						   sizeof(wanted), compare_objects);
}

static int hear_object(void *context, const struct reader_tell *tell, const uint8_t *bytes)
{
	uint8_t id[OBJECT_ID_BYTES];
	int error;

	if (tell->kind != READER_OBJECT || tell->count == 0 || tell->count >= OBJECT_TYPE_COUNT)
		return -EPROTO;
	error = library_hash(tell->count, bytes, tell->size, id);
	if (error || has_object(id))
		return error;
	return store_object(tell->count, id, bytes, tell->size);
}

/* The reader is not believed to tell each object once. */
static void drop_doubles(void)
{
	size_t count = 0;

	if (commits.object_count == 0)
		return;
	qsort(commits.objects, commits.object_count, sizeof(*commits.objects), compare_objects);
	for (size_t i = 0; i < commits.object_count; i++) {
		if (count == 0 || compare_objects(&commits.objects[i], &commits.objects[count - 1]))
			commits.objects[count++] = commits.objects[i];
	}
	commits.object_count = commits.sorted_count = count;
}

int commits_bring(size_t number)
{
	static struct reader_ask ask;
	int error;

	ask = (struct reader_ask){ .kind = READER_BRING };
	memcpy(ask.id, commits.refs[number].id, sizeof(ask.id));
	error = commits_ask(&ask, NULL, hear_object, NULL, NULL);
	drop_doubles();
	return error;
}

void commits_object_path(size_t number, char ret[IPC_PATH_MAX])
{
	char id[HEX_BYTES + 1];

	refs_write_id(commits.objects[number].id, id);
	(void)snprintf(ret, IPC_PATH_MAX, ".git/objects/%.2s/%s", id, id + 2);
}

/* --- their content ---------------------------------------------------------------------------- */

int commits_open_object(size_t number)
{
	const struct commits_object *object = &commits.objects[number];
	uint8_t *bytes = malloc(object->size);
	int file = -EIO;

	if (!bytes)
		return -ENOMEM;
	if (pread(commits.spool, bytes, object->size, object->at) == (ssize_t)object->size)
		file = files_from_bytes(bytes, object->size);
	free(bytes);
	return file;
}

int commits_open_ref(size_t number)
{
	char text[HEX_BYTES + 2];

	refs_write_id(commits.refs[number].id, text);
	text[HEX_BYTES] = '\n';
	return files_from_bytes(text, HEX_BYTES + 1);
}
