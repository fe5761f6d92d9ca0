/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "inflate.h"
#include "layers/base/beneath.h"
#include "refs.h"

/* "commit 134217728" and a NUL, with room. */
#define LOOSE_HEAD_MAX 32

#define LOOSE_PATH_MAX (2 * OBJECT_ID_BYTES + 2)

const char *const object_type_names[OBJECT_TYPE_COUNT] = {
	[OBJECT_COMMIT] = "commit",
	[OBJECT_TREE] = "tree",
	[OBJECT_BLOB] = "blob",
	[OBJECT_TAG] = "tag",
};

static int open_loose(int directory, const uint8_t id[OBJECT_ID_BYTES])
{
	char text[HEX_BYTES + 1], path[LOOSE_PATH_MAX];
	struct stat status;

	refs_write_id(id, text);
	(void)snprintf(path, sizeof(path), "%.2s/%s", text, text + 2);
	return beneath_file(directory, path, &status);
}

int objects_add(struct objects *objects, int directory)
{
	int packs = directory < 0 ? -1 : beneath_directory(directory, "pack");
	int error = 0;

	objects->sources[objects->count].directory = directory;
	if (packs >= 0)
		error = packs_open(&objects->sources[objects->count].packs, packs);
	fd_close(&packs);
	objects->count++;
	return error;
}

/* --- loose objects ---------------------------------------------------------------------------- */

/* Split "TYPE SIZE" and a NUL. Return the length with the NUL. */
static int parse_loose_head(const char *head, size_t size, struct object *ret)
{
	const char *end = memchr(head, '\0', size);
	const char *digits = end ? memchr(head, ' ', (size_t)(end - head)) : NULL;

	if (!digits || digits[1] == '\0')
		return -EBADMSG;
	ret->type = 0;
	for (uint32_t i = OBJECT_COMMIT; i < OBJECT_TYPE_COUNT; i++) {
		if (strlen(object_type_names[i]) == (size_t)(digits - head) &&
		    strncmp(head, object_type_names[i], (size_t)(digits - head)) == 0)
			ret->type = i;
	}
	ret->size = 0;
	for (const char *at = digits + 1; at < end; at++) {
		if (*at < '0' || *at > '9')
			return -EBADMSG;
		ret->size = 10 * ret->size + (size_t)(*at - '0');
		if (ret->size > OBJECT_BYTES_MAX)
			return -EFBIG;
	}
	return ret->type ? (int)(end - head) + 1 : -EBADMSG;
}

static int read_inflated(struct inflate *inflate, struct object *ret)
{
	uint8_t head[LOOSE_HEAD_MAX];
	const ssize_t size = inflate_read(inflate, head, sizeof(head));
	size_t used;
	ssize_t more;
	const int length =
		size < 0 ? (int)size : parse_loose_head((const char *)head, (size_t)size, ret);

	if (length < 0)
		return length;
	used = (size_t)size - (size_t)length;
	if (used > ret->size)
		return -EBADMSG;
	ret->bytes = malloc(ret->size + 1);
	if (!ret->bytes)
		return -ENOMEM;
	memcpy(ret->bytes, head + length, used);
	ret->bytes[ret->size] = '\0';
	more = inflate_read(inflate, ret->bytes + used, ret->size - used);
	if (more < 0)
		return (int)more;
	return (size_t)more == ret->size - used ? inflate_check_end(inflate) : -EBADMSG;
}

static int read_loose(int directory, const uint8_t id[OBJECT_ID_BYTES], struct object *ret)
{
	static struct inflate inflate;
	int file = open_loose(directory, id);
	int error;

	if (file < 0)
		return file;
	error = inflate_begin(&inflate, file, 0);
	if (!error) {
		error = read_inflated(&inflate, ret);
		inflate_end(&inflate);
	}
	if (error)
		object_free(ret);
	fd_close(&file);
	return error;
}

/* --- all of them ------------------------------------------------------------------------------ */

int objects_is_hosts(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES])
{
	const size_t host = objects->count - 1;
	const struct pack *pack;
	uint64_t offset;
	int file;

	if (objects->sources[host].directory < 0)
		return 0;
	file = open_loose(objects->sources[host].directory, id);
	if (file >= 0) {
		fd_close(&file);
		return 1;
	}
	return file == -ENOENT ? packs_find(&objects->sources[host].packs, id, &pack, &offset)
			       : file;
}

static int check_id(const struct object *object, const uint8_t id[OBJECT_ID_BYTES])
{
	uint8_t found[OBJECT_ID_BYTES];
	const int error = library_hash(object->type, object->bytes, object->size, found);

	return error ? error : memcmp(found, id, sizeof(found)) == 0 ? 0 : -EBADMSG;
}

static int read_from(const struct objects *objects, size_t source,
		     const uint8_t id[OBJECT_ID_BYTES], struct object *ret)
{
	const struct pack *pack;
	uint64_t offset;
	int error = read_loose(objects->sources[source].directory, id, ret);
	int found;

	if (error == -ENOENT || error == -ENOTDIR) {
		found = packs_find(&objects->sources[source].packs, id, &pack, &offset);
		error = found == 1 ? pack_read(pack, offset, ret) : found == 0 ? -ENOENT : found;
	}
	if (error)
		return error;
	error = check_id(ret, id);
	if (error)
		object_free(ret);
	return error;
}

int objects_read(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES],
		 struct object *ret)
{
	int error = -ENOENT;

	memset(ret, 0, sizeof(*ret));
	/* The host's own first: a workload's copy of a host's object is not needed. */
	for (size_t i = objects->count; i-- > 0 && error;) {
		const int status = objects->sources[i].directory < 0
					   ? -ENOENT
					   : read_from(objects, i, id, ret);

		if (status != -ENOENT)
			error = status;
	}
	return error;
}

void object_free(struct object *object)
{
	free(object->bytes);
	memset(object, 0, sizeof(*object));
}

void objects_close(struct objects *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		packs_close(&objects->sources[i].packs);
		fd_close(&objects->sources[i].directory);
	}
	objects->count = 0;
}
