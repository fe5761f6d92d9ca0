/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools: one row each, with a table of parameters that is both the schema that clients see and
 * the check that arguments pass.
 */
#ifndef BROKER_MCP_TOOLS_H
#define BROKER_MCP_TOOLS_H

#include <stdint.h>

#include "json_read.h"
#include "json_write.h"
#include "mcp/host.h"
#include "mcp/request.h"

#define TOOL_PARAMS_MAX 8

enum param_kind {
	PARAM_TEXT,         /* a string without NUL, for the kernel to take */
	PARAM_BYTES,        /* a string that may hold anything */
	PARAM_LIST,         /* an array of TEXT */
	PARAM_MAP,          /* an object of TEXT by name */
	PARAM_MILLISECONDS, /* an integer, at least 1 */
};

enum param_names {
	NAMES_NONE,
	NAMES_PROFILES,  /* the description ends with the profiles there are */
	NAMES_LANGUAGES, /* the same with the installed languages */
};

struct tool_param {
	const char *name;
	enum param_kind kind;
	bool is_required;
	enum param_names names;
	uint32_t bytes_max; /* of a TEXT or BYTES, of all of a LIST or MAP with a NUL after each */
	const char *description;
};

struct call;

struct tool {
	const char *name;
	const char *title;
	const char *description;
	const struct tool_param *params;
	size_t param_count;
	bool is_read_only, is_destructive, is_idempotent, is_open_world;
	/* Arguments have been checked; `values` has one place per parameter, NULL: not given. */
	void (*handler)(struct call *call, const struct json_document *document,
			struct json_value *const *values);
};

/* The methods. */
void tools_list(const struct request *request);
void tools_call(const struct request *request);

/*
 * Check `arguments` (an object, or NULL for none) and sort them into `ret_values`, strings decoded.
 * False when they do not fit; the reason with the remedy is appended to `ret_problem`.
 */
bool tool_take_arguments(const struct tool *tool, const struct json_document *document,
			 struct json_value *arguments,
			 struct json_value *ret_values[TOOL_PARAMS_MAX],
			 struct buffer *ret_problem);

#endif
