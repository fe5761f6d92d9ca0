/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the launcher that stays with the service: the supervisor reads no text and starts no
 * program, so that somebody has to be there who compiles the operator's policy when it has changed.
 */
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include "launch.h"

/*
 * Leave a process behind that answers policy_ask on `channel` until the supervisor, which the
 * caller becomes, ends. `launch` says what it compiles. 0 or -errno; `channel` stays the caller's.
 */
int keeper_start(const struct launch *launch, int channel);

#endif
