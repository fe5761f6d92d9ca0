/* SPDX-License-Identifier: Apache-2.0
 *
 * URI templates of level 1 (RFC 6570): text with variables such as {id}, whose values
 * percent-encode every character but letters, digits, '-', '.', '_' and '~'; and, of level 2,
 * {+path}, which may contain '/' too.
 */
#ifndef BROKER_MCP_CORE_RESOURCE_URI_H
#define BROKER_MCP_CORE_RESOURCE_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/heap/buffer.h"

#define RESOURCE_VARIABLES_MAX 4
#define RESOURCE_VALUE_MAX 256 /* with the NUL */

/* The variables' values in the template's order, decoded; an empty value is not given. */
struct resource_values {
	char value[RESOURCE_VARIABLES_MAX][RESOURCE_VALUE_MAX];
};

/* Return true if `uri` fits the template. A value has at least one byte, is UTF-8, has no NUL and
 * fits its room. */
bool resource_uri_match(const char *uri_template, const char *uri, size_t size,
			struct resource_values *ret);

void resource_uri_expand(const char *uri_template, const struct resource_values *values,
			 struct buffer *ret);

/* Return the index of a variable by its name, or -1. */
int resource_uri_find(const char *uri_template, const char *name, size_t size);

bool resource_uri_has_variables(const char *uri_template);

#endif
