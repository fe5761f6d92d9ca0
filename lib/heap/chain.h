/* SPDX-License-Identifier: Apache-2.0
 *
 * Items that are linked one to the next.
 */
#ifndef LIB_HEAP_CHAIN_H
#define LIB_HEAP_CHAIN_H

/* Take an item out of the chain that begins at `first`; `next` is the member with the next item. */
#define CHAIN_REMOVE(first, item, next)                                                            \
	do {                                                                                       \
		__typeof__(first) *chain_link = &(first);                                          \
                                                                                                   \
		while (*chain_link != (item))                                                      \
			chain_link = &(*chain_link)->next;                                         \
		*chain_link = (item)->next;                                                        \
	} while (0)

#endif
