/* SPDX-License-Identifier: Apache-2.0
 *
 * Read the operator's file, after a check that nobody else can have written it.
 */
#ifndef POLICY_READ_CONFIG_FILE_H
#define POLICY_READ_CONFIG_FILE_H

#include "lib/heap/buffer.h"
#include "policy/read/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Append the file at `path` to `ret`, at most a little more than SOURCE_BYTES_MAX, with a NUL
 * behind. It must be a regular file that the caller or root owns and nobody else can write.
 * 0, or -1 with *error set.
 */
int config_file_read(const char *path, struct buffer *ret, struct policy_error *error);

/* Return why `caller` must not trust the file: a sentence with the remedy, or NULL. */
const char *config_file_problem(mode_t mode, uid_t owner, uid_t caller);

#endif
