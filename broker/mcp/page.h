/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists that are handed out in pages. A cursor is the number of entries before it, in a form that
 * clients do not take for one.
 */
#ifndef BROKER_MCP_PAGE_H
#define BROKER_MCP_PAGE_H

#include "mcp/request.h"

#define PAGE_ENTRIES 100U

/* Where the page begins that is asked for, in a list of `count` entries. False: the cursor is none
 * of ours, and the request has been refused. */
bool page_begin(const struct request *request, size_t count, size_t *ret_first);

/* Where that page ends; between the two lie the entries to write. */
size_t page_end(size_t first, size_t count);

/* After the entries: say how to get those from `end` on, if there are any. */
void page_put_cursor(struct json_writer *writer, size_t end, size_t count);

#endif
