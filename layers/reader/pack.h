/* SPDX-License-Identifier: Apache-2.0
 *
 * Packs of git (gitformat-pack(5)), version 2, with an index of version 2. An index that lies about
 * an offset makes an object that does not have its id; the caller checks that.
 */
#ifndef LAYERS_READER_PACK_H
#define LAYERS_READER_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "library.h"

/* The limit of one directory; git itself repacks beyond 50. */
#define PACKS_MAX 4096

struct pack {
	int index, file;
	uint32_t count;
	uint64_t index_size;
};

struct packs {
	struct pack *all; /* malloc()ed */
	size_t count, room;
};

struct object;

/* Open the packs in a directory `.git/objects/pack`, which stays the caller's. Files that are no
 * pack are passed over. 0; -E2BIG: there are more than PACKS_MAX; another -errno. */
int packs_open(struct packs *packs, int directory);
void packs_close(struct packs *packs);

/* Find an id. 1 with the pack and the offset in it, 0 or -errno. */
int packs_find(const struct packs *packs, const uint8_t id[OBJECT_ID_BYTES],
	       const struct pack **ret_pack, uint64_t *ret_offset);

/* Read the object at an offset, and apply its deltas. 0, -EBADMSG, -EFBIG, -ENOMEM or
 * another -errno. */
int pack_read(const struct pack *pack, uint64_t offset, struct object *ret);

/* Apply a delta: copies from `base` and new bytes. The result is malloc()ed, with a NUL behind it.
 * 0, -EBADMSG, -EFBIG or -ENOMEM. */
int pack_apply_delta(const uint8_t *base, size_t base_size, const uint8_t *delta, size_t delta_size,
		     uint8_t **ret, size_t *ret_size);

#endif
