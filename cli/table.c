/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "options/suggest.h"

const struct command *const commands[] = {
	&command_run,        &command_create,      &command_exec,     &command_cp,
	&command_list,       &command_logs,        &command_stop,     &command_destroy,
	&command_checkpoint, &command_checkpoints, &command_rollback, &command_fork,
	&command_forget,     &command_diff,        &command_apply,    &command_undo,
	&command_serve,      &command_token,       &command_profile,  &command_policy,
	&command_status,     &command_audit,       &command_doctor,   &command_client_config,
	&command_version,    &command_help,
};
const size_t command_count = sizeof(commands) / sizeof(commands[0]);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

const char *command_suggest(const char *name)
{
	const char *names[sizeof(commands) / sizeof(commands[0])];

	for (size_t i = 0; i < command_count; i++)
		names[i] = commands[i]->name;
	return suggest_nearest(name, names, command_count);
}
