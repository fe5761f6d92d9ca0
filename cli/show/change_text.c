/* SPDX-License-Identifier: Apache-2.0 */
#include "show/change_text.h"

#include <errno.h>
#include <stdio.h>

#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/utf8.h"
#include "frontend/words/changes.h"
#include "show/quote.h"

const char *change_path(const struct change *change)
{
	static struct buffer text;

	text.size = 0;
	change_put_path(&text, QUOTE_ASCII, change);
	return text.bytes;
}

const char *change_name(const struct change *change)
{
	static struct buffer text;

	text.size = 0;
	change_put_name(&text, QUOTE_ASCII, change);
	return text.bytes;
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
	if (change->is.kind == CHANGE_RENAMED)
		(void)printf("%s => ", quote_shown(change->old_path, change->is.old_path_size));
	(void)fputs(change_name(change), stdout);
	if (change->is.kind == CHANGE_MODE) {
		(void)printf("  (mode %o -> %o", change->is.old_mode & 07777,
			     change->is.new_mode & 07777);
		is_first = false;
	}
	for (size_t i = 0; i < CHANGE_WORDS; i++) {
		if (!change_words[i].text || !(said & change_words[i].flag))
			continue;
		(void)printf("%s%s", is_first ? "  (" : "; ", change_words[i].text);
		is_first = false;
	}
	if (change->is.unmerged)
		(void)printf("%snot merged: %s", is_first ? "  (" : "; ",
			     unmerged_words[change->is.unmerged].text);
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
	for (size_t i = 0; i < CHANGE_WORDS; i++) {
		if (is->flags & change_words[i].flag)
			json_put_bool(json, change_words[i].name, true);
	}
	if (is->unmerged)
		json_put_text(json, "unmerged", unmerged_words[is->unmerged].word);
	if (has_patch && is->patch_size > 0)
		write_bytes(json, "patch", change->patch, is->patch_size);
	json_close_object(json);
}

int change_explain_others(void)
{
	return log_fail(MSP_EXIT_SOFTWARE,
			"the changes are not those any more that were shown, and nothing was "
			"applied: see to it that nothing runs in the sandbox, and try again");
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
	if (!done->error)
		return 0;
	if (done->step == CHANGES_STEP_CONFIRMED)
		return change_explain_others(); /* ESTALE says less */
	if (done->error == EOWNERDEAD) {
		/* The reader is asked before anything is changed. */
		return log_fail(MSP_EXIT_SOFTWARE,
				"nothing was changed: the process that reads git's objects ended "
				"early, killed or out of memory; try again");
	}
	return log_fail(MSP_EXIT_SOFTWARE, "%s: %s", changes_step_words(done->step)->people,
			explain_errno((int)done->error));
}
