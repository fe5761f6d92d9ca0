/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON on a descriptor, a value on each line. It leaves in pieces, while it is written.
 */
#ifndef CLI_SHOW_JSON_H
#define CLI_SHOW_JSON_H

#include "frontend/json_write.h"

struct json_output {
	struct json_writer writer; /* first */
	struct buffer pending;
	int fd;
	int error; /* the first failure to write, -errno */
};

/* Begin to write to `fd`, which stays the caller's. */
void json_begin(struct json_output *output, int fd);

/* Write a newline and everything to the descriptor, and free the memory; 0 or the first -errno. */
int json_finish(struct json_output *output);

#endif
