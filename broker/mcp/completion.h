/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that an argument of a prompt or a variable of a resource's URI may have, for people who
 * have begun to type one.
 */
#ifndef BROKER_MCP_COMPLETION_H
#define BROKER_MCP_COMPLETION_H

#include <stddef.h>

#include "mcp/request.h"

/* Where the values of a prompt's argument come from. */
enum completion_source {
	COMPLETION_NONE,
	COMPLETION_LANGUAGES, /* those installed */
	COMPLETION_PROFILES,
};

/* The values that are being collected. */
struct completion {
	const char *prefix; /* what has been typed */
	size_t prefix_size;
	struct json_writer *writer;
	size_t total;
};

/* One more value; left out when it begins otherwise. Whoever offers does not offer twice. */
void completion_offer(struct completion *completion, const char *value);

/* The method. */
void completion_complete(const struct request *request);

#endif
