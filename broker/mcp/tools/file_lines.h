/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of a sandbox as a text for a model: its lines with their numbers, or what a binary file
 * is.
 */
#ifndef BROKER_MCP_TOOLS_FILE_LINES_H
#define BROKER_MCP_TOOLS_FILE_LINES_H

#include "mcp/core/file_job.h"

/* Put the lines of the answer from number `first` on, at most `limit` of them and `room` bytes of
 * text, and a last line that says which they are and how to go on. False: the answer is none. */
bool file_lines_put(const struct file_job *job, uint64_t first, uint64_t limit, size_t room,
		    struct buffer *text);

/* Put one line about a file that is neither text nor an image. */
void file_lines_put_binary(const struct file_job *job, struct buffer *text);

#endif
