/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the launcher that stays with the service, or with the supervisor of `msp serve`: a
 * supervisor reads no text, starts no program and opens nothing of the host's. Somebody has to be
 * there who compiles the operator's policy when it has changed, and who opens the directories that
 * requests name.
 */
#ifndef LAUNCHER_START_OPENER_H
#define LAUNCHER_START_OPENER_H

#include "launcher/start/launch.h"

/*
 * Leave a process behind that answers policy_ask and workspace_ask on `channel` until the
 * supervisor, which the caller becomes, ends. `launch` says what it compiles, and what the requests
 * of its clients may name. Its pid or -errno; `channel` stays the caller's.
 */
int opener_start(const struct launch *launch, int channel);

#endif
