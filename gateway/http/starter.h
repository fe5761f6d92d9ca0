/* SPDX-License-Identifier: Apache-2.0
 *
 * The first process of msp-http: it forks the servers.
 */
#ifndef GATEWAY_HTTP_STARTER_H
#define GATEWAY_HTTP_STARTER_H

/* Fork a server for each http_begin, until msp-cable ends. */
void starter_run(void);

#endif
