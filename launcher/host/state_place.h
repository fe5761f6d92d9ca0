/* SPDX-License-Identifier: Apache-2.0
 *
 * The state directory: MSP_STATE_DIR, or else ~/.local/state/msp, or else, for an account
 * without a home of its own, /var/lib/msp/UID. The audit log is in audit/ there, and beside it
 * the files of persistent sandboxes, the images and the virtual machines. All are directories of
 * the user alone.
 */
#ifndef LAUNCHER_HOST_STATE_PLACE_H
#define LAUNCHER_HOST_STATE_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/limits.h"

#define STATE_PLACE_TEXT_MAX IPC_LIST_MAX

/* The directory itself, and those in it. */
#define STATE_PLACE_ALL ""
#define STATE_PLACE_AUDIT "/audit"
#define STATE_PLACE_SANDBOXES "/sandboxes"
#define STATE_PLACE_IMAGES "/images"
#define STATE_PLACE_MACHINES "/vm"
#define STATE_PLACE_BINDS "/binds"

/* The path of one of them. False, and a phrase in `text`: there is no such place. */
bool state_place_find(const char *which, char ret[IPC_PATH_MAX], char text[STATE_PLACE_TEXT_MAX]);

/* The path of the images that a configuration names. As root: of the account that will be become,
 * unless the configuration itself names another one. False: there is no such place. */
bool state_place_images(char ret[IPC_PATH_MAX]);

/* The path of what is kept in memory alone, of an account that is not root. */
void state_place_memory(char ret[IPC_PATH_MAX]);

/* Open the directory at `path`; `is_made`: with what is missing of it, for us alone. A descriptor,
 * close-on-exec, or -errno with a phrase in `text`. */
int state_place_open(const char *path, bool is_made, char text[STATE_PLACE_TEXT_MAX]);

/* Find one of them and open it, as both do; `path` is its path. A descriptor, or -errno with a
 * phrase in `text`, -EINVAL where there is no such place. */
int state_place_enter(const char *which, bool is_made, char path[IPC_PATH_MAX],
		      char text[STATE_PLACE_TEXT_MAX]);

/* As root, before becoming this account: make /var/lib/msp/UID for it where it has no home of its
 * own. When that cannot be, state_place_open() will say so. */
void state_place_prepare(uid_t uid, gid_t gid, const char *home);

#endif
