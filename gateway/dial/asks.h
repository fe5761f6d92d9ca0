/* SPDX-License-Identifier: Apache-2.0
 *
 * The questions of msp-egress: each has one answer. A connection is recorded before its name is
 * resolved, and an address is judged just before it is dialled.
 */
#ifndef GATEWAY_DIAL_ASKS_H
#define GATEWAY_DIAL_ASKS_H

#include <poll.h>

#include "common/ipc/ipc_audit.h"
#include "common/ipc/ipc_gateway.h"
#include "lib/heap/outbox.h"

/* Questions at once; more are refused. */
#define ASKS_MAX GATEWAY_ASKS_MAX

/* Begin, with what goes to msp-cable, to msp-egress and to msp-audit. */
void asks_begin(struct outbox *cable, struct outbox *egress, struct outbox *audit);

/* Take a question, or the answer to a connection's record or to host_ask. 0; -EPROTO: the peer is
 * broken; or another -errno. */
int asks_take_name(const struct ipc_name_ask *ask, uint64_t now_ms);
int asks_take_dial(const struct ipc_dial_ask *ask, uint64_t now_ms);
int asks_recorded(const struct ipc_audit_written *written, uint64_t now_ms);
int asks_told(const struct ipc_host_told *told, uint64_t now_ms);

/* Give up the questions of a sandbox that has ended. 0 or -errno. */
int asks_end_sandbox(uint32_t slot);

/* Set what to wait for, and for how long at most. Return the number. */
uint32_t asks_wants(struct pollfd polled[ASKS_MAX], uint64_t now_ms, int *timeout_ms);

/* Handle what has come, and what is due. 0, or the -errno of any answer since the last time. */
int asks_handle(const struct pollfd *polled, uint32_t count, uint64_t now_ms);

#endif
