/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters that several tools have: one row each, and a tool names the rows that it takes.
 * A row's text is an argument only where the tools mean different things by the value.
 */
#ifndef BROKER_MCP_PARAMS_H
#define BROKER_MCP_PARAMS_H

#include "mcp/chosen_paths.h"
#include "mcp/tools.h"

/* A persistent sandbox that the tool is about; its value fits IPC_NAME_MAX. */
#define ROW_SANDBOX                                                                                \
	{                                                                                          \
		.name = "sandbox", .kind = PARAM_TEXT, .is_required = true,                        \
		.bytes_max = IPC_NAME_MAX - 1,                                                     \
		.description = "Id or name of a persistent sandbox."                               \
	}

/* An execution. The bound is above a handle's length, so that longer values are reported as unknown
 * handles. */
#define ROW_HANDLE                                                                                 \
	{                                                                                          \
		.name = "handle", .kind = PARAM_TEXT, .is_required = true, .bytes_max = 64,        \
		.description = "The handle that run_command or run_code returned."                 \
	}

#define ROW_PROFILE(text)                                                                          \
	{                                                                                          \
		.name = "profile", .kind = PARAM_NAME, .source = NAMES_PROFILES,                   \
		.bytes_max = IPC_NAME_MAX, .description = (text)                                   \
	}

/* A name that the client gives. */
#define ROW_NAME(text)                                                                             \
	{                                                                                          \
		.name = "name", .kind = PARAM_TEXT, .bytes_max = IPC_NAME_MAX - 1,                 \
		.description = (text)                                                              \
	}

/* A checkpoint by its number or name (checkpoints.h). */
#define ROW_CHECKPOINT(called, text)                                                               \
	{                                                                                          \
		.name = (called), .kind = PARAM_TEXT, .bytes_max = IPC_NAME_MAX - 1,               \
		.description = (text)                                                              \
	}

/* A file or directory of a sandbox. */
#define ROW_PATH(required, text)                                                                   \
	{                                                                                          \
		.name = "path", .kind = PARAM_TEXT, .is_required = (required),                     \
		.bytes_max = IPC_PATH_MAX - 1, .description = (text)                               \
	}
#define PATH_TEXT "Relative to /workspace, such as src/main.c, or absolute."

/* Paths of the workspace to which the tool is limited. */
#define ROW_PATHS                                                                                  \
	{                                                                                          \
		.name = "paths", .kind = PARAM_LIST, .bytes_max = CHOSEN_PATHS_BYTES,              \
		.description = "Files and directories, relative to /workspace. Omitted: all."      \
	}

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

/* A side of a terminal; `otherwise` is JSON, or NULL. */
#define ROW_TTY_SIDE(called, otherwise, text)                                                      \
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

#define ROW_STDIN                                                                                  \
	{                                                                                          \
		.name = "stdin", .kind = PARAM_BYTES, .bytes_max = STDIN_BYTES_MAX,                \
		.description = "Text for standard input, which then ends."                         \
	}
#define ROW_INTERACTIVE ROW_FLAG("interactive", "false", "Keep standard input open for send_input.")
#define ROW_YIELD                                                                                  \
	ROW_WAIT("yield_ms", WAIT_MS_DEFAULT,                                                      \
		 "Milliseconds to wait for the end before the call returns a handle; 0: at once, " \
		 "for servers and background work.")
#define ROW_TIMEOUT                                                                                \
	{                                                                                          \
		.name = "timeout_ms", .kind = PARAM_INTEGER, .minimum = 1, .maximum = UINT32_MAX,  \
		.description = "Milliseconds until the execution is killed. The profile has the "  \
			       "default and the maximum."                                          \
	}
#define ROW_RUN_PROFILE ROW_PROFILE("Policy; omit unless the user asks.")
#define ROW_RUN_SANDBOX                                                                            \
	{                                                                                          \
		.name = "sandbox", .kind = PARAM_TEXT, .bytes_max = IPC_NAME_MAX - 1,              \
		.description =                                                                     \
			"Persistent sandbox to run in (id or name). Omitted: an ephemeral one."    \
	}

#endif
