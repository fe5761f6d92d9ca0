/* SPDX-License-Identifier: Apache-2.0
 *
 * The gates of all sandboxes, and their questions to msp-dial. The program has so many descriptors;
 * when most are in use, new connections wait in the kernel.
 */
#ifndef GATEWAY_EGRESS_SANDBOXES_H
#define GATEWAY_EGRESS_SANDBOXES_H

#include "common/ipc/ipc_gateway.h"
#include "lib/heap/outbox.h"

/* Questions at once: as many as msp-dial has. */
#define QUESTIONS_MAX GATEWAY_ASKS_MAX

/* Begin, with what the gates are waited for with (an epoll descriptor, whose events have
 * sandboxes_mark()), and how many descriptors they may have. */
void sandboxes_begin(struct outbox *cable, struct outbox *dial, int waiting, uint32_t fds_max);

/* Take a listener of a sandbox, or of the one to come if its use is 0; end the connections of one
 * with a host; report those that are open, and the end of that. 0 or -EPROTO. */
int sandboxes_take_port(const struct ipc_egress_port *port, int fd);
int sandboxes_cut(const struct ipc_egress_cut *cut);
int sandboxes_look(const struct ipc_egress_look *look);

/* Begin a sandbox with its listener for questions; end one. The descriptors are taken. 0, -EPROTO
 * or another -errno. */
int sandboxes_begin_one(const struct ipc_egress_begin *begin, int dns, uint64_t now_ms);
int sandboxes_end_one(uint32_t slot);

/* Take an answer of msp-dial. `fd` is taken; -1: it comes without one. 0 or -EPROTO. */
int sandboxes_dialed(const struct ipc_dial_done *done, int fd);
int sandboxes_answered(const struct ipc_ask_done *done);

/* Do what an event of sandboxes_begin()'s descriptor is for. */
void sandboxes_turn(uint64_t data, uint64_t now_ms);

/* Do what is due: at least each second, if sandboxes_are_busy(). */
void sandboxes_tick(uint64_t now_ms);
bool sandboxes_are_busy(void);

/* Return the first -errno of a message since the begin, or 0. */
int sandboxes_failure(void);

/* An event whose data is from here on is none of a sandbox. */
#define SANDBOXES_DATA_END ((uint64_t)GATEWAY_SLOTS << 32)

#endif
