/* SPDX-License-Identifier: Apache-2.0
 *
 * The name servers in the text of a resolv.conf(5).
 */
#ifndef GATEWAY_DIAL_RESOLV_CONF_H
#define GATEWAY_DIAL_RESOLV_CONF_H

#include <stddef.h>

/* Three servers, as resolv.conf(5) has at most. */
#define SERVERS_TEXT_MAX 192U

/* Read the text of a resolv.conf. Without a server in it, it is 127.0.0.1, as resolv.conf(5)
 * says. */
void resolv_conf_read(const char *text, size_t size, char ret[SERVERS_TEXT_MAX]);

#endif
