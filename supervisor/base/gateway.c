/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gateway.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_start.h"
#include "common/log.h"
#include "stewards/store/store.h"

static struct loop_watch watch;
static uint32_t last_cable;

void gateway_tell(uint32_t type, const void *message, const int *fds)
{
	if (state_send(&supervisor.gateway, type, message, fds) == -EAGAIN)
		(void)shutdown(supervisor.gateway.fd, SHUT_RDWR); /* it has lost this one */
}

/* The gateway says nothing: what comes is its end. All cables end with it, and so do the sandboxes.
 */
static void on_gateway(void *context)
{
	loop_close(&watch, &supervisor.gateway.fd);
	log_line("the gateway (msp-cable) has ended, and the sandboxes with hosts with it");
	FOR_EACH (sandbox, sandbox, supervisor.sandboxes, SANDBOX_SLOTS) {
		if (sandbox->cable > 0 && sandbox->state == SANDBOX_LIVE)
			supervisor.sandbox_handlers->on_lost(sandbox, STAGE_NETWORK, ENETDOWN);
	}
}

int gateway_open(void *context, struct channel_message *message)
{
	struct ipc_gateway_start start;

	supervisor.is_offline =
		supervisor.is_service && ipc_body(message, supervisor_gateway)->is_offline;
	if (supervisor.gateway.fd >= 0) /* its end waits in its channel */
		on_gateway(NULL);
	/* In the place of the last gateway's. */
	supervisor.counters =
		mmap(supervisor.counters, GATEWAY_COUNTERS_SIZE, PROT_READ,
		     MAP_SHARED | (supervisor.counters ? MAP_FIXED : 0), message->fds[1], 0);
	if (supervisor.counters == MAP_FAILED)
		return -errno;
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	supervisor.gateway = (struct channel){ channel_take_fd(message, 0), IPC_SUPERVISOR,
					       IPC_GATEWAY, IPC_SETUP };
	gateway_tell(IPC_TYPE_gateway_start, &start, NULL);
	supervisor.gateway.phase = IPC_SERVE;
	return loop_add(&watch, supervisor.gateway.fd, on_gateway, NULL);
}

/* Hand on the file that says what a person has taken away. False: there is no cable without it. */
static bool pass_cuts(const struct sandbox *sandbox)
{
	const struct ipc_cable_cuts cuts = { sandbox->slot };
	int fd FD_OWNED = store_cuts(sandbox->persistent.directory);

	if (fd >= 0)
		gateway_tell(IPC_TYPE_cable_cuts, &cuts, &fd);
	else
		log_line("the hosts that were taken away from a sandbox cannot be read: %s",
			 errno_text(-fd));
	return fd >= 0;
}

int gateway_make(void *context, struct channel_message *message)
{
	struct sandbox *sandbox = context;
	const int fds[] = { message->fds[0], message->fds[1],
			    supervisor.generations[sandbox->generation].fd };
	struct ipc_cable_make make = { sandbox->slot, last_cable + 1, sandbox->profile, "" };

	fd_replace(&sandbox->network, channel_take_fd(message, 1));
	if (!ipc_body(message, network_socket)->has_hosts)
		return 0;
	memcpy(make.sandbox, sandbox->persistent.id, sizeof(make.sandbox));
	if (make.sandbox[0] && !pass_cuts(sandbox))
		return 0; /* its init sees that the pipe is closed */
	sandbox->cable = ++last_cable;
	gateway_tell(IPC_TYPE_cable_make, &make, fds);
	return 0;
}
