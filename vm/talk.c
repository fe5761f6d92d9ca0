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
#include <sys/stat.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "vm/limits.h"
#include "vm/say.h"

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

static bool write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size > 0) {
		const ssize_t done = write(fd, at, size);

		if (done < 0 && errno != EINTR)
			return false;
		at += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

/* A machine that has gone is found by reading. */
static void send_frame(const struct talk *talk, uint32_t type, const void *body, uint32_t size)
{
	const struct wire_head head = { type, size };

	(void)(write_all(talk->machine->port, &head, sizeof(head)) &&
	       write_all(talk->machine->port, body, size));
}

static void send_words(const struct talk *talk, uint32_t type, char *const *words)
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

static void send_request(const struct talk *talk)
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

/* Act on a whole frame. False: a machine of ours sends no such. */
static bool take_frame(struct talk *talk)
{
	const uint32_t size = coming.head.size;

	switch (coming.head.type) {
	case WIRE_READY:
		if (talk->is_ready)
			return false;
		talk->is_ready = true;
		send_request(talk);
		return true;
	case WIRE_WANT:
		talk->is_wanted = true;
		return true;
	case WIRE_OUTPUT:
		(void)write_all(STDOUT_FILENO, coming.load.bytes, size);
		return true;
	case WIRE_ERRORS:
		(void)write_all(STDERR_FILENO, coming.load.bytes, size);
		return true;
	case WIRE_FAILED:
		talk->is_failed = size == sizeof(talk->failed);
		talk->failed = coming.load.failed;
		talk->failed.act[sizeof(talk->failed.act) - 1] = '\0';
		return talk->is_failed;
	case WIRE_ENDED:
		talk->is_ended = size == sizeof(talk->ended);
		talk->ended = coming.load.ended;
		return talk->is_ended;
	default:
		return false;
	}
}

/* Read what has come. False: the machine has gone, or sends nonsense. */
static bool take_bytes(struct talk *talk)
{
	const bool has_head = coming.got >= sizeof(coming.head);
	const uint32_t whole = (uint32_t)sizeof(coming.head) + (has_head ? coming.head.size : 0);
	const ssize_t got =
		read(talk->machine->port, (uint8_t *)&coming + coming.got, whole - coming.got);

	if (got < 0)
		return errno == EINTR;
	coming.got += (uint32_t)got;
	if (got == 0 || coming.got < whole)
		return got > 0;
	if (!has_head && coming.head.size > 0)
		return coming.head.size <= WIRE_BODY_MAX;
	coming.got = 0;
	return take_frame(talk);
}

/* Keep the end of what the kernel says. */
static void take_console(struct talk *talk)
{
	char bytes[TALK_CONSOLE_MAX];
	const ssize_t got = read(talk->machine->console, bytes, sizeof(bytes));
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
static void forward_signal(struct talk *talk, int signals)
{
	struct signalfd_siginfo info;
	struct wire_size size;
	uint32_t number;

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	number = info.ssi_signo;
	if (!talk->is_ready && number != SIGWINCH && number != SIGCONT) {
		talk->is_ended = true;
		talk->ended = (struct wire_ended){ .signal = number };
	} else if (number == SIGWINCH) {
		size = terminal_size();
		send_frame(talk, WIRE_SIZE, &size, sizeof(size));
	} else {
		send_frame(talk, WIRE_SIGNAL, &number, sizeof(number));
	}
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

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Return the time to wait, -1 for ever; 0 when the machine has taken too long. */
static int wait_ms(const struct talk *talk, uint64_t deadline)
{
	const uint64_t now = now_ms();

	if (talk->is_ready)
		return -1;
	return deadline > now ? (int)(deadline - now) : 0;
}

static bool exchange_all(struct talk *talk, int signals)
{
	const uint64_t deadline = now_ms() + talk->boot_ms;
	bool is_good = true;

	while (is_good && !talk->is_ended && !talk->is_failed) {
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
		talk->is_late = count == 0;
		is_good = !talk->is_late;
		if (polls[1].revents != 0)
			take_console(talk);
		if (polls[0].revents != 0)
			is_good = take_bytes(talk);
		if (polls[2].revents != 0)
			forward_signal(talk, signals);
		if (polls[3].revents != 0)
			send_input(talk);
	}
	return is_good;
}

void talk_drain(struct talk *talk)
{
	while (talk->machine->console >= 0)
		take_console(talk);
}

bool talk_run(struct talk *talk)
{
	struct termios before, raw;
	sigset_t wanted;
	bool is_good;
	int signals;

	fill_signals(&wanted);
	signals = signalfd(-1, &wanted, SFD_CLOEXEC);
	talk->is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 &&
			    tcgetattr(STDIN_FILENO, &before) == 0;
	if (talk->is_terminal) {
		raw = before;
		cfmakeraw(&raw);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	is_good = exchange_all(talk, signals);
	if (talk->is_terminal)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	(void)close(signals);
	return is_good;
}
