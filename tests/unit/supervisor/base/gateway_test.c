/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gateway.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_start.h"
#include "rig.h"
#include "run/sandbox.h"
#include "support.h"

static struct rig rig;
static struct channel gateway = { .fd = -1 };
static _Atomic uint64_t *counters; /* of the last gateway */

static void open_rig(void)
{
	rig_open_welcomed(&rig);
	small_plan.profiles[0].network = PLAN_NETWORK_HOSTS;
	supervisor.generations[0].fd = supervisor.plan_fd; /* which msp-cable gets */
}

static void close_rig(void)
{
	fd_close(&gateway.fd);
	rig_close(&rig);
}

TestSuite(gateway, .init = open_rig, .fini = close_rig, .timeout = 60);

/* Play the launcher, which has started a gateway. */
static void open_gateway(void)
{
	struct channel_message message = { .type = IPC_TYPE_supervisor_gateway, .fd_count = 2 };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	message.fds[0] = ends[0];
	message.fds[1] = memfd_create("counters", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(message.fds[1], GATEWAY_COUNTERS_SIZE), 0);
	counters = mmap(NULL, GATEWAY_COUNTERS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			message.fds[1], 0);
	cr_assert_neq(counters, MAP_FAILED);
	gateway = (struct channel){ ends[1], IPC_GATEWAY, IPC_SUPERVISOR, IPC_SETUP };
	cr_assert_eq(gateway_open(NULL, &message), 0);
	cr_assert_eq(message.fds[0], -1);
	fd_close(&message.fds[1]);
	cr_assert_arr_eq(rig_body(&gateway, gateway_start)->schema, ipc_schema_hash,
			 IPC_SCHEMA_BYTES);
	gateway.phase = IPC_SERVE;
}

/* Play the init that sends its socket. */
static void send_network(const struct rig_sandbox *sandbox)
{
	static const struct ipc_network_socket message = { .has_hosts = 1 };
	int fds[3] = { -1, -1, dup(0) };

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	rig_send(&sandbox->init, IPC_TYPE_network_socket, &message, &fds[1]);
	fd_close_all(fds, 3);
}

Test(gateway, hosts_without_one_are_refused)
{
	rig_send(&rig.frontend, IPC_TYPE_execution_start, rig_request(1), NULL);
	rig_take_refused(&rig, 1, REFUSAL_GATEWAY);
	small_plan.profiles[0].network = PLAN_NETWORK_LOOPBACK;
	struct rig_sandbox sandbox = rig_begin(&rig, 2);
	rig_end(&sandbox);
}

Test(gateway, a_sandbox_gets_its_cable_and_loses_it)
{
	struct rig_sandbox sandbox;
	const struct ipc_cable_make *make;
	uint32_t first;

	open_gateway();
	for (uint64_t request = 1; request < 3; request++) {
		sandbox = rig_begin(&rig, request);
		rig_answer(&rig, &sandbox);
		rig_take_nothing(&gateway);
		send_network(&sandbox);
		make = rig_body(&gateway, cable_make);
		cr_assert_eq(make->slot, sandbox.slot);
		cr_assert_eq(make->profile, 0U);
		cr_assert_str_eq(make->sandbox, "");
		cr_assert_eq(supervisor.sandboxes[sandbox.slot].cable, make->use);
		cr_assert(request == 1 || make->use != first, "it is another one");
		first = make->use;
		rig_release();
		rig_report(&sandbox, 0);
		(void)rig_take_done(&rig, request);
		rig_run_ms(20);
		cr_assert_eq(rig_body(&gateway, cable_end)->slot, sandbox.slot);
		rig_end(&sandbox);
		rig_run_ms(20);
	}
}

static void expect_execution(uint64_t request, const struct rig_sandbox *sandbox, uint32_t is_over)
{
	const struct ipc_cable_execution *execution = rig_body(&gateway, cable_execution);

	cr_expect_eq(execution->request, request);
	cr_expect_eq(execution->slot, sandbox->slot);
	cr_expect_eq(execution->frontend, RIG_FRONTEND->number);
	cr_expect_eq(execution->is_over, is_over);
	cr_expect_lt(execution->place, (uint32_t)EXECUTIONS_MAX);
}

/* Run an execution in an ephemeral sandbox, in which so much is refused. */
static bool refuse_in(uint64_t request, uint32_t refusals, uint32_t elsewhere)
{
	struct rig_sandbox sandbox = rig_begin(&rig, request);
	bool has_refusals;

	rig_answer(&rig, &sandbox);
	send_network(&sandbox);
	(void)rig_take(&gateway, IPC_TYPE_cable_make);
	rig_release();
	counters[sandbox.slot] += refusals;
	counters[sandbox.slot + 1] += elsewhere;
	rig_report(&sandbox, 0);
	has_refusals = rig_take_refusals(&rig, request);
	if (has_refusals)
		expect_execution(request, &sandbox, 1);
	rig_run_ms(20);
	cr_assert_eq(rig_body(&gateway, cable_end)->slot, sandbox.slot);
	rig_end(&sandbox);
	rig_run_ms(20);
	return has_refusals;
}

Test(gateway, refusals_are_told_where_a_counter_was_raised)
{
	open_gateway();
	cr_expect_not(refuse_in(1, 0, 0));
	cr_expect(refuse_in(2, 2, 0));
	cr_expect_not(refuse_in(3, 0, 1), "in another sandbox");
	cr_expect_not(refuse_in(4, 0, 0), "of the last in that slot");
}

Test(gateway, a_begin_is_told_where_hosts_can_be_added)
{
	struct rig_sandbox sandbox;

	small_plan.profiles[0].host_approval = PLAN_HOST_APPROVAL_ASK;
	open_gateway();
	sandbox = rig_begin(&rig, 1);
	expect_execution(1, &sandbox, 0);
	rig_answer(&rig, &sandbox);
	rig_report(&sandbox, 0);
	cr_expect_not(rig_take_refusals(&rig, 1));
	expect_execution(1, &sandbox, 1);
	small_plan.profiles[0].host_approval = PLAN_HOST_APPROVAL_NEVER;
	rig_end(&sandbox);
}

Test(gateway, without_hosts_nothing_is_told)
{
	struct rig_sandbox sandbox;

	small_plan.profiles[0].network = PLAN_NETWORK_LOOPBACK;
	open_gateway();
	sandbox = rig_begin(&rig, 1);
	rig_answer(&rig, &sandbox);
	counters[sandbox.slot]++;
	rig_report(&sandbox, 0);
	cr_expect_not(rig_take_refusals(&rig, 1));
	rig_take_nothing(&gateway);
	rig_end(&sandbox);
}

Test(gateway, its_end_ends_sandboxes_with_a_cable_alone)
{
	struct rig_sandbox sandbox, other;

	open_gateway();
	sandbox = rig_begin(&rig, 1);
	rig_answer(&rig, &sandbox);
	send_network(&sandbox);
	small_plan.profiles[0].network = PLAN_NETWORK_LOOPBACK;
	other = rig_begin(&rig, 2);
	rig_answer(&rig, &other);
	fd_close(&gateway.fd);
	rig_turn();
	cr_assert_eq(supervisor.gateway.fd, -1);
	rig_take_internal(&rig, 1, STAGE_NETWORK, ENETDOWN);
	cr_assert_not(supervisor.is_ending);
	rig_report(&other, 0);
	(void)rig_take_done(&rig, 2);
	rig_end(&sandbox);
	rig_end(&other);
}

Test(gateway, a_second_one_takes_the_place_of_the_first)
{
	struct rig_sandbox sandbox;
	int old;

	open_gateway();
	sandbox = rig_begin(&rig, 1);
	rig_answer(&rig, &sandbox);
	send_network(&sandbox);
	(void)rig_take(&gateway, IPC_TYPE_cable_make);
	rig_release();
	old = gateway.fd;
	open_gateway();
	rig_take_internal(&rig, 1, STAGE_NETWORK, ENETDOWN);
	fd_close(&old);
	rig_turn();
	cr_assert_geq(supervisor.gateway.fd, 0, "the end of the first is not that of the second");
	counters[3] = 7;
	cr_expect_eq(supervisor.counters[3], 7, "its counters are read now");
	rig_end(&sandbox);
}

Test(gateway, what_it_says_is_its_end)
{
	static const struct ipc_connection_end end = { .reason = 0 };

	open_gateway();
	rig_send(&gateway, IPC_TYPE_connection_end, &end, NULL);
	cr_assert_eq(supervisor.gateway.fd, -1);
	cr_assert_not(supervisor.is_ending);
}

Test(gateway, the_question_for_an_executions_refusals_is_passed_on)
{
	const struct ipc_network_watch watch = { .request = 7, .owner = "alice" };
	const struct ipc_cable_watch *passed;
	int ends[2];

	open_gateway();
	cr_assert_eq(channel_pair(ends), 0);
	rig_send(&rig.frontend, IPC_TYPE_network_watch, &watch, &ends[1]);
	fd_close(&ends[1]);
	passed = rig_body(&gateway, cable_watch);
	cr_assert_eq(passed->request, 7U);
	cr_assert_eq(passed->frontend, supervisor.frontends[0].number);
	cr_assert_eq(passed->is_broker, 0U);
	cr_assert_str_eq(passed->owner, "alice");
	cr_assert_eq(passed->slot, (uint32_t)GATEWAY_SLOTS);
	cr_assert_eq(recv(ends[0], &(char){ 0 }, 1, MSG_DONTWAIT), -1, "it is open");
	rig_release();
	cr_assert_eq(recv(ends[0], &(char){ 0 }, 1, MSG_DONTWAIT), 0, "and nowhere else");
	fd_close(&ends[0]);
}

Test(gateway, a_watch_says_whether_it_is_a_brokers)
{
	const struct ipc_network_watch watch = { .request = 0 };
	int ends[2];

	open_gateway();
	supervisor.frontends[0].is_broker = true;
	cr_assert_eq(channel_pair(ends), 0);
	rig_send(&rig.frontend, IPC_TYPE_network_watch, &watch, &ends[1]);
	fd_close(&ends[1]);
	cr_assert_eq(rig_body(&gateway, cable_watch)->is_broker, 1);
	fd_close(&ends[0]);
}

Test(gateway, the_watch_of_an_unknown_sandbox_is_closed)
{
	const struct ipc_network_watch watch = { .sandbox = "nobody" };
	int ends[2];

	open_gateway();
	cr_assert_eq(channel_pair(ends), 0);
	rig_send(&rig.frontend, IPC_TYPE_network_watch, &watch, &ends[1]);
	fd_close(&ends[1]);
	rig_take_nothing(&gateway);
	cr_assert_eq(recv(ends[0], &(char){ 0 }, 1, MSG_DONTWAIT), 0);
	fd_close(&ends[0]);
}

/* A lost message may be the end of a sandbox, whose cable would stay. */
Test(gateway, one_that_does_not_read_is_ended)
{
	static struct channel_message message;
	const struct ipc_cable_end end = { 1 };
	enum ipc_error wrong;
	int status;

	open_gateway();
	for (int i = 0; i < 100000; i++)
		gateway_tell(IPC_TYPE_cable_end, &end, NULL);
	do {
		status = channel_receive(&gateway, &message, MSG_DONTWAIT, &wrong);
	} while (status == 1);
	cr_expect_eq(status, 0);
}
