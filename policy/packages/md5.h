/* SPDX-License-Identifier: Apache-2.0
 *
 * MD5 (RFC 1321), for one purpose: dpkg and ucf record it of the configuration that they install.
 * Only the machine's administrator writes files there, so a made collision is no danger.
 */
#ifndef POLICY_PACKAGES_MD5_H
#define POLICY_PACKAGES_MD5_H

#include <stddef.h>

#define MD5_DIGITS 32

/* Write the hash of the bytes as hexadecimal digits and a NUL. */
void md5_print(const void *bytes, size_t size, char ret[MD5_DIGITS + 1]);

#endif
