/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/new_sandbox.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/workspace_mode.h"
#include "common/log.h"
#include "common/text/format.h"
#include "options/everywhere.h"
#include "show/change_text.h"
#include "show/quote.h"
#include "show/refusal.h"

const char *new_sandbox_set_workspace(void *member, const char *value)
{
	if (value[0] == '\0' || strlen(value) >= IPC_PATH_MAX)
		return "the path of a directory, such as '.', shorter than 4096 bytes";
	*(const char **)member = value;
	return NULL;
}

/* Make a path absolute: the supervisor and its helpers have another working directory. */
static int make_absolute(const char *given, char ret[IPC_PATH_MAX])
{
	size_t used = 0;

	ret[0] = '\0';
	if (given[0] != '/') {
		if (!getcwd(ret, IPC_PATH_MAX))
			return -errno;
		used = strlen(ret);
		format_append(ret, IPC_PATH_MAX, "/");
	}
	if (used + 1 + strlen(given) >= IPC_PATH_MAX)
		return -ENAMETOOLONG;
	format_append(ret, IPC_PATH_MAX, "%s", given);
	return 0;
}

int new_sandbox_fill(const struct new_sandbox *wanted, struct question *question)
{
	struct ipc_sandbox_new *ask_new = &question->is.new_one;
	char text[OPTIONS_TEXT_MAX];
	int error = 0;

	question->kind = ASK_NEW;
	question->words =
		(struct refusal_words){ .name = wanted->name,
					.workspace = wanted->workspace,
					.profile = wanted->profile ? wanted->profile : "" };
	if (!wanted->profile && !option_read_default_profile(&question->words.profile, text))
		return log_fail(MSP_EXIT_USAGE, "%s", text);
	if (!wanted->profile && question->words.profile[0])
		question->words.variable = PROFILE_VARIABLE;
	if (wanted->workspace)
		error = make_absolute(wanted->workspace, ask_new->workspace);
	if (error)
		return log_fail(MSP_EXIT_USAGE, "--workspace=%s: %s", wanted->workspace,
				errno_text(-error));
	ask_new->workspace_mode = wanted->mode        ? wanted->mode
				  : wanted->workspace ? WORKSPACE_COPY
						      : WORKSPACE_NONE;
	ask_new->ttl_s = wanted->ttl_s;
	ask_new->no_hosts = wanted->no_hosts;
	format_text(ask_new->profile, sizeof(ask_new->profile), "%s", question->words.profile);
	format_text(ask_new->name, sizeof(ask_new->name), "%s", wanted->name ? wanted->name : "");
	return 0;
}

/* --- foreign files of its workspace ---------------------------------------------------------- */

/* So many are named. */
#define NAMED_MAX 10

struct unchangeable {
	uint32_t count;
	char names[NAMED_MAX][256]; /* as printed; a longer one is cut */
	uint32_t data_flags;        /* 0: all of git's data is shown */
	char data[IPC_PATH_MAX];    /* its path, likewise */
};

/* Say why git does not work in the sandbox. */
static void print_data(uint32_t flags, const char *path, const char *workspace)
{
	if (flags == 0)
		return;
	if (flags & CHANGE_IS_DIRECTORY)
		everywhere_note("git does not work in the sandbox: the repository is %s, and "
				"/workspace shows a part of it. For git, name it as the workspace",
				path);
	else if (flags & CHANGE_IS_HELD)
		everywhere_note("git lacks the data in %s, which does not name this directory. If "
				"commands may read all of it: git config --file %s/config --add "
				"msp.workspace %s",
				path, path, quote_shown(workspace, strlen(workspace)));
	else
		everywhere_note(
			"git lacks the data in %s: %s", path,
			flags & CHANGE_IS_REFUSED
				? "it is protected, or outside of the operator's workspaces"
				: "another user's is never shown; a submodule's, or data that "
				  "borrows more, is shown with the repository that holds it: "
				  "name that as the workspace");
}

static void on_change(void *context, const struct change *change)
{
	struct unchangeable *unchangeable = context;

	if (change->is.flags & CHANGE_IS_GITS) {
		unchangeable->data_flags = change->is.flags;
		format_text(unchangeable->data, sizeof(unchangeable->data), "%s",
			    change_path(change));
		return;
	}
	if (unchangeable->count < NAMED_MAX)
		format_text(unchangeable->names[unchangeable->count],
			    sizeof(unchangeable->names[0]), "%s", change_path(change));
	unchangeable->count++;
}

static void print_unchangeable(const struct unchangeable *unchangeable)
{
	const uint32_t named = unchangeable->count < NAMED_MAX ? unchangeable->count : NAMED_MAX;

	for (uint32_t i = 0; i < named; i++)
		log_line("cannot be changed in the sandbox: %s", unchangeable->names[i]);
	if (unchangeable->count > named)
		log_line("and %u more", unchangeable->count - named);
}

static void print_counts(const struct ipc_changes_done *done)
{
	const uint64_t files = done->total - done->conflicts;
	char text[96] = "";

	if (done->total == 0)
		return;
	if (files > 0)
		format_text(text, sizeof(text), "%llu file%s", (unsigned long long)files,
			    files == 1 ? "" : "s");
	if (done->conflicts > 0)
		format_append(text, sizeof(text), "%s%u director%s", files > 0 ? " and " : "",
			      done->conflicts, done->conflicts == 1 ? "y" : "ies");
	log_line("%s of the workspace %s another owner or group: %u can be changed in the "
		 "sandbox, %u cannot%s",
		 text, done->total == 1 ? "has" : "have", done->applied, done->held,
		 done->held == 0   ? ""
		 : done->held == 1 ? "; to change that too, chown it to yourself"
				   : "; to change those too, chown them to yourself");
}

/* Have them prepared, and print lines about those that stay unchangeable. A failure leaves the
 * sandbox usable: it is only printed. `act`: as in struct question. Returns 0, or the exit code
 * when the supervisor has gone. */
static int foreign_prepare(struct asking *asking, const struct ipc_sandbox_info *info,
			   const char *act)
{
	static const struct ask_handlers handlers = { .on_change = on_change };
	static struct question question = { .kind = ASK_CHANGES };
	static struct unchangeable unchangeable;
	const struct ipc_changes_done *done = &asking->done;
	int code;

	question.words = (struct refusal_words){ .sandbox = info->id };
	question.is.changes.operation = CHANGES_PREPARE;
	question.act = act;
	code = ask(asking, &question, &handlers, &unchangeable);
	if (code)
		return code;
	if (done->error) {
		log_line("files of other owners and groups may be unchangeable in the sandbox: %s",
			 errno_text((int)done->error));
		return 0;
	}
	if (done->step == CHANGES_STEP_WRITE)
		log_line("%s is not writable for the account that msp runs as: 'msp apply' would "
			 "fail. Chown it to uid %u, or run msp as its owner",
			 info->workspace, (unsigned int)geteuid());
	print_data(unchangeable.data_flags, unchangeable.data, info->workspace);
	print_counts(done);
	print_unchangeable(&unchangeable);
	if (done->step == CHANGES_STEP_READ)
		log_line("the workspace is large: only its first %llu names were searched for "
			 "files of other owners and groups",
			 (unsigned long long)done->ignored);
	return 0;
}

void new_sandbox_write_foreign(struct json_writer *writer, const struct ipc_changes_done *done)
{
	json_open_object(writer, "foreign");
	json_put_number(writer, "total", done->total);
	json_put_number(writer, "prepared", done->applied);
	json_put_number(writer, "unchangeable", done->held);
	json_put_number(writer, "searched", done->ignored);
	json_put_bool(writer, "complete", !done->error && done->step != CHANGES_STEP_READ);
	json_close_object(writer);
}

static void on_made(void *context, const struct ipc_sandbox_info *info)
{
	*(struct ipc_sandbox_info *)context = *info;
}

int new_sandbox_ask(struct asking *asking, struct question *question, struct ipc_sandbox_info *ret)
{
	static const struct ask_handlers handlers = { .on_sandbox = on_made };

	const int code = ask(asking, question, &handlers, ret);

	return code || ret->workspace_mode != WORKSPACE_COPY
		       ? code
		       : foreign_prepare(asking, ret, question->act);
}
