/* SPDX-License-Identifier: Apache-2.0
 *
 * Installs a system call filter that was built elsewhere.
 */
#ifndef COMMON_CONFINE_SECCOMP_H
#define COMMON_CONFINE_SECCOMP_H

#include <linux/filter.h>
#include <stdint.h>

/* Needs no_new_privs. 0 or -errno. It cannot be undone. */
int seccomp_install(const struct sock_filter *filter, uint32_t count);

#endif
