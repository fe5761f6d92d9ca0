/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tree looks like from inside. Static storage of each function until its next call.
 */
#ifndef UNIT_CHILD_INIT_LOOK_H
#define UNIT_CHILD_INIT_LOOK_H

#include <stdbool.h>
#include <sys/types.h>

/* The names in a directory, sorted, with a space between; "?" when it cannot be read. */
const char *look_list(const char *path);

/* Does the directory hold exactly these? */
bool look_holds(const char *path, const char *names);

/* Does the file say exactly this? */
bool look_says(const char *path, const char *text);

/* Type and mode of a name, no link followed; 0: it is not there. */
mode_t look_mode(const char *path);

/* errno of making a new file there; 0 when it was made. */
int look_create(const char *path);

/* errno of opening a file to write; 0 when it can be. */
int look_write(const char *path);

/* errno of making a read-only mount writable again; 0 when that works. */
int look_remount(const char *path);

/* Has the mount at the path all of these ST_... flags? */
bool look_flags(const char *path, unsigned long flags);

/* A folder of the host with something of each kind in it, for the sources of records:
 *   file ("of the host"), folder/ (inner ("inner text"), sub/ (deep)), link -> folder
 * Returns its path. */
const char *look_folder_make(void);
void look_folder_remove(void);

/* A path in that folder. Static storage for a few calls. */
const char *look_folder(const char *name);

#endif
