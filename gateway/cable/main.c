/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-cable connects sandboxes to the gateway. The launcher starts it with a channel to the
 * supervisor and with the programs msp-egress, msp-dial and msp-http, which it starts: msp-dial at
 * once, in the host's network, and the others with the first sandbox, in a network namespace with
 * nothing in it. The launcher offers it servers of msp-http (servers.c), whose secrets it never
 * has. It alone talks with the supervisor (hub.c), in messages of fixed size, and reads no byte of
 * a workload or of the network.
 *
 * With the first routing socket it enters the factory's user namespace (user.c) and confines
 * itself: no file, its own system call list, and of the capabilities there those to make network
 * devices and namespaces and to listen on any port. Then each socket becomes a cable (cable.c),
 * whose listeners msp-egress gets.
 *
 * The four programs end together, and with the supervisor.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/ipc_gateway.h"
#include "common/log.h"
#include "gateway/cable/hub.h"
#include "gateway/cable/programs.h"
#include "gateway/cable/user.h"
#include "seccomp_filter.h"
#include "stewards/base/child.h"
#include "stewards/base/steward.h"

#define CAPABILITIES (1U << CAP_NET_ADMIN | 1U << CAP_SYS_ADMIN | 1U << CAP_NET_BIND_SERVICE)

/* A program that does not read for so long does not run. */
#define SEND_S 10

static struct channel_message start;
static int egress_ends[2], dial_ends[2], peer_ends[2], http_ends[2];
static int egress_pidfd = -1, dial_pidfd = -1, http_pidfd = -1;
static int egress_image = GATEWAY_FD_EGRESS, dial_image = GATEWAY_FD_DIAL,
	   http_image = GATEWAY_FD_HTTP, counters = GATEWAY_FD_CABLE_COUNTERS;

static void make_channels(void)
{
	const struct timeval most = { .tv_sec = SEND_S };
	int *const pairs[] = { egress_ends, dial_ends, peer_ends, http_ends };
	int error = 0;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]) && !error; i++)
		error = channel_pair(pairs[i]);
	if (!error &&
	    (setsockopt(egress_ends[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) != 0 ||
	     setsockopt(dial_ends[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) != 0 ||
	     setsockopt(http_ends[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) != 0))
		error = -errno;
	confine_require(error, "making channels");
}

static void start_dial(void)
{
	static char name[] = "msp-dial";
	const int fds[] = { dial_ends[1], peer_ends[1], counters, GATEWAY_FD_AUDIT };

	confine_require(program_start(name, &dial_image, fds, 4, &dial_pidfd), "starting msp-dial");
	fd_close(&dial_ends[1]);
	fd_close(&peer_ends[1]);
}

/* Have a program begin, which hears the same first message. 0 or -errno. */
static int begin_program(struct channel *channel)
{
	const int error = channel_send(channel, IPC_TYPE_gateway_start,
				       ipc_body(&start, gateway_start), NULL, MSG_DONTWAIT);

	channel->phase = IPC_SERVE;
	return error;
}

static int start_egress(struct hub *hub)
{
	static char name[] = "msp-egress";
	const int fds[] = { egress_ends[1], peer_ends[0], counters };
	const int error = program_start(name, &egress_image, fds, 3, &egress_pidfd);

	fd_close(&counters);
	fd_close(&egress_ends[1]);
	fd_close(&peer_ends[0]);
	return error ? error : begin_program(&hub->egress);
}

/* It has no peer: each of its servers has channels of its own. */
static int start_http(struct hub *hub)
{
	static char name[] = "msp-http";
	const int error = program_start(name, &http_image, &http_ends[1], 1, &http_pidfd);

	fd_close(&http_ends[1]);
	return error ? error : begin_program(&hub->http);
}

/* Must: allow no file, and leave the capabilities that cables need. Must not: leave a way to other
 * ones, or a system call that no cable needs. */
static void confine_cable(void)
{
	struct kernel_landlock_ruleset attr;

	confine_privileges();
	confine_require(capabilities_drop(CAPABILITIES), "dropping capabilities");
	/* Ports are bound in the gateway's namespaces. */
	confine_enter(confine_ruleset(LANDLOCK_ACCESS_NET_CONNECT_TCP, &attr));
	confine_require(
		seccomp_install(seccomp_filter, sizeof(seccomp_filter) / sizeof(seccomp_filter[0])),
		"installing the system call filter");
}

int event_hub_first(struct hub *hub, int sandbox, int *ret_home, uint32_t *ret_step)
{
	int error;

	*ret_step = CABLE_STEP_ENTER;
	error = user_enter(sandbox);
	if (error)
		return error;
	/* There is no way back: another gateway has to begin anew. */
	confine_require(user_make_home(ret_home), "making a network namespace");
	confine_require(start_egress(hub), "starting msp-egress");
	confine_require(start_http(hub), "starting msp-http");
	confine_cable();
	return 0;
}

/* They end with their channels. */
static void end_programs(void)
{
	fd_close(&egress_ends[0]);
	fd_close(&dial_ends[0]);
	fd_close(&http_ends[0]);
	child_await(&egress_pidfd);
	child_await(&dial_pidfd);
	child_await(&http_pidfd);
}

int main(void)
{
	struct hub hub = { .supervisor = { GATEWAY_FD_CHANNEL, IPC_GATEWAY, IPC_SUPERVISOR,
					   IPC_SETUP },
			   .home = -1 };
	const char *peer = NULL;
	int error;

	steward_begin("msp-cable", "sfffssf");
	fd_raise_limit();
	make_channels();
	hub.egress = (struct channel){ egress_ends[0], IPC_SUPERVISOR, IPC_GATEWAY, IPC_SETUP };
	hub.dial = (struct channel){ dial_ends[0], IPC_SUPERVISOR, IPC_GATEWAY, IPC_SETUP };
	hub.http = (struct channel){ http_ends[0], IPC_SUPERVISOR, IPC_GATEWAY, IPC_SETUP };
	hub.launcher =
		(struct channel){ GATEWAY_FD_LAUNCHER, IPC_GATEWAY, IPC_LAUNCHER, IPC_SERVE };
	start_dial();
	(void)atexit(end_programs);
	steward_hear_start(&hub.supervisor, IPC_TYPE_gateway_start, &start);
	error = begin_program(&hub.dial);
	if (!error)
		error = hub_run(&hub, &peer);
	end_programs();
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "%s has ended or broke the protocol: %s",
			  peer ? peer : "msp-dial", errno_text(-error));
	return 0;
}
