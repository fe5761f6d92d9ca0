/* SPDX-License-Identifier: Apache-2.0
 *
 * Suggestions for an argument of a prompt or a variable of a resource's URI, for people who have
 * begun to type.
 */
#ifndef BROKER_MCP_PROMPTS_COMPLETION_H
#define BROKER_MCP_PROMPTS_COMPLETION_H

#include <stddef.h>

#include "mcp/core/request.h"

/* Sources of the values of a prompt's argument. */
enum completion_source {
	COMPLETION_NONE,
	COMPLETION_LANGUAGES, /* installed languages */
	COMPLETION_PROFILES,
};

/* The values that are being collected. */
struct completion {
	const char *prefix; /* the typed text */
	size_t prefix_size;
	struct json_writer *writer;
	size_t total;
};

/* Offer a value; it is left out unless it begins with the prefix. Callers offer no value twice. */
void completion_offer(struct completion *completion, const char *value);

/* Answer completion/complete. */
void completion_complete(const struct request *request);

#endif
