/* SPDX-License-Identifier: Apache-2.0
 *
 * The factory's user namespace, from a routing socket of one of its sandboxes.
 */
#ifndef GATEWAY_CABLE_USER_H
#define GATEWAY_CABLE_USER_H

/* Return a descriptor of the socket's network namespace, or -errno. */
int user_network(int socket);

/* Enter the user namespace above the one that owns the socket's network. The kernel lets its maker
 * enter, who has every capability in it. 0; or -errno, and the caller is where it was. */
int user_enter(int sandbox);

/* Enter a new network namespace of that. 0 with a descriptor of it in *ret_home, or -errno. */
int user_make_home(int *ret_home);

#endif
