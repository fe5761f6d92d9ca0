/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests for something that runs: executions, in a sandbox of their own or in one that lasts, and
 * work of msp-layers on the changes in one.
 */
#ifndef SUPERVISOR_HANDLERS_START_H
#define SUPERVISOR_HANDLERS_START_H

#include "common/dispatch.h"

/* The context is the frontend. */
int handle_execution_start(void *context, struct channel_message *message);
int handle_code_start(void *context, struct channel_message *message);
int handle_file_start(void *context, struct channel_message *message);
int handle_changes_start(void *context, struct channel_message *message);

#endif
