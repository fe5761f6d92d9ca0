/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's service from the outside: where its socket is, whether it answers, how it is. What
 * cannot be trusted is not spoken to: the folder of the socket must be ours alone, and who listens
 * must be of our user.
 */
#ifndef LAUNCHER_HOST_SERVICE_H
#define LAUNCHER_HOST_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"
#include "launcher/host/unix_socket.h"

struct channel_message;
struct ipc_status;

#define SERVICE_TEXT_MAX UNIX_SOCKET_TEXT_MAX

/* How long an answer may take: activation by the socket may have to start the service first, on a
 * slow machine; MCP clients wait at least 10 s for a server. */
#define SERVICE_ANSWER_MS 5000

struct service_place {
	char folder[IPC_PATH_MAX];
	char name[UNIX_SOCKET_NAME_MAX];
	bool is_given; /* by --socket */
};

enum service_state {
	SERVICE_HERE,
	SERVICE_ABSENT,        /* no process listens, or there is no place for a socket */
	SERVICE_UNTRUSTED,     /* the folder or the listener is not ours alone */
	SERVICE_OTHER_VERSION, /* it does not understand us, or we do not understand it */
	SERVICE_FULL,
	SERVICE_STOPPING,
	SERVICE_WEAKER, /* it runs with weaker limits than are accepted here */
	SERVICE_SILENT, /* it did not answer in time */
	SERVICE_UNFIT,  /* it cannot start */
	SERVICE_FAILED, /* the system refused something */
};

/* The state of the service. */
struct service {
	enum service_state state;
	int fd;                      /* HERE: connected, the caller's to close; else -1 */
	char text[SERVICE_TEXT_MAX]; /* all but HERE: one line that says what was found */
};

/*
 * Find the socket: `given` (--socket, checked by its option) or, when that is NULL, our user's:
 * RUN_FOLDER/UID/msp, or XDG_RUNTIME_DIR/msp where RUN_FOLDER/UID does not exist and the variable
 * names a folder that is ours and closed to others. False, and a line in `text`: there is none.
 */
bool service_find_place(const char *given, struct service_place *ret, char text[SERVICE_TEXT_MAX]);

/* The rule alone, for a user and an environment; `xdg` may be NULL. */
bool service_choose_folder(const char *run_folder, uid_t uid, const char *xdg, char *ret,
			   size_t room);

/* Connect to whoever listens there. */
struct service service_connect(const char *given);

/* Ask it how it is. The state changes from HERE when that goes wrong; the connection is then
 * closed. */
void service_ask(struct service *service, struct ipc_status *ret);

/* Leave it, since it did not welcome us: `reason` as it said (enum client_end_reason), or 0; then
 * it has closed the connection, or has not, within SERVICE_ANSWER_MS. */
void service_leave_unwelcomed(struct service *service, uint32_t reason, bool is_closed);

/* Leave it if it enforces less than `limits` (enum limits_mode) accepts. */
void service_check_limits(struct service *service, const struct ipc_status *status,
			  uint32_t limits);

/* Receive one message of the service. 1: it is in `*ret`; else the service was left, for the reason
 * in its state. */
int service_receive(struct service *service, struct channel_message *ret);

/* Have the service, if one runs, read its policy again, and wait until it has, or three seconds. */
void service_reload(const char *given);

/* Leave the service, whose client_end came before it served us. */
void service_leave_for(struct service *service, uint32_t reason);

#endif
