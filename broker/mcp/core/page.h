/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists in pages. A cursor encodes the number of entries before it, in a form that clients do not
 * take for a number.
 */
#ifndef BROKER_MCP_CORE_PAGE_H
#define BROKER_MCP_CORE_PAGE_H

#include "mcp/core/request.h"

#define PAGE_ENTRIES 100U

/* Find where the requested page begins in a list of `count` entries. False: the cursor is invalid,
 * and the request has been refused. */
bool page_begin(const struct request *request, size_t count, size_t *ret_first);

/* Return where that page ends; the entries between the two have to be written. */
size_t page_end(size_t first, size_t count);

/* Write the cursor of the entries from `end` on, if there are any; call it after the entries. */
void page_put_cursor(struct json_writer *writer, size_t end, size_t count);

#endif
