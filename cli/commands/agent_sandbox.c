/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox of an agent: made once for a project, with the agent's first-run files in its home.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "background/note.h"
#include "commands/agent.h"
#include "commands/copy.h"
#include "commands/new_sandbox.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "lib/heap/buffer.h"

/* As long as profiles let a sandbox stay that is not used. */
#define KEPT_S (30 * 86400)

#define HOME "/home/agent"

/* As long an end of a placeholder as an agent remembers of a key that it knows. */
#define KEY_END 20

int agent_apart(struct agent_run *run, int (*act)(struct agent_run *run))
{
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid < 0)
		return log_fail(MSP_EXIT_SANDBOX, "a process cannot be started: %s",
				errno_text(errno));
	if (pid == 0) {
		const int code = act(run);

		(void)fflush(stdout);
		_exit(code);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : MSP_EXIT_SIGNAL_BASE + WTERMSIG(status);
}

bool agent_has_sandbox(const struct agent_record *record)
{
	char text[STATE_PLACE_TEXT_MAX], path[IPC_ID_MAX + sizeof("/meta")];
	int sandboxes FD_OWNED = background_open_sandboxes(text);

	format_text(path, sizeof(path), "%s/meta", record->id);
	return sandboxes >= 0 && faccessat(sandboxes, path, F_OK, 0) == 0;
}

uint64_t agent_runs_since(const struct agent_record *record)
{
	char text[STATE_PLACE_TEXT_MAX];
	int sandboxes FD_OWNED = background_open_sandboxes(text);
	static struct background command;
	uint64_t since_us = 0;

	if (sandboxes < 0 || !record->command[0] ||
	    background_find(sandboxes, record->command, &command) != 1)
		return 0;
	if (command.state == BACKGROUND_RUNNING)
		since_us = command.note.begun_us;
	background_close(&command);
	return since_us / 1000000;
}

bool agent_is_running(const struct agent_record *record)
{
	return agent_runs_since(record) > 0;
}

/* --- first-run files -------------------------------------------------------------------------- */

/* Append the text with a value in place of each mark. */
static void replace_mark(struct buffer *ret, const char *text, const char *mark, const char *value)
{
	const char *next;

	while ((next = strstr(text, mark))) {
		buffer_append(ret, text, (size_t)(next - text));
		buffer_append_text(ret, value);
		text = next + strlen(mark);
	}
	buffer_append_text(ret, text);
}

/* Write the content of a file: the directory inside and the end of the placeholder are known. */
static void fill_text(const struct agent_run *run, const char *text, struct buffer *ret)
{
	const struct agent_row *row = run->row;
	const char *name = run->set.key_count > 0 ? run->set.key_names[0]
			   : row->keys.count > 0  ? row->keys.list[0]
						  : "";
	struct buffer half = { 0 };
	char placeholder[AGENT_PLACEHOLDER_MAX];
	const size_t size = strlen(agent_placeholder(name, placeholder));

	replace_mark(&half, text, "@WORKSPACE@", run->inside);
	replace_mark(ret, half.bytes ? half.bytes : "", "@KEY_END@",
		     placeholder + (size > KEY_END ? size - KEY_END : 0));
	buffer_done(&half);
}

/* Make the directories around a file. 0, or the exit code after a line. */
static int make_folders(struct copy *copy, const char *path)
{
	char folder[IPC_PATH_MAX];
	int code = 0;

	for (const char *slash = path + sizeof(HOME); !code && (slash = strchr(slash, '/'));
	     slash++) {
		format_text(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		copy_question(copy, "mkdir", folder);
		code = copy_ask(copy, folder, -1, NULL, NULL);
		if (!code && copy->answer.is.problem != FILE_DONE)
			code = copy_explain(copy, folder);
	}
	return code;
}

static int write_file(struct copy *copy, const struct agent_run *run, const struct agent_file *file)
{
	char path[IPC_PATH_MAX];
	struct buffer text = { 0 };
	int source FD_OWNED = -1;
	int code;

	format_text(path, sizeof(path), HOME "/%s", file->path);
	fill_text(run, file->text ? file->text : "", &text);
	source = fd_sealed_from_bytes("file", text.bytes ? text.bytes : "", text.size);
	buffer_done(&text);
	if (source < 0 || lseek(source, 0, SEEK_SET) != 0)
		return log_fail(MSP_EXIT_SOFTWARE, "%s: %s", path,
				errno_text(source < 0 ? -source : errno));
	code = make_folders(copy, path);
	if (code)
		return code;
	copy_question(copy, "put", path);
	copy_number(copy, 0600);
	code = copy_ask(copy, path, source, NULL, NULL);
	return code || copy->answer.is.problem == FILE_DONE ? code : copy_explain(copy, path);
}

static int write_files(struct copy *copy, const struct agent_run *run)
{
	int code = 0;

	copy->sandbox = run->record.id;
	for (uint32_t i = 0; i < run->row->file_count && !code; i++)
		code = write_file(copy, run, &run->row->files[i]);
	return code;
}

/* --- the sandbox ------------------------------------------------------------------------------ */

/* The names that are taken, and the one that is wanted. */
struct naming {
	char name[IPC_NAME_MAX];
	bool is_taken;
};

static void compare_name(void *context, const struct ipc_sandbox_info *info)
{
	struct naming *naming = context;

	naming->is_taken |= strcmp(info->name, naming->name) == 0;
}

/* Write the beginning of the sandbox's name: the agent, the project's last part, and --name. */
static void begin_name(const struct agent_run *run, char ret[IPC_NAME_MAX])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	const struct agent_record *record = &run->record;
	const char *slash = strrchr(record->project, '/');

	format_text(ret, IPC_NAME_MAX, "%s-%.20s%s%s", record->agent, slash ? slash + 1 : "project",
		    record->word[0] ? "-" : "", record->word);
	for (char *c = ret; *c; c++) {
		if (!strchr(allowed, *c))
			*c = '_';
	}
}

/* Find a name that no sandbox has. 0, or the exit code after a line. */
static int find_name(struct asking *asking, const struct agent_run *run, char ret[IPC_NAME_MAX])
{
	static const struct ask_handlers handlers = { .on_sandbox = compare_name };
	static struct question question;
	char first[IPC_NAME_MAX];
	struct naming naming;
	int code = 0;

	begin_name(run, first);
	format_text(naming.name, sizeof(naming.name), "%s", first);
	for (int number = 2; number < 1000; number++) {
		naming.is_taken = false;
		question = (struct question){ .kind = ASK_LIST };
		code = ask(asking, &question, &handlers, &naming);
		if (code || !naming.is_taken)
			break;
		format_text(naming.name, sizeof(naming.name), "%.50s-%d", first, number);
	}
	format_text(ret, IPC_NAME_MAX, "%s", naming.name);
	return code;
}

static void destroy_sandbox(struct asking *asking, const char *id)
{
	static struct question question = { .kind = ASK_END, .is.end.how = SANDBOX_END_DESTROY };

	question.words.sandbox = id;
	if (!ask_is_over(asking))
		(void)ask(asking, &question, NULL, NULL); /* else it goes when its time is over */
}

/* Ask for the sandbox, whose name is free. 0, or the exit code after a line. */
static int ask_sandbox(struct copy *copy, struct question *question, struct agent_run *run)
{
	static struct ipc_sandbox_info info;
	struct agent_record *record = &run->record;
	int code = find_name(&copy->asking, run, record->sandbox);

	format_text(question->is.new_one.name, sizeof(question->is.new_one.name), "%s",
		    record->sandbox);
	if (!code)
		code = new_sandbox_ask(&copy->asking, question, &info);
	if (code)
		return code;
	format_text(record->id, sizeof(record->id), "%s", info.id);
	code = write_files(copy, run);
	if (code)
		destroy_sandbox(&copy->asking, record->id);
	return code;
}

int agent_make_sandbox(struct agent_run *run)
{
	struct agent_record *record = &run->record;
	const struct new_sandbox wanted = { .name = record->sandbox,
					    .profile = record->profile,
					    .workspace = record->project,
					    .ttl_s = KEPT_S };
	static struct question question = { .act = "making the sandbox" };
	static struct copy copy;
	char text[STATE_PLACE_TEXT_MAX];
	int code = new_sandbox_fill(&wanted, &question);

	question.act = "making the sandbox";
	if (!code)
		code = ask_begin_new(&copy.asking, &run->options->execute.attach, &question, NULL,
				     true, false);
	if (!code)
		code = ask_sandbox(&copy, &question, run);
	if (!code && agent_record_write(record, text) != 0) {
		destroy_sandbox(&copy.asking, record->id);
		code = log_fail(MSP_EXIT_REFUSED, "the sandbox cannot be remembered: %s", text);
	}
	return ask_end(&copy.asking, code);
}
