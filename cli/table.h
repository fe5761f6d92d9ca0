/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of msp.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "options/command.h"

extern const struct command command_run;
extern const struct command command_shell;
extern const struct command command_create;
extern const struct command command_exec;
extern const struct command command_bridge;
extern const struct command command_ps;
extern const struct command command_attach;
extern const struct command command_wait;
extern const struct command command_kill;
extern const struct command command_cp;
extern const struct command command_list;
extern const struct command command_logs;
extern const struct command command_stop;
extern const struct command command_destroy;
extern const struct command command_checkpoint;
extern const struct command command_checkpoints;
extern const struct command command_rollback;
extern const struct command command_fork;
extern const struct command command_forget;
extern const struct command command_diff;
extern const struct command command_apply;
extern const struct command command_undo;
extern const struct command command_serve;
extern const struct command command_token;
extern const struct command command_profile;
extern const struct command command_policy;
extern const struct command command_network;
extern const struct command command_secret;
extern const struct command command_commit;
extern const struct command command_image;
extern const struct command command_cache;
extern const struct command command_vm;
extern const struct command command_status;
extern const struct command command_audit;
extern const struct command command_doctor;
extern const struct command command_setup;
extern const struct command command_client_config;
extern const struct command command_completion;
extern const struct command command_version;
extern const struct command command_help;

/* All of them, in the order of the help. */
extern const struct command *const commands[];
extern const size_t command_count;

/* The title of the group that begins with this command; NULL: it continues the one before. */
const char *command_group(const struct command *command);

/* By name, or NULL. */
const struct command *command_find(const char *name);

/* A usage error: no command has this name. Returns its exit code. */
int command_refuse_unknown(const char *name);

#endif
