/* SPDX-License-Identifier: Apache-2.0
 *
 * Home directories of accounts, without the C library's name services, which would need sockets.
 */
#ifndef LAUNCHER_GIT_HOME_H
#define LAUNCHER_GIT_HOME_H

/* Say what the account database has for our own account, which others have asked; "": nothing. */
void home_set_own(const char *path);

/* Return that, for NULL, or the home directory that /etc/passwd has for an account; NULL: none. */
const char *home_listed(const char *name);

#endif
