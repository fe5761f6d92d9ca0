/* SPDX-License-Identifier: Apache-2.0
 *
 * git's objects in several directories: the directories of a sandbox's layers, which a workload
 * wrote, and the host's own. An object is returned only if its bytes have the requested id, so it
 * does not matter which directory has it, or what else lies there.
 */
#ifndef LAYERS_READER_OBJECTS_H
#define LAYERS_READER_OBJECTS_H

#include "common/limits.h"
#include "pack.h"

/* A larger object is refused: memory holds it as a whole, twice while it is decompressed. */
#define OBJECT_BYTES_MAX ((size_t)128 << 20)

#define OBJECTS_SOURCES_MAX (LAYERS_MAX + 1)

/* The words of enum object_type, as an object's head has them. */
extern const char *const object_type_names[OBJECT_TYPE_COUNT];

struct object {
	uint32_t type;  /* enum object_type */
	uint8_t *bytes; /* malloc()ed, with a NUL behind the last */
	size_t size;
};

struct objects {
	struct {
		int directory; /* .git/objects; -1: there is none */
		struct packs packs;
	} sources[OBJECTS_SOURCES_MAX];
	size_t count;
};

/* Take over a directory `.git/objects` (negative: there is none); the last one is the host's. 0 or
 * -errno; -E2BIG: it has more than PACKS_MAX packs. */
int objects_add(struct objects *objects, int directory);

/* Return whether the host has the object: 1, 0 or -errno. Its content is not looked at. */
int objects_is_hosts(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES]);

/* Read an object; free it with object_free(). 0; -ENOENT: no source has it; -EBADMSG: the bytes
 * found under the id do not have it; -EFBIG; -ENOMEM; another -errno. */
int objects_read(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES],
		 struct object *ret);

void object_free(struct object *object);
void objects_close(struct objects *objects);

#endif
