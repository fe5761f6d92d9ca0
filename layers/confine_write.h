/* SPDX-License-Identifier: Apache-2.0
 *
 * The system call filter of jobs that write. It is in a file of its own because the headers that
 * the lists become have the same names in them.
 */
#ifndef LAYERS_CONFINE_WRITE_H
#define LAYERS_CONFINE_WRITE_H

/* 0 or -errno. */
int confine_install_write_filter(void);

#endif
