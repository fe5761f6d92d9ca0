/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "common/format.h"
#include "options/suggest.h"

const struct command *const commands[] = {
	&command_run,      &command_shell,      &command_exec,       &command_ps,
	&command_attach,   &command_wait,       &command_kill,       &command_bridge,
	&command_cp,       &command_create,     &command_list,       &command_logs,
	&command_stop,     &command_destroy,    &command_checkpoint, &command_checkpoints,
	&command_rollback, &command_fork,       &command_forget,     &command_diff,
	&command_apply,    &command_undo,       &command_serve,      &command_client_config,
	&command_token,    &command_status,     &command_profile,    &command_policy,
	&command_image,    &command_commit,     &command_vm,         &command_cache,
	&command_network,  &command_secret,     &command_audit,      &command_doctor,
	&command_setup,    &command_completion, &command_help,       &command_version,
};
const size_t command_count = sizeof(commands) / sizeof(commands[0]);

static const struct {
	const struct command *first;
	const char *title;
} groups[] = {
	{ &command_run, "run commands" },  { &command_create, "keep files" },
	{ &command_diff, "take changes" }, { &command_serve, "serve agents" },
	{ &command_profile, "set rules" }, { &command_doctor, "this program" },
};

const char *command_group(const struct command *command)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (groups[i].first == command)
			return groups[i].title;
	}
	return NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

int command_refuse_unknown(const char *name)
{
	const char *names[sizeof(commands) / sizeof(commands[0])];
	char text[OPTIONS_TEXT_MAX];

	for (size_t i = 0; i < command_count; i++)
		names[i] = commands[i]->name;
	format_text(text, sizeof(text), "there is no command '%s'", name);
	suggest_append(text, sizeof(text), name, names, command_count);
	return command_usage_error(NULL, "%s", text);
}
