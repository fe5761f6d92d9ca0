/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the audit log is: audit/ in MSP_STATE_DIR, or else in ~/.local/state/msp, or else, for an
 * account without a home of its own, in /var/lib/msp/UID. It is a directory of the user alone.
 */
#ifndef CLI_AUDIT_PLACE_H
#define CLI_AUDIT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/limits.h"

#define AUDIT_PLACE_TEXT_MAX IPC_LIST_MAX

/* Its path. False, and a phrase in `text`: there is no such place. */
bool audit_place_find(char ret[IPC_PATH_MAX], char text[AUDIT_PLACE_TEXT_MAX]);

/* Open the directory at `path`; `is_made`: with what is missing of it, for us alone. A descriptor,
 * close-on-exec, or -errno with a phrase in `text`. */
int audit_place_open(const char *path, bool is_made, char text[AUDIT_PLACE_TEXT_MAX]);

/* As root, before becoming this account: make /var/lib/msp/UID for it where it has no home of its
 * own. When that cannot be, audit_place_open() will say so. */
void audit_place_prepare(uid_t uid, gid_t gid, const char *home);

#endif
