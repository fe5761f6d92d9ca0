/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/chosen.h"

#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "options/everywhere.h"
#include "show/quote.h"

#define RULE                                                                                       \
	"a path relative to the workspace, such as src/main.c, or one below /workspace, without "  \
	"'..'"

#define INSIDE "/workspace"

static size_t skip_slashes(const char *path, size_t at)
{
	while (path[at] == '/')
		at++;
	return at;
}

/* Append the components of `path`, without those that say nothing. False: one leads upwards. */
static bool append_path(struct chosen *chosen, const char *path)
{
	const size_t begin = chosen->size;
	size_t at = 0;

	for (at = skip_slashes(path, at); path[at] != '\0'; at = skip_slashes(path, at)) {
		const size_t size = strcspn(path + at, "/");

		if (size == 2 && path[at] == '.' && path[at + 1] == '.')
			return false;
		if (size != 1 || path[at] != '.') {
			if (chosen->size > begin)
				chosen->bytes[chosen->size++] = '/';
			memcpy(chosen->bytes + chosen->size, path + at, size);
			chosen->size += size;
		}
		at += size;
	}
	if (chosen->size == begin)
		chosen->is_all = true;
	else
		chosen->bytes[chosen->size++] = '\0';
	return true;
}

const char *chosen_add(struct chosen *chosen, const char *path)
{
	const size_t inside = strlen(INSIDE);

	if (strncmp(path, INSIDE, inside) == 0 && (path[inside] == '/' || path[inside] == '\0'))
		path += inside;
	else if (path[0] == '/' || path[0] == '\0')
		return RULE;
	if (strlen(path) >= IPC_PATH_MAX || sizeof(chosen->bytes) - chosen->size < IPC_PATH_MAX)
		return "shorter than 4096 bytes";
	return append_path(chosen, path) ? NULL : RULE;
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

bool chosen_add_words(struct chosen *chosen, const struct command *command,
		      const struct command_words *words, const struct chosen_options *options,
		      int *ret_exit)
{
	for (int i = 1; i < words->count; i++) {
		const char *rule = chosen_add(chosen, words->list[i]);

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
