/* SPDX-License-Identifier: Apache-2.0
 *
 * Abilities of a client: the capabilities that it declares, once in `initialize` or with each
 * request of the modern era.
 */
#ifndef BROKER_MCP_CORE_ABILITY_H
#define BROKER_MCP_CORE_ABILITY_H

#include "frontend/json_write.h"
#include "lib/json/read.h"

/* Bits of a set. */
enum ability {
	ABILITY_ELICITATION = 1, /* ask the user with a form */
	ABILITY_SAMPLING = 2,    /* ask the client's model */
	ABILITY_ROOTS = 4,
	ABILITY_TASKS = 8, /* the extension: poll for the result of a call */
};

#define TASKS_EXTENSION "io.modelcontextprotocol/tasks"

/* Return the set that a capabilities object (NULL: none) declares. */
unsigned int ability_read(const struct json_document *document,
			  const struct json_value *capabilities);

/* Write a capabilities object that declares the set. */
void ability_put(struct json_writer *writer, const char *key, unsigned int abilities);

/* Return the name, for a sentence, of the lowest ability in the set. */
const char *ability_name(unsigned int abilities);

#endif
