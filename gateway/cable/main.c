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
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/kernel.h"
#include "common/log.h"
#include "gateway/cable/hub.h"
#include "gateway/cable/user.h"
#include "seccomp_filter.h"
#include "stewards/base/child.h"
#include "stewards/base/steward.h"

#define CAPABILITIES (1U << CAP_NET_ADMIN | 1U << CAP_SYS_ADMIN | 1U << CAP_NET_BIND_SERVICE)

/* A program that does not read for so long does not run. */
#define SEND_S 10

#define PROGRAM_FDS_MAX 4U
#define IMAGE_FD (GATEWAY_FD_CHANNEL + PROGRAM_FDS_MAX)

static struct channel_message start;
static int peer_ends[2], counters = GATEWAY_FD_CABLE_COUNTERS;

/* The programs that this one starts before it confines itself. */
static struct program {
	char name[12];
	int image;
	int ends[2]; /* its channel's: ours and its own */
	int pidfd;
} dial = { "msp-dial", GATEWAY_FD_DIAL, { -1, -1 }, -1 },
  egress = { "msp-egress", GATEWAY_FD_EGRESS, { -1, -1 }, -1 },
  http = { "msp-http", GATEWAY_FD_HTTP, { -1, -1 }, -1 };

static struct program *const programs[] = { &egress, &dial, &http };
#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static void make_channels(void)
{
	const struct timeval most = { .tv_sec = SEND_S };
	int error = channel_pair(peer_ends);

	for (size_t i = 0; i < PROGRAMS && !error; i++) {
		error = channel_pair(programs[i]->ends);
		if (!error && setsockopt(programs[i]->ends[0], SOL_SOCKET, SO_SNDTIMEO, &most,
					 sizeof(most)) != 0)
			error = -errno;
	}
	confine_require(error, "making channels");
}

/* Return the channel to a program, which takes this one for its supervisor. */
static struct channel channel_to(const struct program *program)
{
	return (struct channel){ program->ends[0], IPC_SUPERVISOR, IPC_GATEWAY, IPC_SETUP };
}

static void become_program(struct program *program, const int *given, uint32_t count)
{
	int fds[PROGRAM_FDS_MAX + 1] = { program->image };
	int places[PROGRAM_FDS_MAX + 1] = { IMAGE_FD };
	char *const arguments[] = { program->name, NULL };
	char *const environment[] = { NULL };

	for (uint32_t i = 0; i < count; i++) {
		fds[1 + i] = given[i];
		places[1 + i] = GATEWAY_FD_CHANNEL + (int)i;
	}
	/* A parent that has ended already has closed its end of the channel. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	    fd_place(fds, places, 1 + count, (1U << (1 + count)) - 2) == 0)
		(void)kernel_execute(IMAGE_FD, arguments, environment);
	_exit(MSP_EXIT_SOFTWARE); /* its peers see the end */
}

/* Execute a program with its end of the channel and up to three further descriptors, which stay
 * open here. 0 or -errno. */
static int start_program(struct program *program, const int *further, uint32_t count)
{
	int fds[PROGRAM_FDS_MAX] = { program->ends[1] };
	const int status = child_fork(&program->pidfd);

	if (status == 0) {
		for (uint32_t i = 0; i < count; i++)
			fds[1 + i] = further[i];
		become_program(program, fds, 1 + count);
	}
	fd_close(&program->image);
	fd_close(&program->ends[1]);
	return status < 0 ? status : 0;
}

static void start_dial(void)
{
	const int further[] = { peer_ends[1], counters, GATEWAY_FD_AUDIT };

	confine_require(start_program(&dial, further, 3), "starting msp-dial");
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
	const int further[] = { peer_ends[0], counters };
	const int error = start_program(&egress, further, 2);

	fd_close(&counters);
	fd_close(&peer_ends[0]);
	return error ? error : begin_program(&hub->egress);
}

/* It has no peer: each of its servers has channels of its own. */
static int start_http(struct hub *hub)
{
	const int error = start_program(&http, NULL, 0);

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
	CONFINE_FILTER(seccomp_filter);
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
	for (size_t i = 0; i < PROGRAMS; i++)
		fd_close(&programs[i]->ends[0]);
	for (size_t i = 0; i < PROGRAMS; i++)
		child_await(&programs[i]->pidfd);
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
	hub.egress = channel_to(&egress);
	hub.dial = channel_to(&dial);
	hub.http = channel_to(&http);
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
