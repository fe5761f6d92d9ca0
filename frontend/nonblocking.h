/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors on which a loop waits for nobody.
 */
#ifndef FRONTEND_NONBLOCKING_H
#define FRONTEND_NONBLOCKING_H

#include <stdbool.h>

/* Set or clear O_NONBLOCK; 0 or -errno. */
int fd_set_nonblocking(int fd, bool on);

#endif
