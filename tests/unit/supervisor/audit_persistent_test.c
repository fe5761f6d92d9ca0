/* SPDX-License-Identifier: Apache-2.0
 *
 * What the audit log says of persistent sandboxes: each record of what happens in one names it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit_peer.h"
#include "base/audit.h"
#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "common/records/denial.h"
#include "persistent_rig.h"
#include "run/deferred.h"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;
static char id[IPC_ID_MAX];

static char records[65536];
static size_t seen; /* of them */
static struct audit_peer peer;

/* The supervisor waits a moment only for an answer, and a start then comes later. */
static void settle(void)
{
	audit_peer_settle(&peer);
}

static void open_rig(void)
{
	static struct audit_place place = { .channel = -1 };
	char path[64];

	persistent_open(&rig, &launcher);
	(void)snprintf(path, sizeof(path), "%s/audit", place_path);
	cr_assert_eq(mkdir(path, 0700), 0);
	peer = audit_peer_start(path);
	place.channel = peer.channel;
	memcpy(place.path, path, sizeof(path));
	audit_open(&place, FRONTEND_LAUNCHER);
	audit_await_start(deferred_audited); /* a request whose record takes long goes on then */
	rig_others_settle = settle;
	persistent_make("one", &meta);
	store_id_text(meta.id, id);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(audit_persistent, .init = open_rig, .fini = close_rig, .timeout = 60);

/* The next record but `start`, from its event on; NULL: there is none. */
static char *next_record(void)
{
	static char line[AUDIT_LINE_MAX];
	char path[80];
	ssize_t size;
	char *end;
	int fd;

	audit_peer_settle(&peer);
	(void)snprintf(path, sizeof(path), "%s/audit/audit.jsonl", place_path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, records, sizeof(records) - 1);
	fd_close(&fd);
	cr_assert_gt(size, 0);
	records[size] = '\0';
	do {
		end = strchr(records + seen, '\n');
		if (!end)
			return NULL;
		(void)snprintf(line, sizeof(line), "%.*s", (int)(end - records - (ssize_t)seen),
			       records + seen);
		seen = (size_t)(end - records) + 1;
	} while (strstr(line, "\"event\":\"start\""));
	end = strstr(line, ",\"previous\":");
	cr_assert(end);
	*end = '\0';
	return strstr(line, "\"event\":") + strlen("\"event\":");
}

/* The next record is of this event and has these fields, in a row. */
static const char *expect(const char *event, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static const char *expect(const char *event, const char *format, ...)
{
	const char *record = next_record();
	char fields[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(fields, sizeof(fields), format, arguments);
	va_end(arguments);
	cr_assert(record, "no %s", event);
	cr_assert_eq(strncmp(record + 1, event, strlen(event)), 0, "%s: %s", event, record);
	cr_assert(strstr(record, fields), "%s: %s", fields, record);
	return record;
}

static void expect_nothing(void)
{
	const char *record = next_record();

	cr_assert_not(record, "%s", record);
}

static void send_checkpoint(uint32_t operation, uint32_t number)
{
	const struct ipc_checkpoint_do ask = {
		.request = 7, .operation = operation, .number = number, .sandbox = "one"
	};

	rig_send(&rig.frontend, IPC_TYPE_checkpoint_do, &ask, NULL);
}

static void send_end(const char *name, uint32_t how)
{
	struct ipc_sandbox_end ask = { .request = 8, .how = how };

	strncpy(ask.sandbox, name, sizeof(ask.sandbox) - 1);
	rig_send(&rig.frontend, IPC_TYPE_sandbox_end, &ask, NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_request_done);
}

Test(audit_persistent, one_that_is_made)
{
	struct ipc_sandbox_new ask = { .request = 1, .name = "two" };
	char made[IPC_ID_MAX];

	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, &ask, NULL);
	memcpy(made, rig_body(&rig.frontend, sandbox_info)->id, sizeof(made));
	cr_expect_not(strstr(expect("sandbox_begin",
				    ",\"sandbox\":\"%s\",\"frontend\":%llu,\"profile\":\"default\","
				    "\"workspace\":\"none\"",
				    made, (unsigned long long)RIG_FRONTEND->number),
			     "origin"));
	cr_expect_not(strstr(records, "two"), "a name is somebody's word");
	expect_nothing();
}

Test(audit_persistent, checkpoints_and_stops)
{
	const unsigned long long number = RIG_FRONTEND->number;
	static const char same[] = ",\"sandbox\":\"%s\",\"frontend\":%llu,\"operation\":\"%s\","
				   "\"checkpoint\":%u";
	static const struct {
		uint32_t operation, number;
		const char *word;
		uint32_t checkpoint;
	} rows[] = {
		{ CHECKPOINT_SAVE, 0, "save", 1 },
		{ CHECKPOINT_SAVE, 0, "save", 2 },
		{ CHECKPOINT_ROLLBACK, 1, "rollback", 1 },
		{ CHECKPOINT_DELETE, 2, "delete", 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		send_checkpoint(rows[i].operation, rows[i].number);
		(void)rig_take(&rig.frontend, rows[i].operation == CHECKPOINT_SAVE
						      ? IPC_TYPE_checkpoint_info
						      : IPC_TYPE_request_done);
		(void)expect("sandbox_change", same, id, number, rows[i].word, rows[i].checkpoint);
	}
	send_checkpoint(CHECKPOINT_LIST, 0);
	(void)rig_take(&rig.frontend, IPC_TYPE_checkpoint_info);
	(void)rig_take(&rig.frontend, IPC_TYPE_request_done);
	send_end("one", SANDBOX_END_STOP);
	(void)expect("sandbox_change", same, id, number, "stop", 0);
	send_end("one", SANDBOX_END_DESTROY);
	(void)expect("sandbox_end", ",\"sandbox\":\"%s\",\"reason\":\"destroyed\"", id);
	expect_nothing();
}

Test(audit_persistent, what_is_refused_changed_nothing)
{
	send_checkpoint(CHECKPOINT_ROLLBACK, 9);
	rig_take_refused(&rig, 7, REFUSAL_CHECKPOINT_UNKNOWN);
	(void)expect("refused", "\"reason\":\"checkpoint_unknown\"");
	send_checkpoint(CHECKPOINT_DELETE, 9);
	rig_take_refused(&rig, 7, REFUSAL_CHECKPOINT_UNKNOWN);
	(void)expect("refused", "\"reason\":\"checkpoint_unknown\"");
	expect_nothing();
}

Test(audit_persistent, a_fork_says_what_it_is_of)
{
	char fork[IPC_ID_MAX];

	send_checkpoint(CHECKPOINT_SAVE, 0);
	(void)rig_take(&rig.frontend, IPC_TYPE_checkpoint_info);
	(void)expect("sandbox_change", "\"save\"");
	for (unsigned int number = 0; number < 2; number++) {
		send_checkpoint(CHECKPOINT_FORK, number);
		memcpy(fork, rig_body(&rig.frontend, sandbox_info)->id, sizeof(fork));
		cr_assert_neq(strcmp(fork, id), 0);
		(void)expect("sandbox_begin", ",\"sandbox\":\"%s\",\"frontend\":", fork);
	}
	seen = 0;
	(void)expect("sandbox_change", "\"save\"");
	(void)expect("sandbox_begin", ",\"origin\":\"%s\",\"checkpoint\":0", id);
	(void)expect("sandbox_begin", ",\"origin\":\"%s\",\"checkpoint\":1", id);
	expect_nothing();
}

static void finish(const struct rig_sandbox *live, const struct ipc_spawn_done *done)
{
	rig_send(&live->init, IPC_TYPE_spawn_done, done, NULL);
	(void)rig_take_done(&rig, live->request);
}

Test(audit_persistent, every_record_of_its_executions_names_it)
{
	static const struct denial denial = { .layer = DENIAL_FILES, .count = 3 };
	struct ipc_spawn_done done = { .status = SIGKILL,
				       .over_memory = 1,
				       .denials_size = sizeof(denial) };
	struct rig_sandbox live = persistent_begin(&rig, 1, "one");
	char named[64];

	(void)snprintf(named, sizeof(named), ",\"sandbox\":\"%s\"", id);
	(void)expect("execution_begin", "%s,\"file_tool\":0", named);
	done.slot = live.slot;
	memcpy(done.denials, &denial, sizeof(denial));
	finish(&live, &done);
	(void)expect("denial",
		     "\"layer\":\"landlock\",\"operation\":\"files\",\"argument\":0,"
		     "\"count\":3%s",
		     named);
	(void)expect("denial", "\"operation\":\"memory\",\"argument\":0,\"count\":1%s", named);
	(void)expect("limit", "\"limit\":\"memory\"%s", named);
	(void)expect("execution_end", "\"verdict\":\"memory\"");
	seen = 0;
	for (const char *record = next_record(); record; record = next_record())
		cr_expect(strstr(record, named), "%s", record);
	rig_end(&live);
}

/* The plan of a request says what its record has of the words. */
Test(audit_persistent, a_plan_can_ask_for_the_words_of_commands)
{
	struct ipc_spawn_done done = { .status = 0 };
	struct rig_sandbox live;
	const char *record;

	small_plan.header.audit_text = 1;
	live = persistent_begin(&rig, 1, "one");
	record = expect("execution_begin", "\"file_tool\":0,\"command\":[\"");
	cr_expect_not(strstr(record, "command_missing"), "%s", record);
	done.slot = live.slot;
	finish(&live, &done);
	(void)expect("execution_end", "\"verdict\":\"exited\"");
	small_plan.header.audit_text = 0;
	live = persistent_join(&rig, 2, "one", &live);
	record = expect("execution_begin", "\"file_tool\":0");
	cr_expect_not(strstr(record, "command"), "%s", record);
	rig_end(&live);
}

Test(audit_persistent, figures_that_are_not_known_are_left_out)
{
	struct ipc_spawn_done done = { .cpu_us = 7, .peak_bytes = 8 };
	struct rig_sandbox live = persistent_begin(&rig, 1, "one");
	struct rig_sandbox second;
	const char *record;

	(void)expect("execution_begin", "\"execution\":1");
	done.slot = live.slot;
	finish(&live, &done);
	record = expect("execution_end", "\"wall_us\":");
	cr_expect_not(strstr(record, "cpu_us") || strstr(record, "peak_bytes"), "%s", record);
	second = persistent_join(&rig, 2, "one", &live);
	(void)expect("execution_begin", "\"execution\":2");
	done.slot = second.slot;
	done.is_whole = 1;
	rig_send(&live.init, IPC_TYPE_spawn_done, &done, NULL);
	(void)rig_take_done(&rig, 2);
	(void)expect("execution_end", "\"cpu_us\":7,\"peak_bytes\":8,\"sandbox\":");
	rig_end(&second);
	rig_end(&live);
}

static void send_changes(uint64_t request, uint32_t operation)
{
	const struct ipc_changes_start start = { .request = request,
						 .operation = operation,
						 .sandbox = "one" };

	rig_send(&rig.frontend, IPC_TYPE_changes_start, &start, &supervisor.nothing);
}

/* What is shown copy-on-write, and the descriptor for it. */
static void have_workspace(void)
{
	int fd = place_take("one", &meta);
	struct stat is;

	cr_assert_eq(stat("/usr", &is), 0);
	meta.workspace_mode = WORKSPACE_COPY;
	meta.workspace_device = is.st_dev;
	meta.workspace_inode = is.st_ino;
	memcpy(meta.workspace, "/usr", sizeof("/usr"));
	cr_assert_eq(store_save(fd, &meta), 0);
	fd_close(&fd);
}

static void open_workspace_once(void)
{
	static struct ipc_workspace_open answer = { .path = "/usr" };
	int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	answer.number = rig_body(&launcher, workspace_ask)->number;
	persistent_open_workspace(&launcher, &answer, fd);
	fd_close(&fd);
}

/* A request whose record takes longer than the supervisor waits runs again, and asks again. */
static void open_workspace(void)
{
	char byte;

	do
		open_workspace_once();
	while (recv(launcher.fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) > 0);
}

/* As many read already as can. */
Test(audit_persistent, an_apply_that_cannot_begin_has_an_end)
{
	have_workspace();
	for (uint64_t i = 0; i < LAYERS_JOBS_MAX - LAYERS_JOBS_FOR_SCANS; i++) {
		send_changes(i, CHANGES_DIFF);
		open_workspace();
		(void)rig_take(&rig.frontend, IPC_TYPE_changes_started);
	}
	send_changes(50, CHANGES_APPLY);
	open_workspace();
	rig_take_refused(&rig, 50, REFUSAL_RESOURCES);
	(void)expect("apply_begin", "\"request\":50,\"operation\":\"apply\"");
	(void)expect("apply_end", ",\"sandbox\":\"%s\",\"request\":50,\"error\":%d,", id, EAGAIN);
	(void)expect("refused", "\"reason\":\"resources\"");
	expect_nothing();
}

Test(audit_persistent, others_name_none)
{
	static const struct denial denial = { .layer = DENIAL_FILES, .count = 1 };
	struct ipc_spawn_done done = { .denials_size = sizeof(denial) };
	struct rig_sandbox single = rig_begin(&rig, 1);

	rig_answer(&rig, &single);
	done.slot = single.slot;
	memcpy(done.denials, &denial, sizeof(denial));
	finish(&single, &done);
	for (int i = 0; i < 3; i++)
		cr_expect_not(strstr(next_record(), "\"sandbox\""), "%s", records);
	expect_nothing();
	rig_end(&single);
}
