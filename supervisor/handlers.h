/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frontend may ask and the factory may answer.
 */
#ifndef SUPERVISOR_HANDLERS_H
#define SUPERVISOR_HANDLERS_H

#include "common/channel.h"
#include "frontend.h"

/* Put together what a welcome says. */
void handlers_prepare(void);

/* Tell everybody of the policy that is in force from now on. */
void handlers_tell_policy(void);

/* A frontend has said something, or is gone: what frontend.h calls back. */
void handlers_on_frontend(void *frontend);

/* Run some of the woken deferred requests (deferred.h) again. Before sandbox_tick(), which looks at
 * the sandboxes that they used. */
void handlers_tick(void);

/* Watch the factory's channel. 0 or -errno. */
int handlers_watch_factory(void);

#endif
