/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of msp-broker: it has no client and asks for no consent. It reads the name of a profile
 * and of a host in a line, and grants the host to whomever it can name. For each execution it
 * prints whether the host resolves in it, and for each grant the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
#include "frontend/network_grant.h"
#include "frontend/supervisor_client.h"

#define CHANNEL 3 /* to the supervisor */
#define PORT 80

static struct supervisor_client client;
static char profile[IPC_NAME_MAX], host[IPC_HOST_MAX];
static uint64_t requests;
static bool is_welcome, is_done;
static int output = -1; /* of the execution */

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	(void)context;
	(void)welcome;
	fd_close(&plan);
	is_welcome = true;
}

static void on_started(void *context, const struct ipc_execution_started *started, const int fds[3])
{
	int others[2] = { fds[0], fds[2] };

	(void)context;
	(void)started;
	fd_close_all(others, 2);
	output = fds[1];
}

static void on_done(void *context, const struct ipc_execution_done *done)
{
	(void)context;
	(void)done;
	is_done = true;
}

static void await(const bool *what)
{
	while (!*what) {
		if (supervisor_receive(&client) != 1)
			exit(1);
	}
}

/* An execution of its own. */
static void run(void)
{
	static struct ipc_execution_start start; /* too large for the stack */
	char byte;

	memset(&start, 0, sizeof(start));
	start.request = ++requests;
	memcpy(start.profile, profile, sizeof(start.profile));
	start.argv_size = (uint32_t)snprintf((char *)start.argv, sizeof(start.argv),
					     "getent%chosts%c%s", 0, 0, host) +
			  1;
	if (supervisor_request(&client, execution_start, &start, -1) != 0)
		exit(1);
	is_done = false;
	await(&is_done);
	(void)printf("resolves %d\n", read(output, &byte, 1) == 1); /* getent prints the address */
	fd_close(&output);
}

/* `whom` is the number of a client; 0: its own. */
static void grant(uint32_t whom, bool is_cut)
{
	static const struct ipc_network_watch own;
	struct ipc_network_grant message = { .port = PORT, .frontend = whom, .is_cut = is_cut };

	memcpy(message.host, host, sizeof(message.host));
	(void)printf("grant %u %d: %d\n", whom, is_cut, network_grant(&client, &own, &message));
}

int main(void)
{
	static const struct supervisor_handlers handlers = { .on_welcome = on_welcome,
							     .on_started = on_started,
							     .on_done = on_done };

	if (scanf("%63s %253s", profile, host) != 2)
		return 1;
	supervisor_client_init(&client, CHANNEL, &handlers, NULL);
	if (supervisor_hello(&client, LIMITS_FALLBACK) != 0)
		return 1;
	await(&is_welcome);
	run();
	grant(0, false);
	for (uint32_t i = 1; i < 4; i++)
		grant(i, false);
	grant(0, true);
	run();
	return fflush(stdout) == 0 ? 0 : 1;
}
