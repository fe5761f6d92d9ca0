/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/opener/bridge_hub.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/fd.h"
#include "common/ipc/ipc_bridge.h"
#include "stewards/base/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct bridge {
	int fd;          /* its channel; meaningless where the number is 0 */
	uint64_t number; /* never given again; 0: the place is free */
	uint64_t since_s;
	int closer; /* the channel of a person who closes it; -1: nobody does */
	struct ipc_bridge_give is;
} bridges[BRIDGES_MAX];

static uint64_t last_number;
static int audit; /* the supervisor's end of msp-audit's channel; -1: nothing is recorded */

void bridge_hub_begin(int own_audit)
{
	audit = own_audit;
}
static int record_begin(const struct bridge *bridge)
{
	const struct audit_field fields[] = {
		AUDIT_NUMBER(bridge, bridge->number),
		AUDIT_NUMBER(frontend, bridge->is.frontend),
		AUDIT_NUMBER(port, bridge->is.port),
		AUDIT_NUMBER(host_port, bridge->is.host_port),
		AUDIT_TEXT(sandbox, bridge->is.sandbox),
	};

	return record_send(audit, AUDIT_BRIDGE_BEGIN, fields, COUNT(fields));
}

static void record_end(const struct bridge *bridge, const struct ipc_bridge_end *end)
{
	static const char *const reasons[BRIDGE_END_COUNT] = {
		[BRIDGE_END_FRONTEND] = "closed",
		[BRIDGE_END_SANDBOX] = "sandbox ended",
		[BRIDGE_END_SUPERVISOR] = "supervisor ended",
		[BRIDGE_END_CLOSED] = "closed by another msp",
	};
	static const struct ipc_bridge_end unknown;
	const struct ipc_bridge_end *counts = end ? end : &unknown;
	const struct audit_field fields[] = {
		AUDIT_NUMBER(bridge, bridge->number),
		AUDIT_NUMBER(port, bridge->is.port),
		AUDIT_NUMBER(host_port, bridge->is.host_port),
		AUDIT_NUMBER(connections, counts->connections),
		AUDIT_NUMBER(refused, counts->refused),
		AUDIT_NUMBER(sent, counts->sent),
		AUDIT_NUMBER(received, counts->received),
		AUDIT_TEXT(reason, end ? reasons[end->reason % BRIDGE_END_COUNT] : "not ready"),
		AUDIT_TEXT(sandbox, bridge->is.sandbox),
	};

	(void)record_send(audit, AUDIT_BRIDGE_END, fields, COUNT(fields)); /* it is counted */
}

int bridge_hub_take(void *context, struct channel_message *message)
{
	const struct channel channel = { message->fds[0], IPC_LAUNCHER, IPC_BRIDGE, IPC_SERVE };
	static const struct ipc_bridge_open open;
	struct bridge *bridge = bridges;

	while (bridge < bridges + BRIDGES_MAX && bridge->number != 0)
		bridge++;
	if (bridge == bridges + BRIDGES_MAX)
		return 0;
	*bridge = (struct bridge){ .fd = -1,
				   .number = last_number + 1,
				   .since_s = (uint64_t)time(NULL),
				   .closer = -1,
				   .is = *ipc_body(message, bridge_give) };
	if (record_begin(bridge) != 0) {
		bridge->number = 0;
		return 0;
	}
	last_number++;
	bridge->fd = channel_take_fd(message, 0);
	/* The end of an msp-bridge that has gone meanwhile is seen by its channel. */
	(void)channel_send(&channel, IPC_TYPE_bridge_open, &open, &message->fds[1], MSG_DONTWAIT);
	return 0;
}

/* Its msp-bridge sees the end of what we say. The asker's channel stays until it has ended. */
static void close_bridge(struct bridge *bridge, struct channel_message *message)
{
	(void)shutdown(bridge->fd, SHUT_WR);
	fd_replace(&bridge->closer, channel_take_fd(message, 0));
}

int bridge_hub_show(void *context, struct channel_message *message)
{
	const uint32_t close = ipc_body(message, bridge_show)->close;
	const struct channel channel = { message->fds[0], IPC_LAUNCHER, IPC_FRONTEND, IPC_SERVE };

	for (int i = 0; i < BRIDGES_MAX; i++) {
		struct ipc_bridge_info info = { bridges[i].since_s, bridges[i].is.port,
						bridges[i].is.host_port, "", "" };

		if (!bridges[i].number || (close && close != info.host_port))
			continue;
		memcpy(info.sandbox, bridges[i].is.sandbox, sizeof(info.sandbox));
		memcpy(info.name, bridges[i].is.name, sizeof(info.name));
		(void)channel_send(&channel, IPC_TYPE_bridge_info, &info, NULL, MSG_DONTWAIT);
		if (!close)
			continue;
		close_bridge(&bridges[i], message);
		break;
	}
	return 0;
}

void bridge_hub_poll(struct pollfd *entries)
{
	for (int i = 0; i < BRIDGES_MAX; i++)
		entries[i] = (struct pollfd){ .fd = bridges[i].number ? bridges[i].fd : -1,
					      .events = POLLIN };
}

void bridge_hub_turn(const struct pollfd *entries)
{
	static struct channel_message message;
	enum ipc_error wrong;

	for (int i = 0; i < BRIDGES_MAX; i++) {
		const struct channel channel = { bridges[i].fd, IPC_FRONTEND, IPC_BRIDGE,
						 IPC_SERVE };
		bool has_said;

		if (!entries[i].revents || !bridges[i].number)
			continue;
		has_said = channel_receive(&channel, &message, MSG_DONTWAIT, &wrong) == 1 &&
			   message.type == IPC_TYPE_bridge_end;
		record_end(&bridges[i], has_said ? ipc_body(&message, bridge_end) : NULL);
		channel_message_done(&message);
		fd_close(&bridges[i].fd);
		fd_close(&bridges[i].closer);
		bridges[i].number = 0;
	}
}

void bridge_hub_end(void)
{
	for (int i = 0; i < BRIDGES_MAX; i++) {
		if (bridges[i].number)
			fd_close(&bridges[i].fd);
	}
}
