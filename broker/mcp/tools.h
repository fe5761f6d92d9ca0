/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools: one row each, with a table of parameters that is both the schema that clients see and
 * the check that arguments pass.
 */
#ifndef BROKER_MCP_TOOLS_H
#define BROKER_MCP_TOOLS_H

#include <stdint.h>

#include "mcp/host.h"
#include "mcp/request.h"
#include "json/read.h"
#include "json/write.h"

#define TOOL_PARAMS_MAX 13

/* A number as the JSON that is published. */
#define TEXT_OF(number) TEXT_OF_EXPANDED(number)
#define TEXT_OF_EXPANDED(number) #number

/* The longest that a call waits: below the minute after which many clients give up. */
#define WAIT_MS_MAX 55000
#define WAIT_MS_DEFAULT 10000

enum param_kind {
	PARAM_TEXT,    /* a string without NUL, for the kernel to take */
	PARAM_BYTES,   /* a string that may hold anything */
	PARAM_LIST,    /* an array of TEXT */
	PARAM_MAP,     /* an object of TEXT by name */
	PARAM_INTEGER, /* from `minimum` to `maximum` */
	PARAM_BOOLEAN,
	PARAM_NAME, /* one of `names`, or of the posture's */
};

/* Where the names come from that a NAME may be. A language may also be one that is not published,
 * an alias or another profile's; the supervisor, which is asked anyway, knows. */
enum param_names {
	NAMES_FIXED, /* those of the table */
	NAMES_PROFILES,
	NAMES_LANGUAGES,
};

/* One parameter: what is published is what is checked. */
struct tool_param {
	const char *name;
	enum param_kind kind;
	bool is_required;
	enum param_names source;
	const char *const *names; /* ends with NULL */
	uint32_t bytes_max; /* of a TEXT or BYTES, of all of a LIST or MAP with a NUL after each */
	int64_t minimum;
	int64_t maximum;
	const char *standard; /* what holds when it is left out, as JSON; NULL: nothing to say */
	const char *description;
};

struct call;

struct tool {
	const char *name;
	const char *title;
	const char *description;
	const struct tool_param *params;
	size_t param_count;
	const char *schema; /* JSON, in place of params: the handler is given the arguments as they
			     * came, an object or NULL, in values[0] */
	unsigned int needs; /* what the client has to be able to (enum ability) */
	bool may_ask;       /* see ask.h */
	bool is_read_only, is_destructive, is_idempotent, is_open_world;
	bool is_destructive_here; /* ... where a profile lets a sandbox work on the host's files */
	/* Arguments have been checked; `values` has one place per parameter, NULL: not given. */
	void (*handler)(struct call *call, const struct json_document *document,
			struct json_value *const *values);
};

/* The name number `index` that a NAME may be, in *ret_size bytes; NULL beyond the last. */
const char *tool_param_name(const struct tool_param *param, const struct posture *posture,
			    size_t index, size_t *ret_size);

/* The tool that the host offers under this name; NULL: none. */
const struct tool *tools_find(const struct host *host, struct json_value *name);

/* The methods. */
void tools_list(const struct request *request);
void tools_call(const struct request *request);

/*
 * Check `arguments` (an object, or NULL for none) and sort them into `ret_values`, strings decoded.
 * False when they do not fit; the reason with the remedy is appended to `ret_problem`.
 */
bool tool_take_arguments(const struct tool *tool, const struct posture *posture,
			 const struct json_document *document, struct json_value *arguments,
			 struct json_value *ret_values[TOOL_PARAMS_MAX],
			 struct buffer *ret_problem);

/* Values of checked arguments: an INTEGER or the number that holds without it; a BOOLEAN, false
 * without it. */
int64_t tool_integer(const struct json_value *value, int64_t otherwise);
bool tool_boolean(const struct json_value *value);

#endif
