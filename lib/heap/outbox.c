/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/heap/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct outbox_message {
	struct outbox_message *next;
	uint32_t type;
	_Alignas(IPC_BODY_ALIGN) uint8_t body[];
};

static int keep_message(struct outbox *outbox, uint32_t type, const void *message)
{
	const size_t size = ipc_message(type)->struct_size;
	struct outbox_message *kept;

	if (outbox->count == OUTBOX_MAX)
		return -ENOBUFS;
	kept = malloc(sizeof(*kept) + size);
	if (!kept)
		return -ENOMEM;
	kept->next = NULL;
	kept->type = type;
	memcpy(kept->body, message, size);
	if (outbox->last)
		outbox->last->next = kept;
	else
		outbox->first = kept;
	outbox->last = kept;
	outbox->count++;
	return 0;
}

int outbox_send(struct outbox *outbox, uint32_t type, const void *message)
{
	int error = -EAGAIN;

	if (outbox->count == 0)
		error = channel_send(outbox->channel, type, message, NULL, MSG_DONTWAIT);
	return error == -EAGAIN ? keep_message(outbox, type, message) : error;
}

int outbox_flush(struct outbox *outbox)
{
	while (outbox->first) {
		struct outbox_message *first = outbox->first;
		const int error =
			channel_send(outbox->channel, first->type, first->body, NULL, MSG_DONTWAIT);

		if (error)
			return error == -EAGAIN ? 0 : error;
		outbox->first = first->next;
		if (!outbox->first)
			outbox->last = NULL;
		outbox->count--;
		free(first);
	}
	return 0;
}
