/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes and work on a directory of the host, which the test opens as the launcher.
 */
#include "persistent/workspace.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/layer_role.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "front/frontend.h"
#include "persistent_rig.h"
#include "support.h"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	persistent_open(&rig, &launcher);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(sandbox_workspace, .init = open_rig, .fini = close_rig, .timeout = 60);

static void make_named(const char *name, uint32_t mode, const char *path, uint32_t is_persons)
{
	struct stat is;
	int fd = place_create(name, &meta);

	cr_assert_eq(stat(path, &is), 0);
	meta.workspace_mode = mode;
	meta.workspace_device = is.st_dev;
	meta.workspace_inode = is.st_ino;
	meta.is_persons = is_persons;
	(void)snprintf(meta.workspace, sizeof(meta.workspace), "%s", path);
	cr_assert_eq(store_save(fd, &meta), 0);
	fd_close(&fd);
}

static void make_working(uint32_t mode, const char *path)
{
	make_named("box", mode, path, 1);
}

static void answer_workspace(const char *path)
{
	static struct ipc_workspace_open answer;
	const struct ipc_workspace_ask *ask = rig_body(&launcher, workspace_ask);
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_str_eq(ask->path, meta.workspace);
	cr_assert_eq(ask->is_person, 1);
	answer.number = ask->number;
	(void)snprintf(answer.path, sizeof(answer.path), "%s", path);
	persistent_open_workspace(&launcher, &answer, fd);
	fd_close(&fd);
}

Test(sandbox_workspace, its_workspace_is_opened_by_the_launcher)
{
	struct channel_message *message;
	struct stat found, meant;

	make_working(WORKSPACE_COPY, "/usr");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	rig_take_nothing(&rig.frontend);
	rig_take_nothing(&rig.factory);
	answer_workspace("/usr");
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_workspace);
	cr_assert_eq(fstat(message->fds[0], &found), 0);
	cr_assert_eq(stat("/usr", &meant), 0);
	cr_assert_eq(found.st_ino, meant.st_ino);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
	cr_assert_eq(ipc_body(message, sandbox_layer)->role, LAYER_LOWER);
	cr_assert_str_eq(ipc_body(message, sandbox_layer)->id, "");
}

/* A person may use what a model made, and a model what a person made for it; a model that another
 * one made something for asks for itself. */
Test(sandbox_workspace, a_model_is_asked_about_as_one)
{
	static const struct {
		uint32_t is_persons;
		bool is_broker;
		uint32_t expected;
	} rows[] = { { 0, false, 1 }, { 0, true, 0 }, { 1, false, 1 }, { 1, true, 1 } };
	static struct ipc_workspace_bad bad = { .text = "no" };

	for (uint32_t i = 0; i < 4; i++) {
		const struct ipc_workspace_ask *ask;
		char name[] = "box0";

		name[3] = (char)('0' + i);
		make_named(name, WORKSPACE_READ, "/usr", rows[i].is_persons);
		RIG_FRONTEND->is_broker = rows[i].is_broker;
		rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(i, name),
			 NULL);
		ask = rig_body(&launcher, workspace_ask);
		cr_expect_eq(ask->is_person, rows[i].expected, "%u", i);
		bad.number = ask->number;
		rig_send(&launcher, IPC_TYPE_workspace_bad, &bad, NULL);
		rig_take_refused(&rig, i, REFUSAL_WORKSPACE);
	}
}

static uint32_t asked_as(void)
{
	static struct ipc_workspace_open answer = { .path = "/usr" };
	const struct ipc_workspace_ask *ask = rig_body(&launcher, workspace_ask);
	const uint32_t is_person = ask->is_person;
	int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	answer.number = ask->number;
	persistent_open_workspace(&launcher, &answer, fd);
	fd_close(&fd);
	return is_person;
}

/* That it is live, through somebody who may, opens it to nobody. */
Test(sandbox_workspace, a_model_that_joins_is_asked_about_too)
{
	static struct ipc_workspace_bad bad = { .text = "not in your directory" };

	make_named("box", WORKSPACE_READ, "/usr", 0);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	cr_expect_eq(asked_as(), 1);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	memset(RIG_FRONTEND->opened, 0, sizeof(RIG_FRONTEND->opened));
	RIG_FRONTEND->is_broker = true;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	bad.number = rig_body(&launcher, workspace_ask)->number;
	rig_send(&launcher, IPC_TYPE_workspace_bad, &bad, NULL);
	rig_take_refused(&rig, 2, REFUSAL_WORKSPACE);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(3, "box"), NULL);
	cr_expect_eq(asked_as(), 0);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(4, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_take_nothing(&launcher);
}

Test(sandbox_workspace, a_workspace_that_is_another_is_refused)
{
	make_working(WORKSPACE_READ, "/usr");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	answer_workspace("/etc");
	rig_take_refused(&rig, 1, REFUSAL_WORKSPACE);
	cr_assert(persistent_is_free("box"));
	meta.workspace_inode++;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	answer_workspace("/usr");
	rig_take(&rig.frontend, IPC_TYPE_execution_started);
}

Test(sandbox_workspace, a_workspace_that_may_not_be_is_refused_in_the_launchers_words)
{
	static struct ipc_workspace_bad bad = { .text = "/usr is protected" };
	const struct channel_message *message;

	make_working(WORKSPACE_READ, "/usr");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	bad.number = rig_body(&launcher, workspace_ask)->number;
	rig_send(&launcher, IPC_TYPE_workspace_bad, &bad, NULL);
	message = rig_take(&rig.frontend, IPC_TYPE_execution_refused);
	cr_assert_eq(ipc_body(message, execution_refused)->reason, REFUSAL_WORKSPACE);
	cr_assert_str_eq(ipc_body(message, execution_refused)->detail, bad.text);
}

Test(sandbox_workspace, without_a_launcher_no_workspace_is_opened)
{
	make_working(WORKSPACE_READ, "/usr");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	fd_close(&launcher.fd);
	rig_turn();
	rig_take_refused(&rig, 1, REFUSAL_WORKSPACE);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	rig_take_refused(&rig, 2, REFUSAL_WORKSPACE);
}

Test(sandbox_workspace, what_waits_goes_with_its_frontend)
{
	const size_t before = fd_count_open();

	supervisor.is_service = true;
	make_working(WORKSPACE_READ, "/usr");
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	cr_assert_not(persistent_is_free("box"));
	rig_take_nothing(&rig.factory);
	frontend_end(RIG_FRONTEND, CLIENT_END_DONE);
	rig_turn();
	answer_workspace("/usr");
	cr_assert(persistent_is_free("box"));
	rig_release();
	cr_assert_eq(fd_count_open(), before - 1, "but the frontend's channel");
}
