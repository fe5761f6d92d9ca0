/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/relay/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Most connections keep nothing from one turn to the next, so one buffer serves them in turn. */
static uint8_t *spare;

uint8_t *relay_room(struct relay *relay)
{
	if (relay->bytes == NULL) {
		relay->bytes = spare != NULL ? spare : malloc(RELAY_BYTES);
		spare = NULL;
	}
	if (relay->bytes == NULL)
		relay->state = RELAY_FAILED;
	return relay->bytes;
}

void relay_drop(struct relay *relay)
{
	relay->start = relay->end = relay->held = 0;
	if (relay->bytes == NULL)
		return;
	free(spare);
	spare = relay->bytes;
	relay->bytes = NULL;
}

bool relay_wants_source(const struct relay *relay)
{
	return relay->state == RELAY_OPEN && relay->end < RELAY_BYTES;
}

bool relay_wants_target(const struct relay *relay)
{
	return relay->state <= RELAY_ENDING && relay->start + relay->held < relay->end;
}

size_t relay_read(struct relay *relay, int source, size_t most)
{
	const size_t room = RELAY_BYTES - relay->end;
	ssize_t size;

	if (!relay_wants_source(relay) || most == 0 || relay_room(relay) == NULL)
		return 0;
	size = recv(source, relay->bytes + relay->end, most < room ? most : room, 0);
	if (size > 0) {
		relay->end += (uint32_t)size;
		return (size_t)size;
	}
	if (size == 0)
		relay->state = RELAY_ENDING;
	else if (errno != EAGAIN && errno != EINTR)
		relay->state = RELAY_FAILED;
	if (relay->start == relay->end)
		relay_drop(relay);
	return 0;
}

/* Write what is kept and not held. Return whether all of it went. */
static bool write_target(struct relay *relay, int target)
{
	while (relay_wants_target(relay)) {
		const ssize_t size = send(target, relay->bytes + relay->start,
					  relay->end - relay->held - relay->start, MSG_NOSIGNAL);

		if (size > 0) {
			relay->start += (uint32_t)size;
			relay->moved += (uint64_t)size;
		} else if (errno == EAGAIN) {
			return false;
		} else if (errno != EINTR) {
			relay->state = RELAY_FAILED;
		}
	}
	if (relay->held == 0) {
		relay_drop(relay);
	} else if (relay->start > 0) { /* held bytes need room for their rest */
		memmove(relay->bytes, relay->bytes + relay->start, relay->held);
		relay->start = 0;
		relay->end = relay->held;
	}
	return true;
}

void relay_reset(int fd)
{
	const struct linger reset = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)); /* or it is gone */
}

void relay_move(struct relay *relay, int source, int target, size_t most)
{
	bool is_whole;

	/* Fewer bytes than there is room for are all that there are. */
	do {
		const size_t room = RELAY_BYTES - relay->end;
		const size_t got = relay_read(relay, source, most);

		is_whole = got == 0 || (got < room && got < most);
		most -= got;
	} while (write_target(relay, target) && !is_whole);
	if (relay->state != RELAY_ENDING || relay->start < relay->end)
		return;
	/* A half-closed connection may go on in its open direction. */
	relay->state =
		shutdown(target, SHUT_WR) == 0 || errno == ENOTCONN ? RELAY_ENDED : RELAY_FAILED;
}
