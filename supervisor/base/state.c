/* SPDX-License-Identifier: Apache-2.0 */
#include "base/state.h"

#include <sys/socket.h>

struct supervisor supervisor;

uint32_t state_key(const char *text)
{
	uint32_t key = 2166136261U; /* FNV-1a; who makes two alike only makes them slower to find */

	for (; *text; text++)
		key = (key ^ (uint8_t)*text) * 16777619U;
	return key;
}

void state_note_fault(void)
{
	if (supervisor.exit_status == 0)
		supervisor.exit_status = MSP_EXIT_SOFTWARE;
}

void state_end(int exit_status)
{
	if (supervisor.exit_status == 0)
		supervisor.exit_status = exit_status;
	supervisor.is_ending = true;
}

int state_send(const struct channel *channel, uint32_t type, const void *message, const int *fds)
{
	return channel_send(channel, type, message, fds, MSG_DONTWAIT);
}
