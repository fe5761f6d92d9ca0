/* SPDX-License-Identifier: Apache-2.0
 *
 * A new policy, compiled by the part of the launcher that stays.
 */
#ifndef SUPERVISOR_FRONT_RELOAD_H
#define SUPERVISOR_FRONT_RELOAD_H

/* Hear the launcher on `fd`, which is taken. 0 or -errno. */
int reload_keep_launcher(int fd);

/* Ask for a new policy. What is wrong is said in a line, and nothing has changed then. */
void reload_policy(void);

#endif
