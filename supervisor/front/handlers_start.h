/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests for something that runs: executions, in a sandbox of their own or in one that lasts, and
 * work of msp-layers on the changes in one.
 */
#ifndef SUPERVISOR_FRONT_HANDLERS_START_H
#define SUPERVISOR_FRONT_HANDLERS_START_H

#include "common/ipc/dispatch.h"

/* Have the default profile's layers tried at once, in a sandbox that runs nothing else: until the
 * answer supervisor.is_probing, and no frontend shall be heard. 0 or -errno. */
int handlers_start_probe(void);

/* The context is the frontend. */
int handle_execution_start(void *context, struct channel_message *message);
int handle_code_start(void *context, struct channel_message *message);
int handle_file_start(void *context, struct channel_message *message);
int handle_changes_start(void *context, struct channel_message *message);

#endif
