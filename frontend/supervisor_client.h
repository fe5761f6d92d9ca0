/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontend's side of the conversation with the supervisor: supervisor_request() asks,
 * handle_execution_start() in the supervisor answers. Used by msp-broker and by `msp run`.
 *
 * There is no event loop in here and nothing blocks unless the descriptor does: the caller waits
 * for the descriptor to become readable and calls supervisor_receive(), or, while
 * supervisor_has_queued() says so, for it to become writable and calls supervisor_flush().
 *
 * Aborts when memory runs out.
 */
#ifndef FRONTEND_SUPERVISOR_CLIENT_H
#define FRONTEND_SUPERVISOR_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/channel.h"
#include "common/ipc/end_reason.h"

struct ipc_changes_done;
struct ipc_changes_started;
struct ipc_checkpoint_info;
struct ipc_execution_done;
struct ipc_execution_extended;
struct ipc_execution_refused;
struct ipc_execution_started;
struct ipc_execution_tty;
struct ipc_policy_changed;
struct ipc_profile_posture;
struct ipc_request_done;
struct ipc_sandbox_info;
struct ipc_welcome;

/* Called from supervisor_receive(), one call per message. A NULL handler drops the message (and
 * closes its descriptors). The structs are only valid during the call. */
struct supervisor_handlers {
	/* The sealed plan, for plan_open_fd(): the handler owns it. */
	void (*on_welcome)(void *context, const struct ipc_welcome *welcome, int plan);
	/* Instead of it, and nothing was done: enum client_end_reason. */
	void (*on_turned_away)(void *context, uint32_t reason);
	/* The plan that holds from now on, in the same way. */
	void (*on_policy)(void *context, const struct ipc_policy_changed *changed, int plan);
	void (*on_refused)(void *context, const struct ipc_execution_refused *refused);
	/* The workload's stdin (write end), stdout and stderr (read ends): the handler owns them.
	 * All -1 when this process has no room for them. */
	void (*on_started)(void *context, const struct ipc_execution_started *started,
			   const int fds[3]);
	/* The terminal's master side: the handler owns it. -1 when there is no room for it. */
	void (*on_tty)(void *context, const struct ipc_execution_tty *tty, int terminal);
	void (*on_extended)(void *context, const struct ipc_execution_extended *extended);
	void (*on_done)(void *context, const struct ipc_execution_done *done);
	/* The posture of a profile, if the welcome had none, comes before the end of the first
	 * execution in it. */
	void (*on_posture)(void *context, const struct ipc_profile_posture *posture);
	/* Answers to requests about persistent sandboxes; on_refused is one too. */
	void (*on_sandbox)(void *context, const struct ipc_sandbox_info *info);
	void (*on_checkpoint)(void *context, const struct ipc_checkpoint_info *info);
	void (*on_request_done)(void *context, const struct ipc_request_done *done);
	/* The read end of the records' pipe (common/records/changes.h): the handler owns it. -1
	 * when there is no room for it. */
	void (*on_changes)(void *context, const struct ipc_changes_started *started, int records);
	void (*on_changes_done)(void *context, const struct ipc_changes_done *done);
	/* No message, and not from supervisor_receive(): the socket had no room for a request, so
	 * supervisor_flush() when the descriptor is writable. */
	void (*on_queued)(void *context);
};

struct supervisor_queued;

struct supervisor_client {
	const struct supervisor_handlers *handlers;
	void *context;
	struct channel sending;   /* its phase may be ahead of `receiving`: requests may be piped */
	struct channel receiving; /* behind the hello before the welcome came */
	struct supervisor_queued *queue_first; /* messages the socket had no room for, in order */
	struct supervisor_queued *queue_last;
	size_t queue_bytes;
	uint64_t last_request; /* the newest number that a frontend with many requests gave one */
	enum ipc_error error;  /* after -EPROTO: what the supervisor did wrong */
};

/* Speak over `fd`, one end of a channel_pair(), which stays the caller's; `handlers` and `context`
 * must outlive the client. Sends nothing. */
void supervisor_client_init(struct supervisor_client *client, int fd,
			    const struct supervisor_handlers *handlers, void *context);

/* Forget the queue and close what it held; the channel's descriptor stays open. */
void supervisor_client_done(struct supervisor_client *client);

/* Say hello, and which limits are accepted (enum limits_mode); requests may follow at once. 0 or
 * -errno. */
int supervisor_hello(struct supervisor_client *client, uint32_t limits);

/*
 * Send the request `name` with its struct, a struct ipc_name: of an execution, a sandbox or a
 * bridge. `fd`, the descriptor that the message's row wants, or -1, belongs to the client from this
 * call on. Sent at once or queued: 0; -ENOBUFS when so much is queued already that a further
 * request is not taken (try again after a flush); -EPROTO when the struct cannot be encoded (an
 * argument over its room); another -errno from the socket.
 */
#define supervisor_request(client, name, message, fd)                                              \
	supervisor_request_of((client), IPC_TYPE_##name,                                           \
			      1 ? (message) : (const struct ipc_##name *)NULL, (fd))

int supervisor_request_of(struct supervisor_client *client, uint32_t type, const void *message,
			  int fd);

/* Have an execution killed; execution_done still follows. Never refused for lack of room in the
 * queue: say it once per execution. */
int supervisor_execution_end(struct supervisor_client *client, uint64_t request,
			     enum end_reason reason);

/* Send a signal of IPC_SIGNALS to an execution's first process and its group; nothing answers, and
 * one that has just ended is left alone. -ENOBUFS as in supervisor_request(). */
int supervisor_execution_signal(struct supervisor_client *client, uint64_t request,
				uint32_t signal);

/* Ask for a later deadline; execution_extended answers, unless the execution has just ended.
 * -ENOBUFS as in supervisor_request(). */
int supervisor_execution_extend(struct supervisor_client *client, uint64_t request,
				uint32_t wall_ms);

/* Our clean end, as far as the socket has room for it. */
void supervisor_goodbye(struct supervisor_client *client);

/* Is anything waiting for the descriptor to become writable? */
bool supervisor_has_queued(const struct supervisor_client *client);

/* Send what is queued until the socket is full. 0 (also when some is left) or -errno. */
int supervisor_flush(struct supervisor_client *client);

/*
 * Receive one message and call its handler. 1: done, there may be more; 0: the supervisor is gone;
 * -EAGAIN: nothing there (nonblocking descriptors only); -EPROTO: it broke the protocol, see
 * client->error; another -errno from the system. After 0 or an error other than -EAGAIN the
 * client is of no further use.
 */
int supervisor_receive(struct supervisor_client *client);

#endif
