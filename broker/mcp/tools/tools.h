/* SPDX-License-Identifier: Apache-2.0
 *
 * The tools: one row each, with a table of parameters that is both the published schema and the
 * check of arguments.
 */
#ifndef BROKER_MCP_TOOLS_TOOLS_H
#define BROKER_MCP_TOOLS_TOOLS_H

#include <stdint.h>

#include "frontend/json_write.h"
#include "lib/json/read.h"
#include "mcp/core/host.h"
#include "mcp/core/request.h"

/* A number as the JSON that is published. */
#define TEXT_OF(number) TEXT_OF_EXPANDED(number)
#define TEXT_OF_EXPANDED(number) #number

/* The longest wait of a call: below the minute after which many clients give up. */
#define WAIT_MS_MAX 55000
#define WAIT_MS_DEFAULT 10000

enum param_kind {
	PARAM_TEXT,    /* a string without NUL, for the kernel */
	PARAM_BYTES,   /* a string with any content */
	PARAM_LIST,    /* an array of TEXT */
	PARAM_MAP,     /* an object of TEXT by name */
	PARAM_INTEGER, /* from `minimum` to `maximum` */
	PARAM_BOOLEAN,
	PARAM_NAME, /* one of `names`, or of the posture's */
};

/* Source of the names that a NAME allows. A language may also be unpublished, an alias or another
 * profile's: the supervisor decides. */
enum param_names {
	NAMES_FIXED, /* `names` of the table */
	NAMES_PROFILES,
	NAMES_LANGUAGES,
};

/* A larger maximum is checked but not published: no client reaches it by mistake, and each session
 * of a model pays for the schemas. So are minimums, which are 0 or 1. */
#define PUBLISHED_MAX 60000

/* One parameter: the schema is the check. */
struct tool_param {
	const char *name;
	enum param_kind kind;
	bool is_required;
	enum param_names source;
	bool is_unlisted;         /* another tool's schema lists the names */
	bool is_for_hosts;        /* published where a profile has hosts */
	const char *const *names; /* ends with NULL */
	uint32_t bytes_max; /* bound of a TEXT or BYTES; of all strings of a LIST or MAP with a NUL
			       after each */
	int64_t minimum;
	int64_t maximum;
	const char *if_empty; /* refuses "" or []: the sentence behind "is empty"; NULL: allowed */
	const char *standard; /* default value, as JSON; NULL: none is published */
	const char *description; /* NULL: the name, and the tool's description, say it */
	/* Append what the policy adds to the description; NULL: nothing. */
	void (*describe)(struct buffer *text, const struct host *host);
};

/* The rows of a tool, and their number. */
#define TOOL_PARAMS(rows) .params = (rows), .param_count = sizeof(rows) / sizeof((rows)[0])

struct call;

struct tool {
	const char *name;
	const char *title;
	const char *description;
	const char *description_hosts; /* if a profile has hosts; NULL: the same one */
	const struct tool_param *params;
	size_t param_count;
	const char *schema; /* JSON, in place of params: the handler is given the arguments as they
			       came, an object or NULL, in values[0] */
	unsigned int needs; /* abilities that the client must have (enum ability) */
	bool may_ask;       /* see ask.h */
	bool is_read_only, is_destructive, is_idempotent, is_open_world;
	bool is_destructive_here; /* ... if a profile lets a sandbox work on the host's files */
	bool is_open_world_here;  /* ... if a profile has hosts */
	/* Return whether the policy gives it a use; NULL: it is always offered. */
	bool (*is_offered)(const struct host *host);
	/* Handle a call. Arguments have been checked; `values` has one entry per parameter, NULL:
	 * not given. */
	void (*handler)(struct call *call, const struct json_document *document,
			struct json_value *const *values);
};

#define TOOL(name) extern const struct tool tool_##name;
#include "mcp/tools/tools.def"
#undef TOOL

/* Return the name at `index` that a NAME allows, in *ret_size bytes; NULL beyond the last. */
const char *tool_param_name(const struct tool_param *param, const struct posture *posture,
			    size_t index, size_t *ret_size);

/* Find the tool that the host offers under this name; NULL: none. */
const struct tool *tools_find(const struct host *host, struct json_value *name);

/* Return whether the policy gives a parameter a sense. */
bool tool_param_is_published(const struct tool_param *param, const struct posture *posture);

/* Answer tools/list and tools/call. */
void tools_list(const struct request *request);
void tools_call(const struct request *request);

/* Check `arguments` (an object, or NULL for none) and sort them into `ret_values`, which are NULL,
 * strings decoded.
 * False: they do not fit, and the reason with the remedy is appended to `ret_problem`. */
bool tool_take_arguments(const struct tool *tool, const struct host *host,
			 const struct json_document *document, struct json_value *arguments,
			 struct json_value **ret_values, struct buffer *ret_problem);

/* Return the value of a checked argument: an INTEGER, or `otherwise` without it; a BOOLEAN, false
 * without it. */
int64_t tool_integer(const struct json_value *value, int64_t otherwise);
bool tool_boolean(const struct json_value *value);

/* Return the index of a checked NAME in the names of its table; 0 without it. */
uint32_t tool_name_index(struct json_value *value, const char *const *names);

/* Copy a checked string with a NUL into a room, which its table's bound fits; "" without it. */
void tool_copy_text(const struct json_value *value, char *room, size_t size);

#endif
