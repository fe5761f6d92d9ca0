/* SPDX-License-Identifier: Apache-2.0
 *
 * Replies to the requests of frontends. Each returns 0, or -errno of the channel.
 */
#ifndef SUPERVISOR_BASE_REPLY_H
#define SUPERVISOR_BASE_REPLY_H

#include "base/state.h"
#include "common/ipc/refusal.h"
#include "common/log.h" /* errno_text(), for the detail of a refusal */

/* Send a message. */
int reply_send(const struct frontend *frontend, uint32_t type, const void *message);

/* Refuse a request, and record that. `detail`: "" or what the reason needs. `retry_ms`: 0, or when
 * the request may succeed. */
int reply_refuse(const struct frontend *frontend, uint64_t request, enum refusal reason,
		 const char *detail, uint32_t retry_ms);

/* Return the reason, with `text` as its detail. */
enum refusal reply_reason(enum refusal reason, const char *text, char detail[IPC_LIST_MAX]);

/* End the channel of a frontend that does not read: the loop sees that it is gone. */
void reply_give_up(const struct frontend *frontend);

/* Say that a request is done, or refuse it for the system's `error` (-errno). */
int reply_done(const struct frontend *frontend, uint64_t request, int error);

#endif
