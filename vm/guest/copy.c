/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the port and the command's pipes. A part of stdin is asked for when the one before it
 * was taken, so a command that reads nothing holds up no signal.
 */
#include "guest.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A part of stdin that the command has not taken. */
struct rest {
	uint32_t size, at;
	uint8_t bytes[WIRE_BODY_MAX];
};

static struct rest rest;

static void close_input(struct guest *guest)
{
	static const char end = 4; /* as typed, where stdin is a terminal */

	if (guest->input >= 0 && guest->input != guest->output)
		(void)close(guest->input);
	else if (guest->input >= 0)
		(void)write(guest->input, &end, 1);
	guest->input = -1;
}

/* Give the command what it takes of the part, and ask for the next one behind it. */
static void feed_input(struct guest *guest)
{
	const ssize_t done = write(guest->input, rest.bytes + rest.at, rest.size - rest.at);

	if (done < 0 && errno != EAGAIN && errno != EINTR) {
		close_input(guest); /* the command has closed it */
		rest.size = rest.at = 0;
		return;
	}
	rest.at += done > 0 ? (uint32_t)done : 0;
	if (rest.at < rest.size)
		return;
	rest.size = rest.at = 0;
	port_send(guest, WIRE_WANT, NULL, 0);
}

static void take_frame(struct guest *guest)
{
	static struct frame frame;
	struct winsize size;

	port_read(guest, &frame);
	switch (frame.head.type) {
	case WIRE_INPUT:
		if (frame.head.size == 0)
			close_input(guest);
		memcpy(rest.bytes, frame.load.bytes, frame.head.size);
		rest.size = frame.head.size;
		rest.at = 0;
		break;
	case WIRE_SIGNAL:
		(void)kill(-guest->command, (int)frame.load.signal);
		break;
	case WIRE_SIZE:
		size = (struct winsize){ .ws_row = (unsigned short)frame.load.size.rows,
					 .ws_col = (unsigned short)frame.load.size.columns };
		(void)ioctl(guest->output, TIOCSWINSZ, &size);
		break;
	default:
		break;
	}
}

/* Send what is there; at its end close it. */
static void pass_on(struct guest *guest, int *from, uint32_t type)
{
	static uint8_t bytes[WIRE_BODY_MAX];
	const ssize_t got = read(*from, bytes, sizeof(bytes));

	if (got > 0) {
		port_send(guest, type, bytes, (size_t)got);
		return;
	}
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (*from == guest->input)
		guest->input = -1;
	(void)close(*from);
	*from = -1;
}

/* Collect what has ended. With the command everything else of the machine ends, as in a sandbox. */
static void collect_children(struct guest *guest, int signals)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)read(signals, &info, sizeof(info));
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != guest->command)
			continue;
		guest->ended.code = WIFEXITED(status) ? (uint32_t)WEXITSTATUS(status) : 0;
		guest->ended.signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
		guest->command = 0;
		(void)kill(-1, SIGKILL);
	}
}

void copy_all(struct guest *guest)
{
	sigset_t child;
	int signals;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	signals = signalfd(-1, &child, SFD_CLOEXEC);
	port_send(guest, WIRE_WANT, NULL, 0);
	while (guest->command > 0 || guest->output >= 0 || guest->errors >= 0) {
		struct pollfd polls[] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = guest->command > 0 ? guest->port : -1, .events = POLLIN },
			{ .fd = guest->output, .events = POLLIN },
			{ .fd = guest->errors, .events = POLLIN },
			{ .fd = rest.size > 0 ? guest->input : -1, .events = POLLOUT },
		};

		if (poll(polls, sizeof(polls) / sizeof(polls[0]), -1) < 0)
			continue;
		if (polls[0].revents != 0)
			collect_children(guest, signals);
		if (polls[1].revents != 0)
			take_frame(guest);
		if (polls[2].revents != 0)
			pass_on(guest, &guest->output, WIRE_OUTPUT);
		if (polls[3].revents != 0)
			pass_on(guest, &guest->errors, WIRE_ERRORS);
		if (polls[4].revents != 0)
			feed_input(guest);
	}
}
