/* SPDX-License-Identifier: Apache-2.0
 *
 * The system call filter of an HTTP server. It is in a file of its own because the headers that
 * the lists become have the same names in them.
 */
#ifndef BROKER_CONFINE_HTTP_H
#define BROKER_CONFINE_HTTP_H

/* 0 or -errno. */
int confine_install_http_filter(void);

#endif
