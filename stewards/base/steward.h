/* SPDX-License-Identifier: Apache-2.0
 *
 * The common part of the stewards, msp-audit and msp-store: processes that have one directory of
 * the host and one peer, their supervisor; and of the gateway's programs, which have no directory.
 * Every step is required: one that fails ends the process, with its name on stderr.
 */
#ifndef STEWARDS_BASE_STEWARD_H
#define STEWARDS_BASE_STEWARD_H

#include <linux/filter.h>
#include <stdint.h>

#include "common/ipc/channel.h"

/* The descriptors that a steward is executed with, beside its standard ones. */
enum steward_fd { STEWARD_FD_CHANNEL = 3, STEWARD_FD_DIRECTORY };

#define STEWARD_FDS "sd"

/* Protect the tables, check the descriptors from STEWARD_FD_CHANNEL on, a letter of fd_is_kind()
 * for each, and close all others, and ignore the signals that end others: a steward is in a session
 * of its own and ends after its supervisor. */
void steward_begin(const char *name, const char *kinds);

/* Must: allow `rights` in the directory and nothing else; without any, descriptor 4 is no
 * directory. Must not: leave a capability, a way to a new one, or a system call that `filter` does
 * not allow.
 */
void steward_confine(uint64_t rights, const struct sock_filter *filter, uint32_t count);

/* Receive the first message, of `type`, whose struct begins with the schema's hash, and go on in
 * the phase SERVE. Ends the process without a word where the supervisor has ended before. */
void steward_hear_start(struct channel *channel, uint32_t type, struct channel_message *ret);

#endif
