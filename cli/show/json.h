/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON on a descriptor, a value on each line. It leaves in pieces, while it is written. msp writes
 * one JSON text at a time.
 */
#ifndef CLI_SHOW_JSON_H
#define CLI_SHOW_JSON_H

#include "frontend/json_write.h"

/* Begin to write to `fd`, which stays the caller's. */
struct json_writer *json_begin(int fd);

/* Begin an object on standard output. */
struct json_writer *json_begin_object(void);

/* Close that object, write a newline and everything to the descriptor, and free the memory; 0 or
 * the first -errno. */
int json_finish(void);

#endif
