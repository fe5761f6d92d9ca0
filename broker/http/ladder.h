/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks before the content of a request is read, in order; the first failure is the answer.
 */
#ifndef BROKER_HTTP_LADDER_H
#define BROKER_HTTP_LADDER_H

#include "http/http.h"

/* Pass the checks and fill in the principal. False: the request was refused. */
bool ladder_pass(struct inbound *inbound);

/* Refuse with a JSON-RPC error without a request id. */
void inbound_refuse(const struct inbound *inbound, int status, const char *text);

#endif
