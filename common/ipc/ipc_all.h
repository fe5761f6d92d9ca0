/* SPDX-License-Identifier: Apache-2.0
 *
 * The structs of all messages, for the table of their fields and for tests. Every other file
 * includes the headers of the messages that it handles.
 */
#ifndef COMMON_IPC_IPC_ALL_H
#define COMMON_IPC_IPC_ALL_H

#include "common/ipc/channel.h"
#include "common/ipc/ipc_audit.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_http.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/ipc_network.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/ipc_store.h"

union ipc_any {
#define IPC(name, sender, receiver, phase, fds) struct ipc_##name name;
#include "common/ipc/ipc_messages.def"
#undef IPC
};

_Static_assert(sizeof(union ipc_any) <= IPC_BODY_MAX, "the body of a message has room for any");
_Static_assert(IPC_BODY_MAX - sizeof(union ipc_any) < 512, "and for little more");
_Static_assert(_Alignof(union ipc_any) <= IPC_BODY_ALIGN, "and is aligned for any");

/* ipc_request() and ipc_slot() read what comes first in these. */
#define IPC_FIRST(name, member)                                                                    \
	_Static_assert(offsetof(struct ipc_##name, member) == 0 &&                                 \
			       sizeof(((struct ipc_##name *)0)->member) == IPC_FIRST_##member,     \
		       #name " begins with it")
#define IPC_FIRST_request 8
#define IPC_FIRST_slot 4
#define IPC_FIRST_sandbox 4
IPC_FIRST(execution_start, request);
IPC_FIRST(code_start, request);
IPC_FIRST(file_start, request);
IPC_FIRST(sandbox_new, request);
IPC_FIRST(sandbox_end, request);
IPC_FIRST(checkpoint_do, request);
IPC_FIRST(changes_start, request);
IPC_FIRST(sandbox_create, slot);
IPC_FIRST(helper_start, slot);
IPC_FIRST(sandbox_created, slot);
IPC_FIRST(helper_started, slot);
IPC_FIRST(spawn_stdio, slot);
IPC_FIRST(spawn_image, slot);
IPC_FIRST(spawn_code, slot);
IPC_FIRST(spawn_cgroup, slot);
IPC_FIRST(spawn_signal, slot);
IPC_FIRST(spawn_kill, slot);
IPC_FIRST(cable_cuts, slot);
IPC_FIRST(cable_make, slot);
IPC_FIRST(cable_end, slot);
IPC_FIRST(egress_port, slot);
IPC_FIRST(egress_begin, slot);
IPC_FIRST(dial_begin, slot);
IPC_FIRST(spawn_standby, sandbox);
IPC_FIRST(spawn_standby_leaf, sandbox);

#endif
