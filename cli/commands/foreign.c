/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/foreign.h"

#include <unistd.h>

#include "common/format.h"
#include "common/ipc_changes.h"
#include "common/ipc_persistent.h"
#include "common/log.h"
#include "show/change_text.h"

/* So many are named. */
#define NAMED_MAX 10

struct unchangeable {
	uint32_t count;
	char names[NAMED_MAX][256]; /* as printed; a longer one is cut */
};

static void on_change(void *context, const struct change *change)
{
	struct unchangeable *unchangeable = context;

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

	if (done->total == 0)
		return;
	log_line("%llu file%s and %u director%s of the workspace have another owner or group: %u "
		 "can be changed in the sandbox, %u cannot%s",
		 (unsigned long long)files, files == 1 ? "" : "s", done->conflicts,
		 done->conflicts == 1 ? "y" : "ies", done->applied, done->held,
		 done->held ? "; to change those too, chown them to yourself" : "");
}

int foreign_prepare(struct asking *asking, const struct ipc_sandbox_info *info, const char *act)
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
	print_counts(done);
	print_unchangeable(&unchangeable);
	if (done->step == CHANGES_STEP_READ)
		log_line("the workspace is large: only its first %llu names were searched for "
			 "files of other owners and groups",
			 (unsigned long long)done->ignored);
	return 0;
}

void foreign_write(struct json_writer *writer, const struct ipc_changes_done *done)
{
	json_open_object(writer, "foreign");
	json_put_number(writer, "total", done->total);
	json_put_number(writer, "prepared", done->applied);
	json_put_number(writer, "unchangeable", done->held);
	json_put_number(writer, "searched", done->ignored);
	json_put_bool(writer, "complete", !done->error && done->step != CHANGES_STEP_READ);
	json_close_object(writer);
}
