/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/talk.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "vm/limits.h"

/* Forwarded to the command; WINCH as the terminal's new size. */
static const int forwarded[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
				 SIGUSR2, SIGTERM, SIGCONT, SIGTSTP };

/* A frame on its way in. */
static struct {
	struct wire_head head;
	union {
		uint8_t bytes[WIRE_BODY_MAX];
		struct wire_ended ended;
		struct wire_failed failed;
	} load;
	uint32_t got; /* bytes of both */
} coming;

static void fill_signals(sigset_t *ret)
{
	(void)sigemptyset(ret);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		(void)sigaddset(ret, forwarded[i]);
	(void)sigaddset(ret, SIGWINCH);
}

void talk_begin(void)
{
	sigset_t signals;

	fill_signals(&signals);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

/* --- to the machine --------------------------------------------------------------------------- */

/* A machine that has gone is found by reading. */
static void send_frame(struct talk *talk, uint32_t type, const void *body, uint32_t size)
{
	const struct wire_head head = { type, size };
	int error =
		talk->is_deaf ? -EAGAIN : fd_write_all(talk->machine->port, &head, sizeof(head));

	if (!error)
		error = fd_write_all(talk->machine->port, body, size);
	talk->is_deaf = error == -EAGAIN;
}

static void send_words(struct talk *talk, uint32_t type, char *const *words)
{
	for (; *words != NULL; words++) {
		const char *at = *words;

		for (size_t left = strlen(at) + 1; left > 0;) {
			const uint32_t size = left < WIRE_BODY_MAX ? (uint32_t)left : WIRE_BODY_MAX;

			send_frame(talk, type, at, size);
			at += size;
			left -= size;
		}
	}
}

static struct wire_size terminal_size(void)
{
	struct winsize size = { .ws_row = 0 };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return (struct wire_size){ size.ws_row, size.ws_col };
}

static void send_request(struct talk *talk)
{
	static struct wire_mount mount;
	static struct wire_start start;
	struct timespec now;
	struct utsname names;

	for (uint32_t i = 0; i < talk->mounts->count; i++) {
		const struct mount_entry *entry = &talk->mounts->list[i];

		mount.is_writable = entry->is_writable;
		(void)snprintf(mount.tag, sizeof(mount.tag), WIRE_TAG, i);
		memcpy(mount.path, entry->path, sizeof(mount.path));
		send_frame(talk, WIRE_MOUNT, &mount, sizeof(mount));
	}
	send_words(talk, WIRE_ARGUMENTS, talk->arguments);
	send_words(talk, WIRE_ENVIRONMENT, environ);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	start.time_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	for (size_t i = 0; i < WIRE_LIMITS; i++) {
		struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

		(void)getrlimit(vm_limits[i], &limit);
		start.limits[i][0] = limit.rlim_cur;
		start.limits[i][1] = limit.rlim_max;
	}
	start.uid = getuid();
	start.gid = getgid();
	start.mask = umask(0);
	start.is_terminal = talk->is_terminal;
	start.size = terminal_size();
	(void)getrandom(start.seed, sizeof(start.seed), 0);
	if (uname(&names) == 0)
		memcpy(start.hostname, names.nodename, sizeof(start.hostname));
	if (getcwd(start.cwd, sizeof(start.cwd)) == NULL)
		memcpy(start.cwd, "/", 2);
	send_frame(talk, WIRE_START, &start, sizeof(start));
}

/* --- from the machine ------------------------------------------------------------------------- */

bool talk_is_fatal(uint32_t signal)
{
	static const int harmless[] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
					SIGCONT, SIGCHLD, SIGURG,  SIGWINCH };

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		if (signal == (uint32_t)harmless[i])
			return false;
	}
	return signal > 0 && signal < _NSIG;
}

static enum talk_end take_ready(struct talk *talk)
{
	if (talk->is_ready)
		return TALK_WRONG;
	talk->is_ready = true;
	send_request(talk);
	return TALK_NONE;
}

/* Mark that the machine has room for another part of stdin. */
static enum talk_end take_want(struct talk *talk)
{
	talk->is_wanted = true;
	return TALK_NONE;
}

static enum talk_end take_output(struct talk *talk)
{
	(void)fd_write_all(STDOUT_FILENO, coming.load.bytes, coming.head.size);
	return TALK_NONE;
}

static enum talk_end take_errors(struct talk *talk)
{
	(void)fd_write_all(STDERR_FILENO, coming.load.bytes, coming.head.size);
	return TALK_NONE;
}

/* Keep why the command was not started, as a line can show it. */
static enum talk_end take_failed(struct talk *talk)
{
	talk->failed = coming.load.failed;
	talk->failed.act[sizeof(talk->failed.act) - 1] = '\0';
	for (char *at = talk->failed.act; *at != '\0'; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return TALK_FAILED;
}

static enum talk_end take_ended(struct talk *talk)
{
	const struct wire_ended *ended = &coming.load.ended;

	if (ended->signal == 0 ? ended->code > UINT8_MAX : !talk_is_fatal(ended->signal))
		return TALK_WRONG;
	talk->ended = *ended;
	return TALK_ENDED;
}

/* Frames of the machine. All but the first are sent when it listens. */
static const struct {
	enum wire_type type;
	uint32_t least, most; /* bytes of the body */
	enum talk_end (*take)(struct talk *talk);
} frames[] = {
	{ WIRE_READY, 0, 0, take_ready },
	{ WIRE_WANT, 0, 0, take_want },
	{ WIRE_OUTPUT, 1, WIRE_BODY_MAX, take_output },
	{ WIRE_ERRORS, 1, WIRE_BODY_MAX, take_errors },
	{ WIRE_FAILED, sizeof(struct wire_failed), sizeof(struct wire_failed), take_failed },
	{ WIRE_ENDED, sizeof(struct wire_ended), sizeof(struct wire_ended), take_ended },
};

#define FRAME_COUNT (sizeof(frames) / sizeof(frames[0]))

/* Find the frame of the head that has come. FRAME_COUNT: a machine of ours sends no such now. */
static size_t find_frame(const struct talk *talk)
{
	size_t i = 0;

	while (i < FRAME_COUNT && frames[i].type != coming.head.type)
		i++;
	return i < FRAME_COUNT && (talk->is_ready || i == 0) &&
			       coming.head.size >= frames[i].least &&
			       coming.head.size <= frames[i].most
		       ? i
		       : FRAME_COUNT;
}

/* Read what has come, and act on a whole frame. */
static enum talk_end take_bytes(struct talk *talk)
{
	const bool has_head = coming.got >= sizeof(coming.head);
	const uint32_t whole = (uint32_t)sizeof(coming.head) + (has_head ? coming.head.size : 0);
	const ssize_t got =
		read(talk->machine->port, (uint8_t *)&coming + coming.got, whole - coming.got);
	size_t frame;

	if (got <= 0)
		return got < 0 && errno == EINTR ? TALK_NONE : TALK_GONE;
	coming.got += (uint32_t)got;
	if (coming.got < whole)
		return TALK_NONE;
	frame = find_frame(talk);
	if (frame == FRAME_COUNT)
		return TALK_WRONG;
	if (!has_head && coming.head.size > 0)
		return TALK_NONE;
	coming.got = 0;
	return frames[frame].take(talk);
}

/* Keep the end of what the kernel says. */
static void take_console(struct talk *talk)
{
	char bytes[TALK_CONSOLE_MAX];
	const ssize_t got = recv(talk->machine->console, bytes, sizeof(bytes), MSG_DONTWAIT);
	const uint32_t size = got > 0 ? (uint32_t)got : 0;
	uint32_t kept = talk->console_size;

	if (kept > TALK_CONSOLE_MAX - size)
		kept = TALK_CONSOLE_MAX - size;
	memmove(talk->console, talk->console + talk->console_size - kept, kept);
	memcpy(talk->console + kept, bytes, size);
	talk->console_size = kept + size;
	if (got <= 0) {
		(void)close(talk->machine->console);
		talk->machine->console = -1;
	}
}

/* --- both ways -------------------------------------------------------------------------------- */

/* Forward a signal; before there is a command, it ends the machine. */
static enum talk_end forward_signal(struct talk *talk, int signals)
{
	struct signalfd_siginfo info;
	struct wire_size size;
	uint32_t number;

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TALK_NONE;
	number = info.ssi_signo;
	if (!talk->is_ready && talk_is_fatal(number)) {
		talk->ended = (struct wire_ended){ .signal = number };
		return TALK_SIGNALED;
	}
	if (!talk->is_ready)
		return TALK_NONE;
	if (number == SIGWINCH) {
		size = terminal_size();
		send_frame(talk, WIRE_SIZE, &size, sizeof(size));
	} else {
		send_frame(talk, WIRE_SIGNAL, &number, sizeof(number));
	}
	return TALK_NONE;
}

/* Send a part of stdin, or its end. */
static void send_input(struct talk *talk)
{
	static uint8_t bytes[WIRE_BODY_MAX];
	const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	talk->is_wanted = false;
	send_frame(talk, WIRE_INPUT, bytes, got > 0 ? (uint32_t)got : 0);
}

/* Return the time to wait, -1 for ever; 0 when the machine has taken too long. */
static int wait_ms(const struct talk *talk, uint64_t deadline)
{
	const uint64_t now = clock_now_us() / 1000;

	if (talk->is_ready)
		return -1;
	return deadline > now ? (int)(deadline - now) : 0;
}

static void exchange_all(struct talk *talk, int signals)
{
	const uint64_t deadline = clock_now_us() / 1000 + talk->boot_ms;

	while (talk->end == TALK_NONE) {
		struct pollfd polls[] = {
			{ .fd = talk->machine->port, .events = POLLIN },
			{ .fd = talk->machine->console, .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
			{ .fd = talk->is_wanted ? STDIN_FILENO : -1, .events = POLLIN },
		};
		const int count =
			poll(polls, sizeof(polls) / sizeof(polls[0]), wait_ms(talk, deadline));

		if (count < 0)
			continue;
		if (count == 0)
			talk->end = TALK_LATE;
		if (polls[1].revents != 0)
			take_console(talk);
		if (polls[0].revents != 0)
			talk->end = take_bytes(talk);
		if (polls[2].revents != 0 && talk->end == TALK_NONE)
			talk->end = forward_signal(talk, signals);
		if (polls[3].revents != 0)
			send_input(talk);
		if (talk->is_deaf && talk->end == TALK_NONE)
			talk->end = TALK_DEAF;
	}
}

void talk_drain(struct talk *talk)
{
	while (talk->machine->console >= 0)
		take_console(talk);
}

enum talk_end talk_run(struct talk *talk)
{
	struct termios before, raw;
	sigset_t wanted;
	int signals;

	talk->end = TALK_NONE;
	talk->is_ready = talk->is_wanted = talk->is_deaf = false;
	talk->console_size = coming.got = 0;
	fill_signals(&wanted);
	signals = signalfd(-1, &wanted, SFD_CLOEXEC);
	talk->is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 &&
			    tcgetattr(STDIN_FILENO, &before) == 0;
	if (talk->is_terminal) {
		raw = before;
		cfmakeraw(&raw);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	exchange_all(talk, signals);
	if (talk->is_terminal)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	(void)close(signals);
	return talk->end;
}
