/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole broker in this process: the test is its client on two pipes and its supervisor on the
 * other end of the channel. Every line that the broker says is checked on the way: valid JSON, no
 * error in its frame.
 */
#ifndef TESTS_UNIT_BROKER_RIG_H
#define TESTS_UNIT_BROKER_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "common/ipc/channel.h"
#include "lib/json/read.h"
#include "server.h"

struct ipc_execution_done;

#ifndef RIG_LINE_MAX /* the fuzz target has short ones */
#define RIG_LINE_MAX ((size_t)4 << 20)
#endif

/* What the profile of the rig's supervisor keeps of an output. */
#define RIG_LOG_BYTES ((uint64_t)1 << 20)

struct rig {
	struct event_base *base;
	struct server *server;
	int client_in;  /* write: what the broker reads */
	int client_out; /* read: what it says */
	int broker_in;
	int broker_out;
	int broker_channel;
	struct channel supervisor;
	char *line;    /* the last one received, without newline, terminated */
	char *pending; /* read, not yet handed out */
	size_t pending_size;
	uint64_t log_bytes;       /* that the profile keeps; 0: RIG_LOG_BYTES */
	const char *profile_name; /* of the plan in the welcome; NULL: "default" */
	uint32_t apply;           /* enum plan_apply of that profile */
	uint32_t workspace_mode;  /* enum workspace_mode of it; 0: as it is in the blob */
	uint32_t host_approval;   /* enum plan_host_approval of it; with one, it has no host */
	bool is_service;          /* the supervisor is the user's service */
};

/* The workload's ends of an execution that the test plays. */
struct rig_workload {
	uint64_t request;
	int in;  /* read */
	int out; /* write */
	int err; /* write */
};

/* Started, hello taken; `welcomed`: the supervisor has answered it too. */
void rig_open(struct rig *rig, bool welcomed);
void rig_close(struct rig *rig);

/* The steps of rig_open(): a new server and channel; the supervisor's welcome. */
void rig_start_server(struct rig *rig);
void rig_welcome(struct rig *rig);

/* From now on another plan holds; its profile is rig->profile_name. */
void rig_change_policy(struct rig *rig);

/* Let the broker work until nothing is ready. */
void rig_turn(struct rig *rig);

/* Send a line (a newline is added), or bytes. */
void rig_say(struct rig *rig, const char *line);
void rig_say_bytes(struct rig *rig, const void *bytes, size_t size);

/* The next line that the broker says; fails the test when there is none. */
const char *rig_hear(struct rig *rig);

/* The same, for one that waits for something first. */
const char *rig_hear_late(struct rig *rig);

/* Fails the test when the broker says anything. */
void rig_hear_nothing(struct rig *rig);

/* Say and hear. */
const char *rig_ask(struct rig *rig, const char *line);

/* The next message to the supervisor, which must be of this type; static storage. */
struct channel_message *rig_take(struct rig *rig, uint32_t type);

/* Take the next message, which must be of type IPC_TYPE_name; its struct. */
#define rig_body(from, name) ipc_body(rig_take(from, IPC_TYPE_##name), name)

void rig_take_nothing(struct rig *rig);

/* The supervisor's answers. */
void rig_send(struct rig *rig, uint32_t type, const void *message, const int *fds);
struct rig_workload rig_start(struct rig *rig, uint64_t request);

/* The same, and it says in which persistent sandbox, and its profile. */
struct rig_workload rig_start_in(struct rig *rig, uint64_t request, const char *sandbox,
				 const char *profile);
void rig_workload_end(struct rig_workload *workload);
void rig_done(struct rig *rig, const struct ipc_execution_done *done);

/* tools/call of run_command with `command`, with this id; started. */
struct rig_workload rig_run(struct rig *rig, const char *id);

/* Fails the test unless `text` has `part` in it. */
void expect_part(const char *text, const char *part);

#endif
