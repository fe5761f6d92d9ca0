/* SPDX-License-Identifier: Apache-2.0
 *
 * The port to msp-vm, and its request.
 */
#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "common/fd.h"

static void end_machine(void)
{
	(void)reboot(RB_POWER_OFF);
	for (;;)
		(void)pause();
}

void port_send(struct guest *guest, uint32_t type, const void *body, size_t size)
{
	static struct frame frame;

	frame.head = (struct wire_head){ type, (uint32_t)size };
	if (size > 0)
		memcpy(frame.load.bytes, body, size);
	if (fd_write_all(guest->port, &frame, sizeof(frame.head) + size) != 0)
		end_machine();
}

static void read_all(const struct guest *guest, void *data, size_t size)
{
	uint8_t *at = data;

	while (size > 0) {
		const ssize_t done = read(guest->port, at, size);

		if (done == 0 || (done < 0 && errno != EINTR))
			end_machine();
		at += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
}

void port_read(struct guest *guest, struct frame *ret)
{
	read_all(guest, &ret->head, sizeof(ret->head));
	if (ret->head.size > WIRE_BODY_MAX)
		end_machine();
	read_all(guest, &ret->load, ret->head.size);
}

void port_fail(struct guest *guest, const char *act, int error)
{
	struct wire_failed failed = { .error = (uint32_t)error };

	(void)snprintf(failed.act, sizeof(failed.act), "%s", act);
	port_send(guest, WIRE_FAILED, &failed, sizeof(failed));
	for (;;)
		(void)pause(); /* msp-vm ends the machine when it has read that */
}

/* Append a part of a list. */
static void take_part(struct guest *guest, const struct frame *frame, char *list, uint32_t *used,
		      size_t room)
{
	if (frame->head.size > room - *used)
		port_fail(guest, "reading the request", E2BIG);
	memcpy(list + *used, frame->load.bytes, frame->head.size);
	*used += frame->head.size;
}

void request_read(struct guest *guest)
{
	static struct frame frame;

	do {
		port_read(guest, &frame);
		if (frame.head.type == WIRE_MOUNT)
			root_mount(guest, &frame.load.mount);
		else if (frame.head.type == WIRE_ARGUMENTS)
			take_part(guest, &frame, guest->arguments, &guest->arguments_size,
				  sizeof(guest->arguments));
		else if (frame.head.type == WIRE_ENVIRONMENT)
			take_part(guest, &frame, guest->environment, &guest->environment_size,
				  sizeof(guest->environment));
	} while (frame.head.type != WIRE_START);
	guest->start = frame.load.start;
	root_enter(guest);
}
