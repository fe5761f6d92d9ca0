/* SPDX-License-Identifier: Apache-2.0
 *
 * The service's socket and its manager, over real sockets.
 */
#include "front/service.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/limits_mode.h"
#include "front/handlers.h"
#include "rig.h"
#include "support.h"

static struct rig rig;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_size;
static struct service service = { .listener = -1, .notify = -1 };
static int manager = -1;
static struct channel client = { -1, IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };

/* An abstract name needs no folder and goes with its socket. */
static void open_service(void)
{
	int ends[2];

	rig_open(&rig);
	supervisor.is_service = true;
	(void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "msp-test-%d",
		       (int)getpid());
	address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				   strlen(address.sun_path + 1));
	service.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(service.listener, (struct sockaddr *)&address, address_size), 0);
	cr_assert_eq(listen(service.listener, 8), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
	manager = ends[0];
	service.notify = ends[1];
	service.watchdog_us = 100000;
	cr_assert_eq(service_open(&service, handlers_on_frontend), 0);
}

static void close_service(void)
{
	fd_close(&client.fd);
	fd_close(&service.listener);
	fd_close(&service.notify);
	fd_close(&manager);
	rig_close(&rig);
}

TestSuite(service, .init = open_service, .fini = close_service, .timeout = 60);

static int connect_once(void)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, address_size), 0, "%d", errno);
	return fd;
}

static const char *heard(void)
{
	static char text[64];
	const ssize_t size = recv(manager, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[size > 0 ? size : 0] = '\0';
	return text;
}

Test(service, a_connection_becomes_a_frontend)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	client.fd = connect_once();
	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	rig_send(&client, IPC_TYPE_hello, &hello, NULL);
	(void)rig_take(&client, IPC_TYPE_welcome);
	cr_assert_eq(frontend_count(true), 2);
	fd_close(&client.fd);
	rig_turn();
	cr_assert_eq(frontend_count(true), 1);
	cr_assert_not(supervisor.is_ending);
}

Test(service, it_says_how_it_is)
{
	struct ipc_status_ask ask;
	const struct ipc_status *status;
	struct rig_sandbox sandbox;
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	rig_send(&rig.frontend, IPC_TYPE_hello, &hello, NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_welcome);
	rig.frontend.phase = IPC_SERVE;
	sandbox = rig_begin(&rig, 1);
	supervisor.memory_bytes = 1 << 30;
	client.fd = connect_once();
	memcpy(ask.schema, ipc_schema_hash, sizeof(ask.schema));
	rig_send(&client, IPC_TYPE_status_ask, &ask, NULL);
	status = rig_body(&client, status);
	cr_assert_eq(status->clients, 1, "it only asks");
	cr_assert_eq(status->clients_max, FRONTENDS_MAX);
	cr_assert_eq(status->executions, 1);
	cr_assert_eq(status->executions_max, EXECUTIONS_DEFAULT);
	cr_assert_eq(status->executions_started, 1);
	cr_assert_eq(status->landlock_abi, 6);
	cr_assert_eq(status->limits, LIMITS_FALLBACK);
	cr_assert_eq(status->memory_max_bytes, 1 << 30);
	cr_assert_eq(status->memory_bytes, plan_profile(&supervisor.plan, 0)->memory_bytes);
	rig_end(&sandbox);
}

Test(service, asking_with_another_schema_ends_the_connection)
{
	static const struct ipc_status_ask ask = { .schema = { 1 } };

	client.fd = connect_once();
	rig_send(&client, IPC_TYPE_status_ask, &ask, NULL);
	rig_take_end(&client);
	cr_assert_not(supervisor.is_ending);
}

Test(service, one_client_too_many_is_told)
{
	for (size_t i = 1; i < FRONTENDS_MAX; i++) {
		(void)connect_once(); /* held until the test's end */
		rig_turn();
	}
	client.fd = connect_once();
	rig_turn();
	cr_assert_eq(rig_body(&client, client_end)->reason, CLIENT_END_FULL);
	rig_take_end(&client);
	cr_assert_eq(frontend_count(true), FRONTENDS_MAX);
}

/* The socket stays readable when no descriptor is left for the connection: no busy loop. */
Test(service, without_descriptors_it_pauses_and_goes_on)
{
	struct rlimit limit;
	struct rlimit full;

	client.fd = connect_once();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	full = limit;
	full.rlim_cur = (rlim_t)dup(0);
	cr_assert_eq(close((int)full.rlim_cur), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &full), 0);
	rig_turn();
	cr_assert_neq(service_deadline_us(), UINT64_MAX, "it tries again later");
	cr_assert_eq(loop_turn(clock_now_us() + 1000), 0);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_eq(frontend_count(true), 1);
	while (frontend_count(true) == 1) {
		cr_assert_eq(loop_turn(service_deadline_us()), 0);
		service_tick();
	}
	cr_assert_eq(frontend_count(true), 2);
}

Test(service, the_manager_hears_when_it_is_ready_and_when_it_stops)
{
	cr_assert_str_eq(heard(), "");
	rig_send(&rig.factory, IPC_TYPE_factory_ready, &(struct ipc_factory_ready){ 0, 0 }, NULL);
	cr_assert_str_eq(heard(), "READY=1");
	service_tell_stopping();
	cr_assert_str_eq(heard(), "STOPPING=1");
}

Test(service, the_manager_hears_of_no_factory_that_failed)
{
	rig_send(&rig.factory, IPC_TYPE_factory_ready,
		 &(struct ipc_factory_ready){ STAGE_NAMESPACES, EPERM }, NULL);
	cr_assert_str_eq(heard(), "");
	cr_assert(supervisor.is_ending);
}

Test(service, the_watchdog_hears_in_half_its_time)
{
	uint64_t before;

	cr_assert_eq(service_deadline_us(), UINT64_MAX, "not before it is ready");
	service_tell_ready();
	(void)heard();
	for (int i = 0; i < 3; i++) {
		before = clock_now_us();
		cr_assert_leq(service_deadline_us(), before + service.watchdog_us / 2);
		while (clock_now_us() < service_deadline_us() &&
		       service_deadline_us() < before + service.watchdog_us)
			cr_assert_eq(loop_turn(service_deadline_us()), 0);
		service_tick();
		cr_assert_str_eq(heard(), "WATCHDOG=1");
	}
}

Test(service, a_manager_that_is_gone_is_no_end)
{
	fd_close(&manager);
	service_tell_ready();
	cr_assert_not(supervisor.is_ending);
}
