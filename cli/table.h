/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of msp.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "options/command.h"

/* The names of all commands, in the order of the help: a line for each group. */
/* clang-format off */
#define COMMANDS(ROW)                                                                              \
	ROW(run) ROW(agent) ROW(shell) ROW(exec) ROW(ps) ROW(attach) ROW(wait) ROW(kill) ROW(bridge) ROW(cp)  \
	ROW(create) ROW(list) ROW(logs) ROW(stop) ROW(destroy) ROW(checkpoint) ROW(checkpoints)    \
		ROW(rollback) ROW(fork) ROW(forget)                                                \
	ROW(diff) ROW(apply) ROW(undo)                                                             \
	ROW(serve) ROW(client_config) ROW(token) ROW(status)                                       \
	ROW(profile) ROW(policy) ROW(image) ROW(commit) ROW(vm) ROW(cache) ROW(network)            \
		ROW(secret) ROW(audit)                                                             \
	ROW(doctor) ROW(setup) ROW(completion) ROW(help) ROW(version)
/* clang-format on */

#define ROW(name) extern const struct command command_##name;
COMMANDS(ROW)
#undef ROW

/* Their rows. */
extern const struct command *const commands[];
extern const size_t command_count;

/* The title of the group that begins with this command; NULL: it continues the one before. */
const char *command_group(const struct command *command);

/* By name, or NULL. */
const struct command *command_find(const char *name);

/* A usage error: no command has this name. Returns its exit code. */
int command_refuse_unknown(const char *name);

#endif
