/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a workspace as lines and as JSON.
 */
#ifndef CLI_SHOW_CHANGE_TEXT_H
#define CLI_SHOW_CHANGE_TEXT_H

#include <stdbool.h>

#include "frontend/changes.h"
#include "show/json.h"

struct ipc_changes_done;

/* The path as git writes it, with a slash behind a directory's. Valid until the next call. */
const char *change_path(const struct change *change);

/* Return the path, and behind a symbolic link's " -> " and its target. Valid until the next call.
 */
const char *change_name(const struct change *change);

/* A line: letter, path, and in brackets what is to be known of it. */
void change_print_line(const struct change *change);

/* An object with all that is known; the patch only with `has_patch`. */
void change_write(struct json_writer *json, const struct change *change, bool has_patch);

/* The changes are others than those that were shown: say so. The exit code. */
int change_explain_others(void);

/* Explain an error in a line on stderr. Return the exit code, 0 for no error. */
int change_explain_error(const struct ipc_changes_done *done);

#endif
