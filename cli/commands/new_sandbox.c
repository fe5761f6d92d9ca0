/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/new_sandbox.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "commands/foreign.h"
#include "common/format.h"
#include "common/ipc_persistent.h"
#include "common/log.h"
#include "common/workspace_mode.h"
#include "show/refusal.h"

const char *new_sandbox_set_workspace(void *member, const char *value)
{
	if (!value)
		value = ".";
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
	if (!wanted->profile && !option_read_default_profile(&question->words.profile, text)) {
		log_line("%s", text);
		return MSP_EXIT_USAGE;
	}
	if (!wanted->profile && question->words.profile[0])
		question->words.variable = PROFILE_VARIABLE;
	if (wanted->workspace)
		error = make_absolute(wanted->workspace, ask_new->workspace);
	if (error) {
		log_line("--workspace=%s: %s", wanted->workspace, errno_text(-error));
		return MSP_EXIT_USAGE;
	}
	ask_new->workspace_mode = wanted->mode        ? wanted->mode
				  : wanted->workspace ? WORKSPACE_COPY
						      : WORKSPACE_NONE;
	ask_new->ttl_s = wanted->ttl_s;
	ask_new->no_hosts = wanted->no_hosts;
	format_text(ask_new->profile, sizeof(ask_new->profile), "%s", question->words.profile);
	format_text(ask_new->name, sizeof(ask_new->name), "%s", wanted->name ? wanted->name : "");
	return 0;
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
