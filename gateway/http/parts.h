/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of msp-http, and the piece of work that has no connection, one file each.
 */
#ifndef GATEWAY_HTTP_PARTS_H
#define GATEWAY_HTTP_PARTS_H

#include <stdbool.h>

#include "common/plan/plan.h"

/* The first process: fork a server for each http_begin, until msp-cable ends. */
void starter_run(void);

/*
 * The server of one profile: its connections, which msp-egress hands over, and its secrets, which
 * the launcher does. Give up the system calls of the starter, and serve with the two channels of
 * http_begin until one of them ends. `plan` stays mapped.
 */
void server_run(int egress, int launcher, const struct plan *plan, uint32_t profile)
	__attribute__((noreturn));

/* Write the certificates of a file in PEM to another file, in the form that programs of Java read
 * (JKS), which know no other list, with their usual password, "changeit": it is no secret. False:
 * they cannot be read or written. */
bool java_write_keystore(int certificates, int keystore);

#endif
