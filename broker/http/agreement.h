/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the era of a POST, and compares its headers with its body. The modern era repeats parts of
 * the body in headers, which proxies between client and server rely on; a server that let the two
 * differ would do something else than the proxy let through.
 */
#ifndef BROKER_HTTP_AGREEMENT_H
#define BROKER_HTTP_AGREEMENT_H

#include "http/http.h"
#include "mcp/core/message.h"

enum agreement {
	AGREEMENT_LEGACY,
	AGREEMENT_MODERN,
	AGREEMENT_NONE, /* refused: see struct disagreement */
};

struct disagreement {
	enum rpc_code code;
	struct buffer text; /* the caller frees it with buffer_done() */
};

enum agreement agreement_find(const struct inbound *inbound, const struct json_document *document,
			      const struct message *message, struct disagreement *ret);

#endif
