/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is told of which persistent sandboxes, and how a list is told that is longer than a channel.
 */
#include "front/handlers_list.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/ipc_store.h"
#include "common/ipc/refusal.h"
#include "front/handlers.h"
#include "persistent_rig.h"

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

TestSuite(handlers_list, .init = open_rig, .fini = close_rig, .timeout = 60);

static const struct ipc_sandbox_info *take_info(uint64_t number)
{
	const struct ipc_sandbox_info *info = rig_body(&rig.frontend, sandbox_info);

	cr_assert_eq(info->request, number);
	return info;
}

static void take_done(uint64_t number)
{
	cr_assert_eq(rig_body(&rig.frontend, request_done)->request, number);
}

/* The refusal's detail. */
static const char *take_refused(uint64_t number, enum refusal reason)
{
	static char detail[IPC_LIST_MAX];
	const struct ipc_execution_refused *refused = rig_body(&rig.frontend, execution_refused);

	cr_assert_eq(refused->request, number);
	cr_assert_eq(refused->reason, reason, "%u: %s", refused->reason, refused->detail);
	memcpy(detail, refused->detail, sizeof(detail));
	return detail;
}

static void send_end(uint64_t number, const char *name, uint32_t how)
{
	struct ipc_sandbox_end ask = { .request = number, .how = how };

	strncpy(ask.sandbox, name, sizeof(ask.sandbox) - 1);
	rig_send(&rig.frontend, IPC_TYPE_sandbox_end, &ask, NULL);
}

static void send_list(const char *owner, uint32_t is_everybody)
{
	struct ipc_sandbox_list ask = { .request = 5, .is_everybody = is_everybody };

	strncpy(ask.owner, owner, sizeof(ask.owner) - 1);
	rig_send(&rig.frontend, IPC_TYPE_sandbox_list, &ask, NULL);
}

static void make_owned(const char *owner)
{
	struct store_census census = PLACE_NO_LIMITS;
	int fd;

	memset(&meta, 0, sizeof(meta));
	strncpy(meta.owner, owner, sizeof(meta.owner) - 1);
	memcpy(meta.profile, "default", sizeof("default"));
	meta.ttl_s = 3600;
	fd = store_create(&meta, &census);
	cr_assert_geq(fd, 0);
	fd_close(&fd);
}

Test(handlers_list, a_list_is_of_ones_own)
{
	persistent_make("one", &meta);
	make_owned("token");
	send_list("", 0);
	cr_expect_str_eq(take_info(5)->name, "one");
	take_done(5);
	send_list("token", 0);
	cr_expect_str_eq(take_info(5)->owner, "token");
	take_done(5);
	send_list("other", 0);
	take_done(5);
	send_list("", 1);
	(void)take_info(5);
	(void)take_info(5);
	take_done(5);
	rig_take_nothing(&rig.frontend);
}

static void send_called(const char *owner, const char *name, uint32_t is_everybody)
{
	struct ipc_sandbox_list ask = { .request = 5, .is_everybody = is_everybody };

	strncpy(ask.owner, owner, sizeof(ask.owner) - 1);
	strncpy(ask.sandbox, name, sizeof(ask.sandbox) - 1);
	rig_send(&rig.frontend, IPC_TYPE_sandbox_list, &ask, NULL);
}

Test(handlers_list, one_is_asked_for_by_what_it_is_called)
{
	char id[IPC_ID_MAX];

	persistent_make("one", &meta);
	persistent_make("two", &meta);
	store_id_text(meta.id, id);
	send_called("", "two", 0);
	cr_expect_str_eq(take_info(5)->id, id);
	take_done(5);
	send_called("", id, 0);
	cr_expect_str_eq(take_info(5)->name, "two");
	take_done(5);
	send_called("", "three", 0);
	take_done(5);
	send_called("token", "two", 0);
	take_done(5);
	send_called("token", id, 0);
	take_done(5);
	rig_take_nothing(&rig.frontend);
	send_called("", "two", 1);
	rig_take_end(&rig.frontend);
}

Test(handlers_list, a_broker_does_not_see_everybodys)
{
	RIG_FRONTEND->is_broker = true;
	send_list("", 1);
	rig_take_end(&rig.frontend);
}

/* It ended without reading: what it said behind its question was a goodbye. */
Test(handlers_list, who_is_gone_before_the_answer_has_said_goodbye)
{
	const struct ipc_sandbox_list list = { .request = 5 };

	persistent_make("one", &meta);
	RIG_FRONTEND->is_broker = true;
	supervisor.is_service = false;
	cr_assert_eq(channel_send(&rig.frontend, IPC_TYPE_sandbox_list, &list, NULL, MSG_DONTWAIT),
		     0);
	cr_assert_eq(channel_send(&rig.frontend, IPC_TYPE_goodbye, &(struct ipc_goodbye){ 0 }, NULL,
				  MSG_DONTWAIT),
		     0);
	fd_close(&rig.frontend.fd);
	rig_turn();
	cr_expect_eq(RIG_FRONTEND->state, FRONTEND_FREE);
	cr_expect_eq(supervisor.exit_status, 0);
}

Test(handlers_list, a_list_says_who_has_it)
{
	int fd = place_create("one", &meta);

	send_list("", 0);
	cr_expect_eq(take_info(5)->is_elsewhere, 1);
	take_done(5);
	fd_close(&fd);
	send_list("", 0);
	cr_expect_eq(take_info(5)->is_elsewhere, 0);
	take_done(5);
}

Test(handlers_list, a_list_says_what_lives)
{
	struct rig_sandbox live;
	const struct ipc_sandbox_info *info;

	persistent_make("one", &meta);
	live = persistent_begin(&rig, 1, "one");
	send_list("", 0);
	info = take_info(5);
	cr_expect_eq(info->is_live, 1);
	cr_expect_eq(info->is_elsewhere, 0);
	cr_expect_eq(info->executions, 1);
	take_done(5);
	rig_end(&live);
}

static void damage(void)
{
	int fd = place_take("one", &meta);
	int file = openat(fd, "meta", O_WRONLY | O_CLOEXEC);

	cr_assert_eq(pwrite(file, "x", 1, 0), 1);
	fd_close(&file);
	fd_close(&fd);
}

Test(handlers_list, damage_is_shown_and_can_be_got_rid_of)
{
	const struct ipc_sandbox_info *info;
	char id[IPC_ID_MAX];

	persistent_make("one", &meta);
	persistent_make("two", &meta);
	damage();
	send_list("token", 0);
	take_done(5);
	send_list("", 0);
	for (int i = 0; i < 2; i++) {
		info = take_info(5);
		if (!info->is_damaged)
			cr_expect_str_eq(info->name, "two");
		else
			memcpy(id, info->id, sizeof(id));
	}
	take_done(5);
	send_end(6, id, SANDBOX_END_STOP);
	(void)take_refused(6, REFUSAL_SANDBOX_DAMAGED);
	send_end(7, id, SANDBOX_END_DESTROY);
	take_done(7);
	send_end(8, id, SANDBOX_END_DESTROY);
	(void)take_refused(8, REFUSAL_SANDBOX_UNKNOWN);
	cr_expect_eq(place_count("sandboxes"), 1);
}

#define MANY 100

/* More than is told at once: who read a piece asks for the next. */
Test(handlers_list, a_long_list_is_told_in_pieces)
{
	struct ipc_sandbox_list ask = { .request = 5, .owner = "token" };
	char last[IPC_ID_MAX] = "";
	int pieces = 1;
	int told = 0;

	for (int i = 0; i < MANY; i++)
		make_owned(i % 2 ? "token" : "");
	rig_send(&rig.frontend, IPC_TYPE_sandbox_list, &ask, NULL);
	for (;;) {
		struct channel_message message;
		enum ipc_error wrong;

		cr_assert_eq(channel_receive(&rig.frontend, &message, MSG_DONTWAIT, &wrong), 1);
		if (message.type == IPC_TYPE_request_done)
			break;
		if (message.type == IPC_TYPE_sandbox_info) {
			cr_expect_str_eq(ipc_body(&message, sandbox_info)->owner, "token");
			cr_expect_gt(strcmp(ipc_body(&message, sandbox_info)->id, last), 0);
			memcpy(last, ipc_body(&message, sandbox_info)->id, sizeof(last));
			told++;
			continue;
		}
		cr_assert_eq(message.type, IPC_TYPE_sandbox_more);
		cr_expect_str_eq(ipc_body(&message, sandbox_more)->owner, "token");
		memcpy(ask.after, ipc_body(&message, sandbox_more)->after, sizeof(ask.after));
		rig_send(&rig.frontend, IPC_TYPE_sandbox_list, &ask, NULL);
		pieces++;
	}
	cr_expect_eq(told, MANY / 2);
	cr_expect_gt(pieces, 3);
	rig_take_nothing(&rig.frontend);
}

Test(handlers_list, what_is_over_is_not_in_a_list)
{
	char path[64];
	char id[IPC_ID_MAX];

	persistent_make("one", &meta);
	store_id_text(meta.id, id);
	(void)snprintf(path, sizeof(path), "sandboxes/%s", id);
	place_age(path, 4000);
	send_list("", 0);
	take_done(5);
	cr_expect_eq(place_count("sandboxes"), 0);
}
