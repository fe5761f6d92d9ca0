/* SPDX-License-Identifier: Apache-2.0 */
#include "show/change_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/format.h"
#include "common/ipc_changes.h"
#include "common/log.h"
#include "frontend/utf8.h"
#include "show/quote.h"

static const struct {
	uint32_t flag;
	const char *name; /* in JSON */
	const char *text; /* in a line; NULL: it does not say that */
} flags[] = {
	{ CHANGE_IS_DIRECTORY, "directory", NULL },
	{ CHANGE_IS_BINARY, "binary", NULL },
	{ CHANGE_IS_LARGE, "large", NULL },
	{ CHANGE_IS_CONFLICT, "conflict", "conflict: changed on this machine meanwhile" },
	{ CHANGE_IS_HELD, "held", "this machine may execute it by itself" },
	{ CHANGE_LEADS_OUT, "leads_out", "it leads out of the project" },
	{ CHANGE_IS_TOOL, "tool", "executed when its tool is started" },
	{ CHANGE_IS_RULES, "rules", "it decides what msp asks about" },
	{ CHANGE_MAY_RUN, "may_run", "of a kind that tools execute" },
	{ CHANGE_IS_MERGED, "merged", "merged with this machine's changes" },
	{ CHANGE_HAS_MARKERS, "markers", "with conflict markers" },
	{ CHANGE_IS_STRIPPED, "stripped", "without set-ID bits and capabilities" },
	{ CHANGE_IS_REFUSED, "refused", "never applied: a device, socket or FIFO" },
	{ CHANGE_IS_UNREADABLE, "unreadable", "never applied: it cannot be read" },
	{ CHANGE_IS_GITS, "repository", "stays in the sandbox's repository" },
	{ CHANGE_IS_COMMITS, "commits", NULL },
	{ CHANGE_IS_APPLIED, "applied", NULL },
	{ CHANGE_IS_UNDONE, "undone", NULL },
};

/* Reasons why a conflict is not merged, in JSON and for people. */
static const struct {
	const char *word, *text;
} unmerged[UNMERGED_COUNT] = {
#define UNMERGED(name, word_, text_) [UNMERGED_##name] = { word_, text_ },
#include "common/unmerged.def"
#undef UNMERGED
};

const char *change_path(const struct change *change)
{
	static char text[QUOTE_MAX(IPC_PATH_MAX)];
	static char path[IPC_PATH_MAX + 1];
	size_t size = change->is.path_size;

	memcpy(path, change->path, size);
	if (change->is.flags & CHANGE_IS_DIRECTORY)
		path[size++] = '/';
	(void)quote_path("", path, size, text, sizeof(text));
	return text;
}

const char *change_name(const struct change *change)
{
	static char text[2 * QUOTE_MAX(IPC_PATH_MAX) + 4];
	size_t used;

	format_text(text, sizeof(text), "%s", change_path(change));
	if (change->is.link_size == 0)
		return text;
	format_append(text, sizeof(text), " -> ");
	used = strlen(text);
	(void)quote_path("", change->link, change->is.link_size, text + used, sizeof(text) - used);
	return text;
}

void change_print_line(const struct change *change)
{
	uint32_t said = change->is.flags;
	bool is_first = true;

	if (said & (CHANGE_LEADS_OUT | CHANGE_IS_TOOL | CHANGE_IS_RULES | CHANGE_MAY_RUN))
		said &= ~(uint32_t)CHANGE_IS_HELD; /* for another reason */
	if (said & CHANGE_IS_COMMITS)
		said &= ~(uint32_t)CHANGE_IS_CONFLICT; /* its text says more */
	(void)printf("%c  ", change_kind_letter(change->is.kind));
	if (change->is.kind == CHANGE_RENAMED) {
		quote_print(change->old_path, change->is.old_path_size);
		(void)fputs(" => ", stdout);
	}
	(void)fputs(change_name(change), stdout);
	if (change->is.kind == CHANGE_MODE) {
		(void)printf("  (mode %o -> %o", change->is.old_mode & 07777,
			     change->is.new_mode & 07777);
		is_first = false;
	}
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!flags[i].text || !(said & flags[i].flag))
			continue;
		(void)printf("%s%s", is_first ? "  (" : "; ", flags[i].text);
		is_first = false;
	}
	if (change->is.unmerged)
		(void)printf("%snot merged: %s", is_first ? "  (" : "; ",
			     unmerged[change->is.unmerged].text);
	(void)puts(is_first && !change->is.unmerged ? "" : ")");
}

/* Bytes of any kind: as text where they are text, else with all of them beside it. */
static void write_bytes(struct json_writer *json, const char *name, const uint8_t *bytes,
			size_t size)
{
	char member[32];

	json_put_string(json, name, bytes, size);
	if (utf8_is_valid((const char *)bytes, size))
		return;
	format_text(member, sizeof(member), "%s_base64", name);
	json_put_base64(json, member, bytes, size);
}

static void write_mode(struct json_writer *json, const char *name, uint32_t mode)
{
	char text[16];

	format_text(text, sizeof(text), "%06o", mode);
	if (mode)
		json_put_text(json, name, text);
	else
		json_put_null(json, name);
}

void change_write(struct json_writer *json, const struct change *change, bool has_patch)
{
	const struct change_record *is = &change->is;

	json_open_object(json, NULL);
	json_put_text(json, "kind", change_kind_name(is->kind));
	write_bytes(json, "path", change->path, is->path_size);
	if (is->old_path_size > 0)
		write_bytes(json, "old_path", change->old_path, is->old_path_size);
	if (is->link_size > 0)
		write_bytes(json, "link", change->link, is->link_size);
	write_mode(json, "old_mode", is->old_mode);
	write_mode(json, "new_mode", is->new_mode);
	json_put_number(json, "old_bytes", is->old_size);
	json_put_number(json, "new_bytes", is->new_size);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (is->flags & flags[i].flag)
			json_put_bool(json, flags[i].name, true);
	}
	if (is->unmerged)
		json_put_text(json, "unmerged", unmerged[is->unmerged].word);
	if (has_patch && is->patch_size > 0)
		write_bytes(json, "patch", change->patch, is->patch_size);
	json_close_object(json);
}

/* Heads come before the first "@@" of a file, and one patch may be of two: a deletion and an
 * addition. */
void change_count_lines(const struct change *change, uint64_t *ret_added, uint64_t *ret_removed)
{
	const uint8_t *at = change->patch;
	const uint8_t *end = at + change->is.patch_size;
	bool is_hunk = false;

	*ret_added = *ret_removed = 0;
	while (at < end) {
		const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));

		if (*at == 'd')
			is_hunk = false;
		else if (*at == '@')
			is_hunk = true;
		else if (is_hunk && *at == '+')
			++*ret_added;
		else if (is_hunk && *at == '-')
			++*ret_removed;
		at = newline ? newline + 1 : end;
	}
}

int change_explain_others(void)
{
	log_line("the changes are not those any more that were shown, and nothing was applied: see "
		 "to it that nothing runs in the sandbox, and try again");
	return MSP_EXIT_SOFTWARE;
}

/* Add to the system's words for an errno. */
static const char *explain_errno(int error)
{
	if (error == ELIBACC || error == ELIBBAD)
		return "libgit2, which makes patches, is not installed as it was when msp was "
		       "built";
	if (error == EROFS)
		return "read-only file system. The service's unit keeps this machine's files "
		       "read-only: 'msp stop' the sandbox and use --standalone, or name the "
		       "project in ReadWritePaths= ('systemctl --user edit msp.service')";
	return errno_text(error);
}

int change_explain_error(const struct ipc_changes_done *done)
{
	static const char *const steps[CHANGES_STEP_COUNT] = {
		[CHANGES_STEP_NONE] = "the changes cannot be worked on",
		[CHANGES_STEP_READ] = "the sandbox's or this machine's files cannot be read",
		[CHANGES_STEP_OUTPUT] = "the changes cannot be told of",
		[CHANGES_STEP_JOURNAL] = "what would be done cannot be written down, so that "
					 "nothing was changed",
		[CHANGES_STEP_WRITE] = "this machine's files cannot be changed; what was begun is "
				       "taken back",
		[CHANGES_STEP_HELPER] = "msp-layers did not end as it should",
	};

	if (!done->error)
		return 0;
	if (done->step == CHANGES_STEP_CONFIRMED)
		return change_explain_others(); /* ESTALE says less */
	if (done->error == EOWNERDEAD) {
		/* The reader is asked before anything is changed. */
		log_line("nothing was changed: the process that reads git's objects ended early, "
			 "killed or out of memory; try again");
		return MSP_EXIT_SOFTWARE;
	}
	log_line("%s: %s", steps[done->step < CHANGES_STEP_COUNT ? done->step : CHANGES_STEP_NONE],
		 explain_errno((int)done->error));
	return MSP_EXIT_SOFTWARE;
}
