/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists: room that grows, doubled, so that items are moved seldom; and the order of their texts.
 */
#ifndef LIB_HEAP_GROW_H
#define LIB_HEAP_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Resize `list`, which has room for *room items of `size` bytes, to at least `count`. Returns the
 * list with *room set, or NULL without memory: the list and *room are unchanged then. */
void *grow_list(void *list, size_t *room, size_t count, size_t size);

/* Append an item of `size` zero bytes to the list at `list`, a pointer to a pointer. Returns the
 * item, or NULL without memory: the list is unchanged then. */
void *grow_item(void *list, size_t *room, size_t *count, size_t size);

/* Append such an item that begins with a pointer to a copy of a text. */
void *grow_text(void *list, size_t *room, size_t *count, size_t size, const char *text);

/* Free a list, and the memory to which each of its items points at its beginning. */
void list_free(void *list, size_t count, size_t size);

/* Append bytes to those at *list. False without memory: they are unchanged then. */
bool grow_bytes(char **list, size_t *room, size_t *used, const void *bytes, size_t size);

/* Sort items of `size` bytes, each of which begins with a pointer to a text, by the texts' bytes.
 */
void list_sort(void *list, size_t count, size_t size);

/* Find an item with this text in a sorted list; NULL: there is none. */
void *list_find(const char *text, void *list, size_t count, size_t size);

#endif
