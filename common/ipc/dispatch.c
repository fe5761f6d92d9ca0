/* SPDX-License-Identifier: Apache-2.0 */
#include "common/ipc/dispatch.h"

#include <errno.h>

int dispatch_one(const struct channel *channel, struct channel_message *message, int flags,
		 const dispatch_handler handlers[IPC_TYPE_COUNT], void *context,
		 enum ipc_error *ret_error)
{
	int status = channel_receive(channel, message, flags, ret_error);

	if (status <= 0)
		return status;
	if (handlers[message->type]) {
		status = handlers[message->type](context, message);
		if (status == -EAGAIN) /* an answer found the queue full: not "nothing there" */
			status = -ENOBUFS;
	} else {
		*ret_error = IPC_ERROR_DIRECTION;
		status = -EPROTO;
	}
	channel_message_done(message);
	return status < 0 ? status : 1;
}
