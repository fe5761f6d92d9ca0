/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks that a request passes before anybody looks at its content, in order; the first that
 * fails is the answer.
 */
#ifndef BROKER_HTTP_LADDER_H
#define BROKER_HTTP_LADDER_H

#include "http/http.h"

/* Fills in who it is. False: it has been refused. */
bool ladder_pass(struct inbound *inbound);

/* Refuse with a JSON-RPC error that belongs to no request. */
void inbound_refuse(const struct inbound *inbound, int status, const char *text);

#endif
