/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters that several tools have: one row each, and a tool names the rows that it takes.
 * A row's text is an argument only where the tools mean different things by the value.
 */
#ifndef BROKER_MCP_TOOLS_PARAMS_H
#define BROKER_MCP_TOOLS_PARAMS_H

#include "mcp/core/chosen_paths.h"
#include "mcp/tools/tools.h"

/* A persistent sandbox that the tool is about; its value fits IPC_NAME_MAX. */
#define ROW_SANDBOX                                                                                \
	{                                                                                          \
		.name = "sandbox", .kind = PARAM_TEXT, .is_required = true,                        \
		.bytes_max = IPC_NAME_MAX - 1, .if_empty = SANDBOX_IF_EMPTY,                       \
		.description = "Its id or name."                                                   \
	}
#define SANDBOX_IF_EMPTY ", but must be a sandbox's id or name. list_sandboxes shows them."

/* An execution. The bound is above a handle's length, so that longer values are reported as unknown
 * handles. */
#define ROW_HANDLE                                                                                 \
	{                                                                                          \
		.name = "handle", .kind = PARAM_TEXT, .is_required = true, .bytes_max = 64         \
	}

/* A profile; create_sandbox lists them with their descriptions. */
#define ROW_PROFILE(text)                                                                          \
	{                                                                                          \
		.name = "profile", .kind = PARAM_NAME, .source = NAMES_PROFILES,                   \
		.is_unlisted = true, .bytes_max = IPC_NAME_MAX, .description = (text)              \
	}

/* A network that is narrower than the profile's. */
#define ROW_NETWORK(text)                                                                          \
	{                                                                                          \
		.name = "network", .kind = PARAM_NAME, .names = params_networks,                   \
		.is_for_hosts = true, .description = (text)                                        \
	}
extern const char *const params_networks[];

/* Append each profile with its description. */
void params_describe_profiles(struct buffer *text, const struct host *host);

/* A name that the client gives. */
#define ROW_NAME(text)                                                                             \
	{                                                                                          \
		.name = "name", .kind = PARAM_TEXT, .bytes_max = IPC_NAME_MAX - 1,                 \
		.description = (text)                                                              \
	}

/* A checkpoint by its number or name. */
#define ROW_CHECKPOINT(called, text)                                                               \
	{                                                                                          \
		.name = (called), .kind = PARAM_TEXT, .bytes_max = IPC_NAME_MAX - 1,               \
		.description = (text)                                                              \
	}

/* Read a checked value of it (NULL: not given, and nothing is set): a text of digits is a number,
 * any other the name `ret_name`. False: it is neither, and the call has failed
 * (tool_checkpoint.c). */
bool checkpoints_take(struct call *call, const struct json_value *value, uint32_t *ret_number,
		      char ret_name[IPC_NAME_MAX]);

/* A file or directory of a sandbox. */
#define ROW_PATH(required, text)                                                                   \
	{                                                                                          \
		.name = "path", .kind = PARAM_TEXT, .is_required = (required),                     \
		.bytes_max = IPC_PATH_MAX - 1, .if_empty = PATH_IF_EMPTY, .description = (text)    \
	}
#define PATH_IF_EMPTY                                                                              \
	". Give a path such as src/main.c, relative to /workspace, or an absolute one."
#define PATH_TEXT "Relative to /workspace, or absolute."

/* Paths of the workspace to which the tool is limited. */
#define ROW_PATHS                                                                                  \
	{                                                                                          \
		.name = "paths", .kind = PARAM_LIST, .bytes_max = CHOSEN_PATHS_BYTES,              \
		.if_empty = PATHS_IF_EMPTY,                                                        \
		.description = "Relative to /workspace; all if omitted."                           \
	}
#define PATHS_IF_EMPTY ". Leave it out to mean all changes."

/* How the content of a file is given. */
#define ROW_ENCODING(text)                                                                         \
	{                                                                                          \
		.name = "encoding", .kind = PARAM_NAME, .names = param_encodings,                  \
		.standard = "\"text\"", .description = (text)                                      \
	}
extern const char *const param_encodings[];

/* The part of a long answer: `offset` counts from 0, `limit` from 1. */
#define OFFSET_OF_ENTRIES_MAX 1000000000
#define OFFSET_OF_BYTES_MAX 9007199254740991
#define ROW_OFFSET(most, otherwise, text)                                                          \
	{                                                                                          \
		.name = "offset", .kind = PARAM_INTEGER, .maximum = (most),                        \
		.standard = (otherwise), .description = (text)                                     \
	}
#define ROW_LIMIT(called, most, otherwise, text)                                                   \
	{                                                                                          \
		.name = (called), .kind = PARAM_INTEGER, .minimum = 1, .maximum = (most),          \
		.standard = TEXT_OF(otherwise), .description = (text)                              \
	}

/* A time for which the call waits. */
#define ROW_WAIT(called, otherwise, text)                                                          \
	{                                                                                          \
		.name = (called), .kind = PARAM_INTEGER, .maximum = WAIT_MS_MAX,                   \
		.standard = TEXT_OF(otherwise), .description = (text)                              \
	}

/* A side of a terminal, or a port; `otherwise` is JSON, or NULL. */
#define ROW_UINT16(called, otherwise, text)                                                        \
	{                                                                                          \
		.name = (called), .kind = PARAM_INTEGER, .minimum = 1, .maximum = UINT16_MAX,      \
		.standard = (otherwise), .description = (text)                                     \
	}

#define ROW_FLAG(called, otherwise, text)                                                          \
	{                                                                                          \
		.name = (called), .kind = PARAM_BOOLEAN, .standard = (otherwise),                  \
		.description = (text)                                                              \
	}

/* --- the tools that run something ------------------------------------------------------------- */

/* Bound of a stdin: the length of a line. */
#define STDIN_BYTES_MAX (10U << 20)

#define ROW_STDIN(text)                                                                            \
	{                                                                                          \
		.name = "stdin", .kind = PARAM_BYTES, .bytes_max = STDIN_BYTES_MAX,                \
		.description = (text)                                                              \
	}
#define ROW_INTERACTIVE(text) ROW_FLAG("interactive", NULL, text)
#define ROW_YIELD(text) ROW_WAIT("yield_ms", WAIT_MS_DEFAULT, text)
#define ROW_TIMEOUT(text, more)                                                                    \
	{                                                                                          \
		.name = "timeout_ms", .kind = PARAM_INTEGER, .minimum = 1, .maximum = UINT32_MAX,  \
		.description = (text), .describe = (more)                                          \
	}
#define ROW_RUN_SANDBOX(text)                                                                      \
	{                                                                                          \
		.name = "sandbox", .kind = PARAM_TEXT, .bytes_max = IPC_NAME_MAX - 1,              \
		.if_empty = SANDBOX_IF_EMPTY, .description = (text)                                \
	}

/* Append the languages of each profile with an image: those of the image's programs. */
void params_describe_languages(struct buffer *text, const struct host *host);

/* Append the default profile's times. They are no "default" of the schema: some clients fill that
 * in, and a server would get a command's time. */
void params_describe_timeout(struct buffer *text, const struct host *host);

#endif
