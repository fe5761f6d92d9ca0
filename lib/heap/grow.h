/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for a list that grows: doubled, so that its items are moved seldom.
 */
#ifndef LIB_HEAP_GROW_H
#define LIB_HEAP_GROW_H

#include <stddef.h>

/* Resize `list`, which has room for *room items of `size` bytes, to at least `count`. Returns the
 * list with *room set, or NULL without memory: the list and *room are unchanged then. */
void *grow_list(void *list, size_t *room, size_t count, size_t size);

/* Append an item of `size` zero bytes to the list at `list`, a pointer to a pointer. Returns the
 * item, or NULL without memory: the list is unchanged then. */
void *grow_item(void *list, size_t *room, size_t *count, size_t size);

#endif
