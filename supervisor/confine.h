/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's confinement of itself, once the factory runs.
 */
#ifndef SUPERVISOR_CONFINE_H
#define SUPERVISOR_CONFINE_H

/* no_new_privs, not dumpable, no capabilities, Landlock of this ABI with nothing but the directory
 * of the cgroups (-1: there is none), the own system call list. 0 or -errno. */
int confine_supervisor(int cgroup, int abi);

#endif
