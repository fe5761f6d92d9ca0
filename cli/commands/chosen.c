/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/chosen.h"

#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "options/everywhere.h"
#include "show/quote.h"

#define RULE                                                                                       \
	"a path of the workspace, relative to this directory or below /workspace, such as "        \
	"src/main.c"

#define INSIDE "/workspace"

static size_t skip_slashes(const char *path, size_t at)
{
	while (path[at] == '/')
		at++;
	return at;
}

/* Take the last component off what began at `begin`. False: there is none. */
static bool drop_last(struct chosen *chosen, size_t begin)
{
	if (chosen->size == begin)
		return false;
	while (chosen->size > begin && chosen->bytes[--chosen->size] != '/')
		continue;
	return true;
}

/* Append the components of `path` to what began at `begin`, without those that say nothing. False:
 * one leads out of the workspace. */
static bool append_path(struct chosen *chosen, size_t begin, const char *path)
{
	size_t at = 0;

	for (at = skip_slashes(path, at); path[at] != '\0'; at = skip_slashes(path, at)) {
		const size_t size = strcspn(path + at, "/");

		if (size == 2 && path[at] == '.' && path[at + 1] == '.') {
			if (!drop_last(chosen, begin))
				return false;
		} else if (size != 1 || path[at] != '.') {
			if (chosen->size > begin)
				chosen->bytes[chosen->size++] = '/';
			memcpy(chosen->bytes + chosen->size, path + at, size);
			chosen->size += size;
		}
		at += size;
	}
	return true;
}

const char *chosen_add(struct chosen *chosen, const char *below, const char *path)
{
	const size_t inside = strlen(INSIDE);
	const size_t begin = chosen->size;

	if (strncmp(path, INSIDE, inside) == 0 && (path[inside] == '/' || path[inside] == '\0')) {
		path += inside;
		below = "";
	} else if (path[0] == '/' || path[0] == '\0') {
		return RULE;
	}
	if (strlen(below) + strlen(path) >= IPC_PATH_MAX ||
	    sizeof(chosen->bytes) - chosen->size < IPC_PATH_MAX)
		return "shorter than 4096 bytes";
	if (!append_path(chosen, begin, below) || !append_path(chosen, begin, path))
		return RULE;
	if (chosen->size == begin)
		chosen->is_all = true;
	else
		chosen->bytes[chosen->size++] = '\0';
	return NULL;
}

const char *chosen_set_excluded(void *member, const char *value)
{
	struct excluded_words *excluded = member;

	if (value[0] == '\0' || value[0] == '!' || strlen(value) >= IPC_PATH_MAX - 2)
		return "a pattern of a .gitignore that does not begin with '!', such as '*.log'";
	if (excluded->count == EXCLUDED_MAX)
		return "given 32 times at most: write such patterns into .mspignore";
	excluded->words[excluded->count++] = value;
	return NULL;
}

static void add_excluded(struct chosen *chosen, const struct excluded_words *excluded)
{
	chosen->paths_size = chosen->size;
	for (uint32_t i = 0; i < excluded->count; i++) {
		char *entry = chosen->bytes + chosen->size;

		format_text(entry, sizeof(chosen->bytes) - chosen->size, "%c%s", CHANGES_EXCLUDED,
			    excluded->words[i]);
		chosen->size += strlen(entry) + 1;
	}
}

/* Return the current directory's path below a sandbox's workspace; empty if it is not below. */
static const char *find_below(const char *workspace, char here[IPC_PATH_MAX])
{
	const size_t size = strlen(workspace);

	if (size == 0 || !getcwd(here, IPC_PATH_MAX) || strncmp(here, workspace, size) != 0 ||
	    (here[size] != '/' && workspace[size - 1] != '/'))
		return "";
	return here + size;
}

bool chosen_add_words(struct chosen *chosen, const struct command *command,
		      const struct command_words *words, const struct chosen_options *options,
		      const char *workspace, int *ret_exit)
{
	char here[IPC_PATH_MAX];
	const char *below = find_below(workspace, here);

	for (int i = 1; i < words->count; i++) {
		const char *rule = chosen_add(chosen, below, words->list[i]);

		if (!rule)
			continue;
		*ret_exit = command_usage_error(command, "'%.100s' is refused: it must be %s",
						words->list[i], rule);
		return false;
	}
	if (chosen->is_all)
		chosen->size = 0;
	add_excluded(chosen, &options->excluded);
	return true;
}

static bool is_in(const char *folder, const uint8_t *path, size_t size)
{
	const size_t length = strlen(folder);

	return size >= length && memcmp(path, folder, length) == 0 &&
	       (size == length || path[length] == '/');
}

void chosen_meet(struct chosen *chosen, const struct change *change)
{
	size_t number = 0;

	for (size_t at = 0; at < chosen->paths_size; at += strlen(chosen->bytes + at) + 1, number++)
		chosen->is_met[number] |=
			is_in(chosen->bytes + at, change->path, change->is.path_size) ||
			is_in(chosen->bytes + at, change->old_path, change->is.old_path_size);
}

bool chosen_explain_unmet(const struct chosen *chosen, const char *sandbox)
{
	size_t number = 0;
	bool ret = false;

	for (size_t at = 0; at < chosen->paths_size;
	     at += strlen(chosen->bytes + at) + 1, number++) {
		if (chosen->is_met[number])
			continue;
		ret = true;
		log_line("%s: nothing has changed there; 'msp diff --name-only %s' shows what has",
			 quote_shown(chosen->bytes + at, strlen(chosen->bytes + at)), sandbox);
	}
	return ret;
}

void chosen_note_ignored(const struct ipc_changes_done *done, const char *action)
{
	if (done->ignored > 0)
		everywhere_note("%llu ignored file%s not %s (--ignored)",
				(unsigned long long)done->ignored, done->ignored == 1 ? "" : "s",
				action);
}
