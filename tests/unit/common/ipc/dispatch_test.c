/* SPDX-License-Identifier: Apache-2.0
 *
 * One message to its handler: what a handler leaves is closed, what has no handler is a breach.
 */
#include "common/ipc/dispatch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/ipc_all.h"
#include "messages.h"
#include "support.h"

struct seen {
	int calls;
	int result;
	int taken; /* a descriptor that the handler took; -1: it takes none */
};

static struct channel frontend, supervisor;
static struct channel_message message;

static int handle(void *context, struct channel_message *received)
{
	struct seen *seen = context;

	seen->calls++;
	if (seen->taken == 0) {
		seen->taken = received->fds[0];
		received->fds[0] = -1;
	}
	return seen->result;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = { [IPC_TYPE_code_start] = handle };

static void make_pair(void)
{
	int fds[2];

	cr_assert_eq(channel_pair(fds), 0);
	frontend = (struct channel){ fds[0], IPC_FRONTEND, IPC_SUPERVISOR, IPC_SERVE };
	supervisor = (struct channel){ fds[1], IPC_SUPERVISOR, IPC_FRONTEND, IPC_SERVE };
}

static void send_message(uint32_t type)
{
	static union ipc_any body;
	uint32_t seed = 1;
	int fd = fd_of_kind('m');

	message_fill(ipc_message(type), &body, FILL_SHORTEST, &seed);
	cr_assert_eq(channel_send(&frontend, type, &body, &fd, 0), 0);
	fd_close(&fd);
}

static int dispatch(struct seen *seen, enum ipc_error *ret_error)
{
	return dispatch_one(&supervisor, &message, MSG_DONTWAIT, handlers, seen, ret_error);
}

TestSuite(dispatch, .init = make_pair);

Test(dispatch, a_message_reaches_its_handler)
{
	struct seen seen = { .taken = -1 };
	enum ipc_error error = IPC_OK;
	const size_t before = fd_count_open();

	send_message(IPC_TYPE_code_start);
	cr_assert_eq(dispatch(&seen, &error), 1);
	cr_assert_eq(seen.calls, 1);
	cr_assert_eq(fd_count_open(), before, "what the handler did not take is closed");
}

Test(dispatch, a_taken_descriptor_stays_open)
{
	struct seen seen = { .taken = 0 };
	enum ipc_error error = IPC_OK;
	const size_t before = fd_count_open();

	send_message(IPC_TYPE_code_start);
	cr_assert_eq(dispatch(&seen, &error), 1);
	cr_assert(fd_is_kind(seen.taken, 'm'));
	cr_assert_eq(fd_count_open(), before + 1);
}

Test(dispatch, a_handlers_error_is_forwarded)
{
	struct seen seen = { .taken = -1, .result = -EMFILE };
	enum ipc_error error = IPC_OK;
	const size_t before = fd_count_open();

	send_message(IPC_TYPE_code_start);
	cr_assert_eq(dispatch(&seen, &error), -EMFILE);
	cr_assert_eq(error, IPC_OK);
	cr_assert_eq(fd_count_open(), before);
}

Test(dispatch, a_type_without_a_handler_is_a_breach)
{
	struct seen seen = { .taken = -1 };
	enum ipc_error error = IPC_OK;

	send_message(IPC_TYPE_execution_end);
	cr_assert_eq(dispatch(&seen, &error), -EPROTO);
	cr_assert_eq(error, IPC_ERROR_DIRECTION);
	cr_assert_eq(seen.calls, 0);
}

Test(dispatch, nothing_there_and_nobody_there)
{
	struct seen seen = { .taken = -1 };
	enum ipc_error error = IPC_OK;

	cr_assert_eq(dispatch(&seen, &error), -EAGAIN);
	fd_close(&frontend.fd);
	cr_assert_eq(dispatch(&seen, &error), 0);
	cr_assert_eq(seen.calls, 0);
}
