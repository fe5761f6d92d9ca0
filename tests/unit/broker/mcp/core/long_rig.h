/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of tools for what outlives its call: calls, their handle and their workloads.
 */
#ifndef TESTS_UNIT_BROKER_MCP_CORE_LONG_RIG_H
#define TESTS_UNIT_BROKER_MCP_CORE_LONG_RIG_H

#include "executions/executions.h"
#include "rig.h"

extern struct rig rig;
extern char handle[EXECUTION_HANDLE_MAX + 1];

void open_rig(void);
void close_rig(void);

/* Call a tool with the members of its arguments. */
void say_call(const char *tool, const char *arguments);

/* A call about the handle, with more arguments that begin with a comma. */
void say_about(const char *tool, const char *arguments);

/* Write as the workload. */
void print(int fd, const char *text);

/* End the workload with exit code 0. */
void finish(struct rig_workload *workload);

/* Take the handle from the last answer. */
void note_handle(void);

/* Start in the background, with more arguments that begin with a comma. */
struct rig_workload start(const char *arguments);

#endif
