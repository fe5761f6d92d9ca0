/* SPDX-License-Identifier: Apache-2.0
 *
 * The set-group-ID bit of directories, which says what group new files get. On a program it gives
 * the group's rights away, and a filter cannot tell the two apart: it refuses the bit, and who
 * answers for it sets the mode of a directory.
 */
#ifndef COMMON_CONFINE_DIRECTORY_MODE_H
#define COMMON_CONFINE_DIRECTORY_MODE_H

#include <linux/seccomp.h>

/*
 * Carry out chmod(2), fchmod(2) or fchmodat(2) of a process that waits for its answer, if it would
 * give a directory the set-group-ID bit: with the caller's own rights, which must be those of that
 * process. Return 0; -EPERM for every other call; else the kernel's -errno. Needs /proc.
 *
 * The kind is that of an open file, which cannot change: where the name leads meanwhile does not
 * matter. No name leads to a file that only the caller has open.
 */
int directory_mode_set(const struct seccomp_notif *call);

#endif
