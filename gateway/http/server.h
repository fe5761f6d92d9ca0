/* SPDX-License-Identifier: Apache-2.0
 *
 * The server of one profile: its connections, which msp-egress hands over, and its secrets, which
 * the launcher does.
 */
#ifndef GATEWAY_HTTP_SERVER_H
#define GATEWAY_HTTP_SERVER_H

#include "common/plan.h"

/* Give up the system calls of the starter, and serve with the two channels of http_begin until one
 * of them ends. `plan` stays mapped. */
void server_run(int egress, int launcher, const struct plan *plan, uint32_t profile)
	__attribute__((noreturn));

#endif
