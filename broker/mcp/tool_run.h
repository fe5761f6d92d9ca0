/* SPDX-License-Identifier: Apache-2.0
 *
 * run_command and run_code: from checked arguments to an execution.
 */
#ifndef BROKER_MCP_TOOL_RUN_H
#define BROKER_MCP_TOOL_RUN_H

#include "json_read.h"

struct call;

/* Places of the parameters in the tools' tables. */
enum run_command_param {
	RUN_COMMAND_COMMAND,
	RUN_COMMAND_ARGV,
	RUN_COMMAND_CWD,
	RUN_COMMAND_ENV,
	RUN_COMMAND_STDIN,
	RUN_COMMAND_TIMEOUT,
	RUN_COMMAND_PROFILE,
	RUN_COMMAND_PARAMS,
};

enum run_code_param {
	RUN_CODE_LANGUAGE,
	RUN_CODE_CODE,
	RUN_CODE_STDIN,
	RUN_CODE_ARGS,
	RUN_CODE_TIMEOUT,
	RUN_CODE_PROFILE,
	RUN_CODE_PARAMS,
};

void tool_run_command(struct call *call, const struct json_document *document,
		      struct json_value *const *values);
void tool_run_code(struct call *call, const struct json_document *document,
		   struct json_value *const *values);

#endif
