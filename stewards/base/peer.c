/* SPDX-License-Identifier: Apache-2.0 */
#include "stewards/base/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/log.h"

/* Messages in one turn. */
#define MESSAGES_MAX 64

bool peer_turn(const struct channel *peer, struct channel_message *message,
	       const dispatch_handler handlers[IPC_TYPE_COUNT], const char *name)
{
	enum ipc_error wrong = IPC_OK;
	int status = 1;

	for (int i = 0; i < MESSAGES_MAX && status == 1; i++)
		status = dispatch_one(peer, message, MSG_DONTWAIT, handlers, NULL, &wrong);
	if (status == 0)
		exit(0);
	if (status < 0 && status != -EAGAIN)
		log_fatal(MSP_EXIT_SOFTWARE, "%s broke the protocol: %s", name,
			  wrong ? ipc_error_text(wrong) : errno_text(-status));
	return status < 0;
}

void peer_require(int error, const char *problem)
{
	if (error == -EPIPE)
		exit(0);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "%s: %s", problem, errno_text(-error));
}
