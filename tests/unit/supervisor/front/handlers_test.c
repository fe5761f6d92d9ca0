/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frontend and a factory may say, and what their going away means.
 */
#include "front/handlers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/limits_mode.h"
#include "common/ipc/refusal.h"
#include "rig.h"
#include "small_plan.h"
#include "support.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(handlers, .init = open_rig, .fini = close_rig, .timeout = 60);

static void say_hello(uint8_t change)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	hello.schema[IPC_SCHEMA_BYTES - 1] ^= change;
	rig_send(&rig.frontend, IPC_TYPE_hello, &hello, NULL);
}

static void be_welcomed(void)
{
	say_hello(0);
	(void)rig_take(&rig.frontend, IPC_TYPE_welcome);
	rig_release(); /* the plan */
	rig.frontend.phase = IPC_SERVE;
}

static void expect_end(const struct channel *channel, int exit_status)
{
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, exit_status, "%d", supervisor.exit_status);
	rig_take_end(channel);
}

Test(handlers, hello_is_answered_with_the_posture)
{
	const struct ipc_welcome *welcome;

	say_hello(0);
	welcome = rig_body(&rig.frontend, welcome);
	cr_assert_eq(memcmp(welcome->schema, ipc_schema_hash, IPC_SCHEMA_BYTES), 0);
	cr_assert_eq(welcome->landlock_abi, 6);
	cr_assert_eq(welcome->limits, LIMITS_FALLBACK);
	cr_assert_str_eq(welcome->default_profile, "default");
	cr_assert_eq(welcome->languages_size, sizeof("python\0bash"));
	cr_assert_eq(memcmp(welcome->languages, "python\0bash", welcome->languages_size), 0);
	cr_assert_not(supervisor.is_ending);
}

Test(handlers, the_welcome_is_of_the_default_profile)
{
	const struct ipc_welcome *welcome;

	supervisor.default_profile = 1;
	small_plan.profiles[1].language_count = 0;
	handlers_prepare();
	say_hello(0);
	welcome = rig_body(&rig.frontend, welcome);
	cr_assert_str_eq(welcome->default_profile, "strict");
	cr_assert_eq(welcome->languages_size, 0U, "the other profile has two");
}

Test(handlers, the_welcome_brings_the_plan)
{
	char content[sizeof(RIG_PLAN)] = "";
	const struct channel_message *message;

	say_hello(0);
	message = rig_take(&rig.frontend, IPC_TYPE_welcome);
	cr_assert(fd_is_kind(message->fds[0], 'm'));
	cr_assert_eq(pread(message->fds[0], content, sizeof(content), 0), sizeof(content));
	cr_assert_str_eq(content, RIG_PLAN);
	cr_assert(fd_is_kind(supervisor.plan_fd, 'm'), "the next one gets it too");
}

Test(handlers, hello_of_another_protocol_ends_it)
{
	say_hello(1);
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
}

Test(handlers, a_second_hello_ends_it)
{
	be_welcomed();
	rig.frontend.phase = IPC_SETUP;
	say_hello(0);
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
}

Test(handlers, a_request_before_hello_ends_it)
{
	rig.frontend.phase = IPC_SERVE;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
	rig_take_nothing(&rig.factory);
}

Test(handlers, a_request_may_wait_behind_hello)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	cr_assert_eq(channel_send(&rig.frontend, IPC_TYPE_hello, &hello, NULL, 0), 0);
	rig.frontend.phase = IPC_SERVE;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	rig.frontend.phase = IPC_SETUP;
	(void)rig_take(&rig.frontend, IPC_TYPE_welcome);
	rig_release(); /* the plan */
	rig.frontend.phase = IPC_SERVE;
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
}

Test(handlers, a_frontend_may_go_at_any_time)
{
	be_welcomed();
	fd_close(&rig.frontend.fd);
	rig_turn();
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, 0);
	cr_assert_eq(RIG_FRONTEND->state, FRONTEND_FREE);
	cr_assert_geq(supervisor.factory.fd, 0);
}

Test(handlers, a_frontend_that_went_with_an_answer_unread_is_no_fault)
{
	be_welcomed();
	memcpy(rig_request(1)->profile, "none", sizeof("none"));
	cr_assert_eq(channel_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL, 0),
		     0);
	fd_close(&rig.frontend.fd);
	rig_turn();
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, 0, "%d", supervisor.exit_status);
}

Test(handlers, nonsense_ends_it)
{
	be_welcomed();
	cr_assert_eq(send(rig.frontend.fd, "nonsense", 8, 0), 8);
	rig_turn();
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
}

Test(handlers, what_only_others_may_say_ends_it)
{
	struct channel liar = rig.frontend;

	be_welcomed();
	liar.self = IPC_FACTORY;
	liar.phase = IPC_SERVE;
	rig_send(&liar, IPC_TYPE_sandbox_failed, &(struct ipc_sandbox_failed){ 0, 1, 1 }, NULL);
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
}

Test(handlers, an_unknown_reason_to_end_ends_it)
{
	const uint32_t reason = 0;

	be_welcomed();
	rig_send(&rig.frontend, IPC_TYPE_execution_end, &(struct ipc_execution_end){ 1, reason },
		 NULL);
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
}

Test(handlers, a_reason_to_end_beyond_the_set_ends_it)
{
	be_welcomed();
	rig_send(&rig.frontend, IPC_TYPE_execution_end,
		 &(struct ipc_execution_end){ 1, END_CLIENT_GONE + 1 }, NULL);
	expect_end(&rig.frontend, MSP_EXIT_SOFTWARE);
}

static void send_signal(uint64_t request, uint32_t signal)
{
	const struct ipc_execution_signal message = { request, signal };

	rig_send(&rig.frontend, IPC_TYPE_execution_signal, &message, NULL);
}

/* Every number, those above SIGRTMAX and what is negative as an int included. */
Test(handlers, signals_outside_the_set_end_it)
{
	static const int allowed[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,
				       SIGTERM, SIGCONT, SIGSTOP, SIGTSTP };
	uint32_t refused = 0;

	for (uint32_t signal = 0; signal <= 66; signal++) {
		const uint32_t number = signal == 66 ? (uint32_t)-SIGTERM : signal;
		bool is_allowed = false;

		for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
			is_allowed = is_allowed || (uint32_t)allowed[i] == number;
		close_rig();
		open_rig();
		be_welcomed();
		send_signal(1, number); /* there is no such execution */
		cr_assert_eq(supervisor.is_ending, !is_allowed, "%u", number);
		cr_assert_eq(supervisor.exit_status, is_allowed ? 0 : MSP_EXIT_SOFTWARE);
		refused += supervisor.is_ending;
	}
	cr_assert_eq(refused, 67 - sizeof(allowed) / sizeof(allowed[0]));
}

Test(handlers, a_refusal_has_its_reason_and_detail)
{
	const struct ipc_execution_refused *refused;
	struct ipc_execution_start *request;

	be_welcomed();
	request = rig_request(9);
	memcpy(request->profile, "_helper", sizeof("_helper"));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	refused = rig_body(&rig.frontend, execution_refused);
	cr_assert_eq(refused->request, 9);
	cr_assert_eq(refused->reason, REFUSAL_PROFILE_UNKNOWN);
	request = rig_request(10);
	memcpy(request->cwd, "relative", sizeof("relative"));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	refused = rig_body(&rig.frontend, execution_refused);
	cr_assert_eq(refused->reason, REFUSAL_CWD);
	cr_assert_str_eq(refused->detail, "", "nothing is left of the last");
	rig_take_nothing(&rig.factory);
	cr_assert_not(supervisor.is_ending);
}

Test(handlers, refused_code_is_closed)
{
	static struct ipc_code_start request = { .request = 3,
						 .profile = "default",
						 .language = "ruby" };
	int code = fd_of_kind('m');
	size_t before;

	be_welcomed();
	before = fd_count_open();
	rig_send(&rig.frontend, IPC_TYPE_code_start, &request, &code);
	cr_assert_eq(rig_body(&rig.frontend, execution_refused)->reason, REFUSAL_LANGUAGE_MISSING);
	cr_assert_eq(fd_count_open(), before);
	fd_close(&code);
}

Test(handlers, a_factory_that_is_ready_is_left_alone)
{
	rig_send(&rig.factory, IPC_TYPE_factory_ready, &(struct ipc_factory_ready){ 0, 0 }, NULL);
	cr_assert_not(supervisor.is_ending);
}

Test(handlers, a_factory_that_cannot_set_itself_up_is_a_refusal_of_this_machine)
{
	rig_send(&rig.factory, IPC_TYPE_factory_ready,
		 &(struct ipc_factory_ready){ STAGE_NAMESPACES, EPERM }, NULL);
	expect_end(&rig.factory, MSP_EXIT_REFUSED);
}

Test(handlers, without_a_factory_nothing_can_go_on)
{
	be_welcomed();
	fd_close(&rig.factory.fd);
	rig_turn();
	cr_assert(supervisor.is_ending);
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_SOFTWARE);
	cr_assert_eq(supervisor.factory.fd, -1);
}

Test(handlers, the_first_cause_is_the_exit_status)
{
	be_welcomed();
	rig_send(&rig.factory, IPC_TYPE_factory_ready,
		 &(struct ipc_factory_ready){ STAGE_STAGING, EPERM }, NULL);
	cr_assert_eq(send(rig.frontend.fd, "nonsense", 8, MSG_NOSIGNAL), 8);
	rig_turn();
	cr_assert_eq(supervisor.exit_status, MSP_EXIT_REFUSED);
}
