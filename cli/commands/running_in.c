/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/running_in.h"

#include <string.h>

#include "ask/recent.h"
#include "commands/sandboxes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/text/format.h"

/* Less of an id is rather a slip, as with other commands. */
#define WORD_MIN 4

struct looking {
	const char *word;
	uint32_t running;
	char command[BACKGROUND_ID_MAX]; /* the last one's */
	char sandbox[IPC_ID_MAX];        /* that has the name */
};

static void count_running(void *context, const struct background *command)
{
	struct looking *looking = context;
	const size_t size = strlen(looking->word);

	if (command->state != BACKGROUND_RUNNING || size < WORD_MIN ||
	    strncmp(command->sandbox, looking->word, size) != 0)
		return;
	looking->running++;
	format_text(looking->command, sizeof(looking->command), "%s", command->id);
}

static void compare_name(void *context, const struct ipc_sandbox_info *info)
{
	struct looking *looking = context;

	if (info->owner[0] == '\0' && strcmp(info->name, looking->word) == 0)
		format_text(looking->sandbox, sizeof(looking->sandbox), "%s", info->id);
}

int running_in_find(int sandboxes, const char *word, const struct attach_options *options,
		    char ret[BACKGROUND_ID_MAX])
{
	struct looking looking = { 0 };
	char named[IPC_NAME_MAX];

	if (word[0] == '\0' || strlen(word) >= sizeof(named))
		return 0;
	format_text(named, sizeof(named), "%s", word);
	if (recent_resolve(named, &recent_confirm) != 0)
		return -1;
	looking.word = named;
	background_each(sandboxes, count_running, &looking);
	/* Only a supervisor knows names. */
	if (looking.running == 0 && strcmp(named, word) == 0 &&
	    sandboxes_each(options, false, compare_name, &looking) == 0 && looking.sandbox[0]) {
		looking.word = looking.sandbox;
		background_each(sandboxes, count_running, &looking);
	}
	if (looking.running > 1)
		return log_fail(
			-1,
			"an id is needed, since %u background commands run in sandbox '%s': "
			"'msp ps %s' shows them",
			looking.running, word, word);
	format_text(ret, BACKGROUND_ID_MAX, "%s", looking.command);
	return looking.running == 1;
}
