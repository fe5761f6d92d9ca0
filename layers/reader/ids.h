/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets and lists of ids. No object has the id zero.
 */
#ifndef LAYERS_READER_IDS_H
#define LAYERS_READER_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library.h"

/* A set: an open hash; all zero: free. */
struct ids {
	uint8_t (*all)[OBJECT_ID_BYTES];
	size_t count, room;
};

bool ids_is_zero(const uint8_t id[OBJECT_ID_BYTES]);

bool ids_has(const struct ids *ids, const uint8_t id[OBJECT_ID_BYTES]);

/* Add an id to a set. 1: it was there; 0: it is new; or -ENOMEM. */
int ids_add(struct ids *ids, const uint8_t id[OBJECT_ID_BYTES]);

void ids_free(struct ids *ids);

/* Append an id to a list, which the caller frees. 0 or -ENOMEM. */
int ids_append(uint8_t (**list)[OBJECT_ID_BYTES], size_t *count, size_t *room,
	       const uint8_t id[OBJECT_ID_BYTES]);

#endif
