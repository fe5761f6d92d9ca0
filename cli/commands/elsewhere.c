/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/elsewhere.h"

#include <string.h>

#include "ask/ask.h"
#include "ask/project.h"
#include "common/ipc/ipc_persistent.h"
#include "common/text/format.h"
#include "options/everywhere.h"
#include "options/sandbox_search.h"

struct search {
	const char *word;
	char *workspace;
	bool is_beginning; /* the word may be that of an id */
	bool is_exact;
	uint32_t found;
};

/* A name is the user's own; an id may be anybody's. */
static void on_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	struct search *search = context;
	const bool is_exact = strcmp(info->id, search->word) == 0 ||
			      (info->owner[0] == '\0' && strcmp(info->name, search->word) == 0);

	if (!is_exact && (search->is_exact || !search->is_beginning ||
			  strncmp(info->id, search->word, strlen(search->word)) != 0))
		return;
	search->is_exact |= is_exact;
	search->found = is_exact ? 1 : search->found + 1;
	format_text(search->workspace, IPC_PATH_MAX, "%s", info->workspace);
}

int elsewhere_find(struct asking *asking, const char *sandbox, bool is_for_program,
		   char ret_workspace[IPC_PATH_MAX])
{
	static const struct ask_handlers handlers = { .on_sandbox = on_sandbox };
	static struct question question = { .kind = ASK_LIST, .is.list.is_everybody = 1 };
	char word[IPC_NAME_MAX];
	struct search search = { .word = word, .workspace = ret_workspace };
	struct sandbox_search beginning;
	int code;

	ret_workspace[0] = '\0';
	format_text(word, sizeof(word), "%s", sandbox);
	code = ask_resolve(asking, word, is_for_program);
	if (code)
		return code;
	search.is_beginning = sandbox_search_begin(&beginning, word);
	code = ask(asking, &question, &handlers, &search);
	if (search.found != 1)
		ret_workspace[0] = '\0';
	if (!code && !is_for_program && ret_workspace[0] && !project_is_here(ret_workspace))
		everywhere_note("the project is %s, not that of this directory", ret_workspace);
	return code;
}
