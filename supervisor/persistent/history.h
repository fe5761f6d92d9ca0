/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a persistent sandbox (common/history.h).
 */
#ifndef SUPERVISOR_PERSISTENT_HISTORY_H
#define SUPERVISOR_PERSISTENT_HISTORY_H

#include "run/request.h"

/* Have msp-store note an execution that has begun, if it is in a persistent sandbox; `code` is a
 * memfd, or -1. It is not waited for. */
void history_add(const struct request *request, int code);

#endif
