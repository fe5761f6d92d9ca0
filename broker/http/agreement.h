/* SPDX-License-Identifier: Apache-2.0
 *
 * Which era a POST is of, and whether its headers say what its body says. The modern era repeats
 * parts of the body in headers, for what is between client and server to go by; a server that let
 * the two differ would do something else than what was let through.
 */
#ifndef BROKER_HTTP_AGREEMENT_H
#define BROKER_HTTP_AGREEMENT_H

#include "http/http.h"
#include "mcp/message.h"

enum agreement {
	AGREEMENT_LEGACY,
	AGREEMENT_MODERN,
	AGREEMENT_NONE, /* it is refused: see struct disagreement */
};

struct disagreement {
	enum rpc_code code;
	struct buffer text; /* for buffer_done() */
};

enum agreement agreement_find(const struct inbound *inbound, const struct json_document *document,
			      const struct message *message, struct disagreement *ret);

#endif
