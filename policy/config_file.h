/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the operator's file, once it is sure that it is the operator's.
 */
#ifndef POLICY_CONFIG_FILE_H
#define POLICY_CONFIG_FILE_H

#include "policy/buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Append what the file at `path` holds to `ret`, or a little more than SOURCE_BYTES_MAX of it, with
 * a NUL behind. It has to be a regular file of the caller's or root's that nobody else can write.
 * 0, or -1 with *error set.
 */
int config_file_read(const char *path, struct buffer *ret, struct policy_error *error);

/* What is wrong with such a file for `caller`: a sentence with the remedy, or NULL. */
const char *config_file_problem(mode_t mode, uid_t owner, uid_t caller);

#endif
