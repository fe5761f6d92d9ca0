/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of kernels' versions, as `uname -r` says them.
 */
#ifndef LAUNCHER_HOST_KERNEL_VERSION_H
#define LAUNCHER_HOST_KERNEL_VERSION_H

/* Compare two versions: negative if the left one is older, 0 if neither is. Numbers count as such,
 * "~" and "-rc" come before a release, and "+", as of "+deb13", after it. */
int kernel_version_compare(const char *left, const char *right);

#endif
