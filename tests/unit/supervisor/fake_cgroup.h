/* SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary directory that stands for a delegated cgroup: a directory made in it has the files
 * of the controllers, as the kernel would make them.
 */
#ifndef UNIT_SUPERVISOR_FAKE_CGROUP_H
#define UNIT_SUPERVISOR_FAKE_CGROUP_H

#include <stddef.h>

/* Make it; returns its descriptor. */
int fake_cgroup_open(void);

/* Remove it and all in it. */
void fake_cgroup_close(void);

/* A file that directories made from now on do not have; NULL: they have all. */
void fake_cgroup_lacks(const char *file);

/* A file that takes what is written and keeps nothing of it, from now on. */
void fake_cgroup_is_deaf(const char *file);

/* Directories made from now on have no files at all. */
void fake_cgroup_is_bare(void);

/* Let the file "s0/..." say something. */
void fake_cgroup_say(const char *path, const char *text);

/* What a file says. Static storage until the next call. */
const char *fake_cgroup_hear(const char *path);

/* Remove the controllers' files of a directory, which can be removed then, as in a cgroup. */
void fake_cgroup_clear(const char *path);

/* Is there a file or directory with this name? */
int fake_cgroup_has(const char *path);

#endif
