/* SPDX-License-Identifier: Apache-2.0
 *
 * The system call filter of an HTTP server, in a file of its own because the headers made from the
 * two lists define the same names.
 */
#ifndef BROKER_CONFINE_HTTP_H
#define BROKER_CONFINE_HTTP_H

/* Install the filter. 0 or -errno. */
int confine_install_http_filter(void);

#endif
