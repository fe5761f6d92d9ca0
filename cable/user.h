/* SPDX-License-Identifier: Apache-2.0
 *
 * The factory's user namespace, from a routing socket of one of its sandboxes.
 */
#ifndef CABLE_USER_H
#define CABLE_USER_H

/*
 * Enter the user namespace above the one that owns the socket's network, and a new network
 * namespace of it. The kernel lets its maker enter, who has every capability in it. 0 with a
 * descriptor of the new network namespace in *ret_home, or -errno.
 */
int user_enter(int sandbox, int *ret_home);

#endif
