/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine's name servers, from /etc/resolv.conf. A process of its own reads the file, again for
 * each question, and has no network; the caller has a network and no file.
 */
#ifndef GATEWAY_DIAL_SERVERS_H
#define GATEWAY_DIAL_SERVERS_H

#include <stdbool.h>

#include "gateway/dial/resolv_conf.h"

/* Start the process that reads. Ends the caller where that fails. */
void servers_start(void);

/* End it, and wait for its end. */
void servers_end(void);

/* Ask it for the servers, as "192.0.2.1,[2001:db8::1]". False: it gave no answer in time,
 * or the file cannot be read now. */
bool servers_ask(char ret[SERVERS_TEXT_MAX]);

#endif
