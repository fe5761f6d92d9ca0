/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/ps_others.h"

#include <stdbool.h>
#include <string.h>

#include "audit/open_executions.h"
#include "audit/sandbox_history.h"
#include "background/note.h"
#include "common/format.h"
#include "common/ipc_persistent.h"

struct others {
	const struct background *known;
	size_t known_count;
	void (*take)(void *context, const struct background *command);
	void *context;
	bool has_log;
	struct audit_log log;
	struct open_executions open;
};

/* Return whether a background command is this execution: the same words, begun in the time of its
 * request. */
static bool has_keeper(const struct others *others, const struct open_execution *one)
{
	char hash[2 * SHA256_BYTES + 1];

	for (size_t i = 0; i < others->known_count; i++) {
		const struct background *known = &others->known[i];

		if (known->state != BACKGROUND_RUNNING ||
		    strcmp(known->sandbox, one->sandbox) != 0 ||
		    one->time_us < known->note.asked_us || one->time_us > known->note.begun_us)
			continue;
		format_hex(known->note.argv_sha256, SHA256_BYTES, hash);
		if (strcmp(hash, one->argv_sha256) == 0)
			return true;
	}
	return false;
}

static uint32_t count_known(const struct others *others, const char *sandbox)
{
	uint32_t count = 0;

	for (size_t i = 0; i < others->known_count; i++)
		count += others->known[i].state == BACKGROUND_RUNNING &&
			 strcmp(others->known[i].sandbox, sandbox) == 0;
	return count;
}

static void tell_other(const struct others *others, const char *sandbox,
		       const struct open_execution *one)
{
	static struct background other;
	const struct history_note *command = NULL;

	memset(&other, 0, sizeof(other));
	format_text(other.sandbox, sizeof(other.sandbox), "%s", sandbox);
	other.state = BACKGROUND_RUNNING;
	if (one) {
		other.note.begun_us = one->time_us;
		command = sandbox_history_find(one->pid, one->execution, one->time_us);
	}
	if (command)
		other.note.command = *command;
	others->take(others->context, &other);
}

/* Tell of the executions of one sandbox, the newest first: as many as its supervisor counts, or
 * those of the log if another supervisor has it. */
static void tell_sandbox(const struct others *others, const struct ipc_sandbox_info *info)
{
	const uint32_t known = count_known(others, info->id);
	uint32_t left = info->executions > known ? info->executions - known : 0;

	if (info->is_elsewhere)
		left = SANDBOX_EXECUTIONS_MAX;
	if (left == 0)
		return;
	if (others->has_log)
		sandbox_history_open(others->log.directory, info->id);
	for (size_t i = others->open.count; i-- > 0 && left > 0;) {
		const struct open_execution *one = &others->open.list[i];

		if (strcmp(one->sandbox, info->id) != 0 || has_keeper(others, one))
			continue;
		tell_other(others, info->id, one);
		left--;
	}
	for (; left > 0 && !info->is_elsewhere; left--)
		tell_other(others, info->id, NULL);
}

static bool is_any_used(const struct others *others, const struct ipc_sandbox_info *sandboxes,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (sandboxes[i].is_elsewhere ||
		    sandboxes[i].executions > count_known(others, sandboxes[i].id))
			return true;
	}
	return false;
}

void ps_find_others(const struct ipc_sandbox_info *sandboxes, size_t sandbox_count,
		    const struct background *known, size_t known_count,
		    void (*take)(void *context, const struct background *command), void *context)
{
	static struct others others;
	const struct audit_taker taker = { .take = open_executions_take,
					   .context = &others.open,
					   .is_quiet = true };
	uint64_t bad;
	char text[STATE_PLACE_TEXT_MAX];

	others.known = known;
	others.known_count = known_count;
	others.take = take;
	others.context = context;
	if (!is_any_used(&others, sandboxes, sandbox_count))
		return;
	/* An operator may do without a log; then only their number is known. */
	others.has_log = audit_log_find(&others.log, text);
	if (others.has_log && audit_log_each(&others.log, 0, &taker, &bad) != 0)
		others.open.count = 0;
	for (size_t i = 0; i < sandbox_count; i++)
		tell_sandbox(&others, &sandboxes[i]);
	if (others.has_log)
		audit_log_done(&others.log);
}
