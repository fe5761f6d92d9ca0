/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "common/text/format.h"
#include "options/suggest.h"

#define ROW(name) &command_##name,
const struct command *const commands[] = { COMMANDS(ROW) };
#undef ROW

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
