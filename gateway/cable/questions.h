/* SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that sandboxes were refused and that a person could grant.
 */
#ifndef GATEWAY_CABLE_QUESTIONS_H
#define GATEWAY_CABLE_QUESTIONS_H

#include "common/ipc/ipc_network.h"
#include "gateway/cable/cables.h"

#define QUESTIONS_MAX 256U /* a channel has room for them */

/* Questions of one persistent sandbox, or of one client's ephemeral ones: a further one takes the
 * place of the oldest. */
#define ASKER_QUESTIONS_MAX 16U

/* Note that a sandbox was refused a host; port 0: its name. */
void questions_note(const struct cabled *sandbox, const char *host, uint32_t port);

/* Remove the questions that a grant to a sandbox or to a client answers. */
void questions_answer(const struct party *to, const char *host, uint32_t port);

/* Walk through the questions: pass NULL to begin; NULL at the end. */
const struct ipc_network_host *questions_next(const struct ipc_network_host *after);

/* Remove the questions of a persistent sandbox that has ended. */
void questions_end(uint32_t slot);

#endif
