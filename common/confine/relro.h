/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of a program that is written while it is relocated, and never again.
 */
#ifndef COMMON_CONFINE_RELRO_H
#define COMMON_CONFINE_RELRO_H

/*
 * Make that part read-only, as the dynamic loader does. A static program has none, and musl's
 * start-up leaves its tables of functions writable. What is cloned from the caller is protected
 * too. 0 or -errno.
 */
int relro_protect(void);

#endif
