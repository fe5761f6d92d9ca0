/* SPDX-License-Identifier: Apache-2.0
 *
 * The preparation of an agent's run: its program and keys, the profile, the sandbox, and the words
 * of its command.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/agent.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/service.h"
#include "launcher/host/state_place.h"
#include "launcher/start/kept_binds.h"
#include "options/everywhere.h"
#include "show/quote.h"

#define RUN_FOLDER "/run/user"
#define SHARED_MEMORY "/dev/shm"

/* As in a sandbox of the profile `default`. */
#define PATH_INSIDE "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

/* --- its program ------------------------------------------------------------------------------ */

static int find_program(struct agent_run *run)
{
	const struct agent_places places = { .path = getenv("PATH"), .home = account_home() };
	const struct agent_row *row = run->row;

	switch (agent_find(row, &places, &run->program)) {
	case AGENT_FOUND:
		return 0;
	case AGENT_NO_INTERPRETER:
		return log_fail(MSP_EXIT_REFUSED,
				"%s is at %s, but '%.100s', which runs it, is not installed",
				row->name,
				quote_shown(run->program.found, strlen(run->program.found)),
				run->program.line);
	case AGENT_NOT_FOUND:
		break;
	}
	if (row->install)
		return log_fail(MSP_EXIT_REFUSED,
				"%s is not installed: '%s' is neither on PATH nor where installers "
				"put it. To install it: %s",
				row->name, row->programs.list[0], row->install);
	return log_fail(MSP_EXIT_REFUSED,
			"%s is not installed: '%s' is neither on PATH nor where installers put it",
			row->name, row->programs.list[0]);
}

/* --- its keys --------------------------------------------------------------------------------- */

const char *agent_variable(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && value[0] ? value : NULL;
}

const char *agent_placeholder(const char *key, char ret[AGENT_PLACEHOLDER_MAX])
{
	format_text(ret, AGENT_PLACEHOLDER_MAX, "msp-%s-secret", key);
	return ret;
}

/* Find the directory of keys. False, with a line in `text`: there is none. */
static bool find_place(char ret[IPC_PATH_MAX], char text[AGENT_KEY_TEXT_MAX])
{
	char folder[IPC_PATH_MAX];
	char *slash;
	const bool has_folder = service_choose_folder(
		RUN_FOLDER, geteuid(), getenv("XDG_RUNTIME_DIR"), folder, sizeof(folder));

	slash = has_folder ? strrchr(folder, '/') : NULL; /* before our part of it */
	if (slash)
		*slash = '\0';
	return agent_keys_place(slash ? folder : NULL, SHARED_MEMORY, geteuid(), ret, text);
}

/* Put the keys that the caller's environment has where msp-http gets them. 0, or the exit code
 * after a line. */
static int keep_keys(struct agent_run *run)
{
	const struct agent_words *names = &run->row->keys;
	char directory[IPC_PATH_MAX], text[AGENT_KEY_TEXT_MAX] = "";
	struct agent_set *set = &run->set;

	for (uint32_t i = 0; i < names->count && set->key_count < AGENT_KEYS_MAX; i++) {
		const char *value = agent_variable(names->list[i]);

		if (!value)
			continue;
		if (!find_place(directory, text) ||
		    agent_key_write(directory, run->row->name, names->list[i], value,
				    &set->keys[set->key_count], text) != 0)
			return log_fail(MSP_EXIT_REFUSED, "%s", text);
		set->key_names[set->key_count++] = names->list[i];
	}
	return 0;
}

/* Return whether the agent can begin: with a key, a login or a model that needs neither, or because
 * its row has neither. */
static bool has_way_in(const struct agent_run *run)
{
	const struct agent_row *row = run->row;

	return run->set.key_count > 0 || run->set.model_port || run->record.has_login ||
	       run->options->is_login || (row->keys.count == 0 && row->login_arguments.count == 0);
}

static int refuse_without_key(const struct agent_run *run)
{
	const struct agent_row *row = run->row;
	char text[512] = "", call[AGENT_CALL_MAX];

	for (uint32_t i = 0; i < row->keys.count; i++)
		format_append(text, sizeof(text), "%s%s", i > 0 ? " or " : "", row->keys.list[i]);
	if (row->login_arguments.count == 0)
		return log_fail(MSP_EXIT_REFUSED, "%s has no key here: set %s", row->name, text);
	if (row->keys.count == 0)
		return log_fail(MSP_EXIT_REFUSED, "%s has no login here: 'msp agent %s --login'",
				row->name, agent_call(&run->record, call));
	return log_fail(MSP_EXIT_REFUSED, "%s has no key here: set %s, or 'msp agent %s --login'",
			row->name, text, agent_call(&run->record, call));
}

/* --- a model on this machine ------------------------------------------------------------------ */

/* Set the variable of a key that is not here: agents refuse to start without a value, and the model
 * wants none. */
static void set_placeholder(struct agent_run *run)
{
	const struct agent_words *keys = &run->row->keys;
	char entry[IPC_PATH_MAX], placeholder[AGENT_PLACEHOLDER_MAX];

	if (!run->set.model_port || run->set.key_count > 0 || keys->count == 0 ||
	    run->record.has_login)
		return;
	format_text(entry, sizeof(entry), "%s=%s", keys->list[0],
		    agent_placeholder(keys->list[0], placeholder));
	/* Refused when --env has one already: that is the one to use. */
	(void)option_set_environment(&run->options->execute.environment, entry);
}

/* Lead the agent to the model, by a name that the gateway knows. 0, or the exit code after a line.
 */
static int keep_model(struct agent_run *run)
{
	const char *name = run->row->base_url;
	const char *value = agent_variable(name), *rest = "";
	char entry[IPC_PATH_MAX];
	const char *rule;

	if (!value)
		return 0;
	run->set.model_port = agent_model_port(value, &rest);
	if (run->set.model_port)
		format_text(entry, sizeof(entry), "%s=http://" KEPT_MODEL ":%u%s", name,
			    run->set.model_port, rest);
	else if (agent_is_own_host(run->row, value))
		format_text(entry, sizeof(entry), "%s=%s", name, value);
	else
		return log_fail(MSP_EXIT_USAGE,
				"%s leads to '%.200s': only a model on this machine can be used, "
				"such as http://127.0.0.1:11434, and a host of the agent by https; "
				"'agents' in the configuration adds hosts",
				name, value);
	rule = option_set_environment(&run->options->execute.environment, entry);
	set_placeholder(run);
	return rule ? log_fail(MSP_EXIT_USAGE, "%s: it must be %s", name, rule) : 0;
}

/* --- its command ------------------------------------------------------------------------------ */

static void add_words(struct agent_run *run, uint32_t *used, const char *const *list,
		      uint32_t count)
{
	for (uint32_t i = 0; i < count && *used < AGENT_COMMAND_MAX; i++)
		run->words[(*used)++] = (char *)(uintptr_t)list[i]; /* no word is written */
	run->words[*used] = NULL;
}

/* Does it go on with its last session? */
static bool has_resume(const struct agent_run *run)
{
	return run->record.has_session && !run->arguments[0] && !run->options->is_login;
}

int agent_fill_words(struct agent_run *run)
{
	const struct agent_row *row = run->row;
	const struct agent_program *program = &run->program;
	const char *interpreter = program->interpreter, *file = program->file;
	uint32_t used = 0, count = 0;

	if (interpreter[0]) {
		add_words(run, &used, &interpreter, 1);
		add_words(run, &used, program->flags, program->flag_count);
	}
	add_words(run, &used, &file, 1);
	if (run->options->is_login)
		add_words(run, &used, row->login_arguments.list, row->login_arguments.count);
	else if (!run->options->is_asking)
		add_words(run, &used, row->arguments.list, row->arguments.count);
	run->is_resumed = has_resume(run);
	if (run->is_resumed)
		add_words(run, &used, row->resume.list, row->resume.count);
	while (run->arguments[count])
		count++;
	add_words(run, &used, (const char *const *)run->arguments, count);
	return used < AGENT_COMMAND_MAX
		       ? 0
		       : log_fail(MSP_EXIT_USAGE, "the agent's command has more than %d words",
				  AGENT_COMMAND_MAX);
}

/* Send what the person's terminal and language are, and the directory of the interpreter. */
static void fill_environment(struct agent_run *run)
{
	static const char *const names[] = { "COLORTERM", "LANG", "TZ", "NO_COLOR" };
	struct environment *environment = &run->options->execute.environment;
	char entry[2 * IPC_PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (!value || strlen(value) > 64)
			continue;
		format_text(entry, sizeof(entry), "%s=%s", names[i], value);
		/* Refused when --env has one already: that is the one to use. */
		(void)option_set_environment(environment, entry);
	}
	if (!run->program.path[0])
		return;
	format_text(entry, sizeof(entry), "PATH=%s:" PATH_INSIDE, run->program.path);
	(void)option_set_environment(environment, entry);
}

/* --- all of it -------------------------------------------------------------------------------- */

const char *agent_call(const struct agent_record *record, char ret[AGENT_CALL_MAX])
{
	format_text(ret, AGENT_CALL_MAX, "%s%s%s", record->agent, record->word[0] ? " --name=" : "",
		    record->word);
	return ret;
}

/* A sandbox keeps its profile: the hosts of a login are there from its beginning. */
static int check_login(const struct agent_run *run)
{
	char call[AGENT_CALL_MAX];

	if (run->is_first || !run->options->is_login || run->record.has_login)
		return 0;
	return log_fail(MSP_EXIT_USAGE,
			"the sandbox %s was made for a key, and cannot reach the hosts of a login: "
			"'msp agent %s --login --new' makes another one",
			run->record.sandbox, agent_call(&run->record, call));
}

/* Say what the sandbox is, before the agent has the terminal. */
static void print_start(const struct agent_run *run)
{
	const struct agent_row *row = run->row;
	const struct agent_words *hosts = &row->hosts;
	const char *project = run->record.project;
	char text[512] = "";

	for (uint32_t i = 0; i < hosts->count && i < 3; i++)
		format_append(text, sizeof(text), "%s%s", i > 0 ? ", " : "", hosts->list[i]);
	if (hosts->count > 3)
		format_append(text, sizeof(text), " and %u more", hosts->count - 3);
	if (run->record.has_login)
		format_append(text, sizeof(text), " and those of its login");
	if (run->set.model_port)
		format_append(text, sizeof(text), ", the model on port %u of this machine",
			      run->set.model_port);
	everywhere_note("%s in a sandbox: %s copy-on-write, hosts %s%s", row->name,
			strcmp(project, run->here) == 0 ? "this directory"
							: quote_shown(project, strlen(project)),
			text,
			run->options->is_asking ? "; it asks its own questions"
			: row->arguments.count && !row->note
				? "; its own questions are off (--ask keeps them)"
				: "");
	if (row->note && !run->options->is_asking && !run->options->is_login)
		everywhere_note("%s (--ask keeps them)", row->note);
}

bool agent_may_use_service(const struct agent_run *run)
{
	const struct attach_options *attach = &run->options->execute.attach;

	return !attach->is_standalone && !attach->run_as && !attach->config &&
	       !getenv("MSP_CONFIG");
}

/* Keep the keys and the set. 0, or the exit code after a line. */
static int prepare_set(struct agent_run *run)
{
	struct agent_set *set = &run->set;
	int code = keep_keys(run);

	if (!code)
		code = keep_model(run);
	if (!code && !has_way_in(run))
		code = refuse_without_key(run);
	if (code)
		return code;
	run->record.has_login |= run->options->is_login;
	set->row = run->row;
	set->program = &run->program;
	set->has_login = run->record.has_login;
	code = agent_set_keep(set, run->options->execute.attach.config, run->record.profile);
	if (!code && agent_may_use_service(run)) /* it reads the set and the keys */
		service_reload(run->options->execute.attach.socket);
	return code;
}

/* Make the sandbox in another process, and learn from the file which one it is. */
static int prepare_sandbox(struct agent_run *run)
{
	char text[STATE_PLACE_TEXT_MAX];
	const int code = agent_apart(run, agent_make_sandbox);

	if (code || agent_record_find(&run->record, text))
		return code;
	return log_fail(MSP_EXIT_REFUSED, "the sandbox was made, and is not remembered: %s", text);
}

int agent_prepare(struct agent_run *run)
{
	int code = check_login(run);

	if (!code)
		code = find_program(run);
	if (!code)
		code = prepare_set(run);
	if (!code && run->is_first)
		code = prepare_sandbox(run);
	if (!code)
		code = agent_fill_words(run);
	if (code)
		return code;
	fill_environment(run);
	run->options->execute.cwd = run->inside;
	print_start(run);
	return 0;
}
