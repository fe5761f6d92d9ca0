/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frontend may ask and the factory may answer.
 */
#ifndef SUPERVISOR_HANDLERS_H
#define SUPERVISOR_HANDLERS_H

#include "common/channel.h"
#include "common/log.h" /* errno_text(), for what a refusal says */
#include "frontend.h"

/* Put together what a welcome says. */
void handlers_prepare(void);

/* Tell everybody of the policy that is in force from now on. */
void handlers_tell_policy(void);

/* A frontend has said something, or is gone: what frontend.h calls back. */
void handlers_on_frontend(void *frontend);

/*
 * For handlers of requests.
 *
 * Answer, or refuse the request. 0 or -errno.
 */
int handlers_answer(const struct frontend *frontend, uint32_t type, const void *message);
int handlers_refuse(const struct frontend *frontend, uint64_t request, enum refusal reason,
		    const char *detail, uint32_t retry_ms);

/* Run the handler of a request that was deferred. 0 or -errno, with which its frontend is lost. */
int handlers_run(struct frontend *frontend, struct channel_message *message);

/* Stop serving a frontend. `status`: the -errno of a handler or of its channel; 0: it is gone. */
void handlers_lose(struct frontend *frontend, int status, enum ipc_error wrong);

/* Watch the factory's channel. 0 or -errno. */
int handlers_watch_factory(void);

#endif
