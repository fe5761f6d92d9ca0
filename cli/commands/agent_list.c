/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp agent list` and `msp agent status`.
 */
#include <stdlib.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/project.h"
#include "commands/agent.h"
#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/state_place.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/rows.h"

/* --- list ------------------------------------------------------------------------------------- */

/* What a row has over this project. */
struct here {
	const struct agent_row *row;
	struct project project;
	bool has_login;
	char sandboxes[256];
};

static void take_record(void *context, const struct agent_record *record)
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
		const char *value = getenv(keys->list[i]);

		if (value && value[0])
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
	(void)agent_records_each(take_record, here, text); /* else none is known */
	describe_key(here, key);
	rows_next(rows);
	rows_text(rows, "NAME", "name", here->row->name);
	rows_text(rows, "PROGRAM", "program", is_found ? program.found : "");
	rows_text(rows, "KEY", "key", key);
	rows_text(rows, "SANDBOXES", "sandboxes", here->sandboxes);
	rows_text(rows, NULL, "description", here->row->description ? here->row->description : "");
	rows_text(rows, NULL, "install", here->row->install ? here->row->install : "");
}

int agent_list(const struct agent_rows *known, bool is_json)
{
	static struct rows rows;
	static struct here here;

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

/* --- status ----------------------------------------------------------------------------------- */

struct status {
	struct asking asking;
	struct project project;
	struct rows rows;
	struct ipc_sandbox_info info;
	uint64_t changes;
	uint32_t count;
	int code;
};

static void count_change(void *context, const struct change *change)
{
	struct status *status = context;

	if (!(change->is.flags & CHANGE_IS_DIRECTORY))
		status->changes++;
}

static void take_info(void *context, const struct ipc_sandbox_info *info)
{
	((struct status *)context)->info = *info;
}

/* Ask about one sandbox. False: nothing is known of its changes. */
static bool ask_about(struct status *status, const struct agent_record *record)
{
	static const struct ask_handlers changes = { .on_change = count_change };
	static const struct ask_handlers infos = { .on_sandbox = take_info };
	static struct question question;

	question = (struct question){ .kind = ASK_LIST, .words = { .sandbox = record->id } };
	format_text(question.is.head.sandbox, sizeof(question.is.head.sandbox), "%s", record->id);
	status->changes = 0;
	memset(&status->info, 0, sizeof(status->info));
	if (ask(&status->asking, &question, &infos, status) != 0 || status->info.is_elsewhere)
		return false;
	question = (struct question){ .kind = ASK_CHANGES, .words = { .sandbox = record->id } };
	question.is.changes.operation = CHANGES_DIFF;
	question.paths = "";
	question.is_tried = true;
	return ask(&status->asking, &question, &changes, status) == 0 &&
	       status->asking.done.error == 0;
}

static void show_record(void *context, const struct agent_record *record)
{
	struct status *status = context;
	char call[AGENT_CALL_MAX], count[32] = "";

	if (ask_is_over(&status->asking) || !project_has(&status->project, record->project) ||
	    !agent_has_sandbox(record))
		return;
	if (ask_about(status, record))
		format_text(count, sizeof(count), "%llu", (unsigned long long)status->changes);
	status->count++;
	rows_next(&status->rows);
	rows_text(&status->rows, "AGENT", NULL, agent_call(record, call));
	rows_text(&status->rows, "SANDBOX", NULL, record->sandbox);
	rows_text(&status->rows, "COMMAND", NULL, agent_is_running(record) ? record->command : "");
	rows_text(&status->rows, "CHANGED", NULL, count);
	rows_moment(&status->rows, "USED", NULL, status->info.used_s);
	rows_moment(&status->rows, "EXPIRES", NULL, status->info.expires_s);
}

int agent_status(const struct agent_options *options)
{
	static struct status status;
	char text[STATE_PLACE_TEXT_MAX];
	int code;

	project_find(&status.project);
	code = ask_begin(&status.asking, &options->execute.attach);
	rows_begin(&status.rows, "agents");
	if (!code && agent_records_each(show_record, &status, text) != 0)
		code = log_fail(MSP_EXIT_REFUSED, "the sandboxes of agents are not known: %s", text);
	code = ask_end(&status.asking, code);
	rows_end(&status.rows);
	if (!code && status.count == 0)
		everywhere_note("no agent has a sandbox over this project: 'msp agent list' shows "
				"those that are known");
	return code ? code : command_judge_output(rows_finish(&status.rows), 0);
}
