/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp agent list`: the agents that are known, and what of them is here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/project.h"
#include "commands/agent.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/state_place.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/print.h"
#include "show/rows.h"

/* A row, and its sandboxes over this project. */
struct here {
	const struct agent_row *row;
	struct project project;
	bool has_login;
	char sandboxes[256];
};

static void add_sandbox(void *context, const struct agent_record *record)
{
	struct here *here = context;

	if (strcmp(record->agent, here->row->name) != 0 ||
	    !project_has(&here->project, record->project) || !agent_has_sandbox(record))
		return;
	here->has_login |= record->has_login;
	format_append(here->sandboxes, sizeof(here->sandboxes), "%s%s%s",
		      here->sandboxes[0] ? ", " : "", record->sandbox,
		      agent_is_running(record) ? " (runs)" : "");
}

/* Write which key is there, by the name of its variable, or that there was a login. */
static void describe_key(const struct here *here, char ret[128])
{
	const struct agent_words *keys = &here->row->keys;

	ret[0] = '\0';
	for (uint32_t i = 0; i < keys->count && !ret[0]; i++) {
		if (agent_variable(keys->list[i]))
			format_text(ret, 128, "%s", keys->list[i]);
	}
	if (!ret[0] && here->has_login)
		format_text(ret, 128, "login");
}

static void add_row(struct rows *rows, struct here *here)
{
	const struct agent_places places = { .path = getenv("PATH"), .home = account_home() };
	static struct agent_program program;
	char text[STATE_PLACE_TEXT_MAX], key[128];
	const bool is_found = agent_find(here->row, &places, &program) != AGENT_NOT_FOUND;

	here->has_login = false;
	here->sandboxes[0] = '\0';
	(void)agent_records_each(add_sandbox, here, text); /* else none is known */
	describe_key(here, key);
	rows_next(rows);
	rows_text(rows, "NAME", "name", here->row->name);
	rows_text(rows, "PROGRAM", "program", is_found ? program.found : "");
	rows_text(rows, "KEY", "key", key);
	rows_text(rows, "SANDBOXES", "sandboxes", here->sandboxes);
	rows_text(rows, NULL, "description", here->row->description ? here->row->description : "");
	rows_text(rows, NULL, "install", here->row->install ? here->row->install : "");
}

static int print_names(const struct agent_rows *known)
{
	for (uint32_t i = 0; i < known->count; i++)
		(void)puts(known->list[i].name);
	return command_judge_output(print_flush(), 0);
}

int agent_list(const struct agent_rows *known, bool is_json)
{
	static struct rows rows;
	static struct here here;

	if (everywhere.is_quiet && !is_json)
		return print_names(known);
	project_find(&here.project);
	rows.is_json = is_json;
	rows_begin(&rows, "agents");
	for (uint32_t i = 0; i < known->count; i++) {
		here.row = &known->list[i];
		add_row(&rows, &here);
	}
	rows_end(&rows);
	return command_judge_output(rows_finish(&rows), 0);
}
