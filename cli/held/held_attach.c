/* SPDX-License-Identifier: Apache-2.0
 *
 * The person's side of a held terminal. It reads the modes from what it writes, so it can give the
 * terminal back whatever has ended the command, its keeper or the connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ask/signals.h"
#include "ask/terminal.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "held/guard.h"
#include "held/held.h"
#include "held/keys.h"
#include "held/wire.h"
#include "launcher/host/state_place.h"
#include "launcher/host/unix_socket.h"
#include "options/everywhere.h"
#include "show/confirm.h"

#define FOREGROUND_MS 200 /* how soon a shell's `fg` is seen */
#define ANSWER_MS 10000   /* a keeper that lives answers sooner, also behind silent ones */
#define END_MS 5000       /* a keeper ends so soon after its socket */
#define END_STEP_MS 10

#define TYPED_MAX (WIRE_BYTES_MAX / 2)
_Static_assert(HELD_TYPED_MAX(TYPED_MAX) <= WIRE_BYTES_MAX, "what is typed fits into a packet");

/* A terminal that is not ours alone takes at least this much when poll(2) says that it takes any.
 */
#define SMALL_WRITE ((size_t)256)

/* The title of a terminal's window is kept and given back; terminals that cannot do it ignore it.
 */
#define TITLE_KEEP "\x1b[22;0t"

enum slot { SLOT_SIGNALS, SLOT_SOCKET, SLOT_KEYS, SLOT_SCREEN, SLOT_COUNT };

struct attaching {
	int socket;
	int signals;
	int own; /* an opening of the terminal for output, or -1 */
	bool is_over;
	bool is_replay_due;
	bool is_size_due;
	struct held_end end;
	uint32_t leave; /* enum wire_leave that the keeper said; 0: none */
	struct terminal terminal;
	struct guard guard;
	struct held_typing typing;
	size_t shown, to_show; /* bytes of `output` */
	size_t to_send;        /* bytes of `input` */
	struct wire_packet output, input;
};

/* --- the connection ----------------------------------------------------------------------------
 */

static struct wire_words present_size(void)
{
	struct winsize size = { 0 };
	struct wire_words words = { .version = WIRE_VERSION };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size); /* else it has none */
	words.rows = size.ws_row ? size.ws_row : 24;
	words.columns = size.ws_col ? size.ws_col : 80;
	return words;
}

/* Send a packet of words. False: not now. */
static bool send_words(int to, uint32_t kind, const struct wire_words *words)
{
	const struct wire_packet packet = { .kind = kind, .words = *words };

	return send(to, &packet, WIRE_WORDS_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	       errno != EAGAIN;
}

/* Connect to the keeper of a command. A descriptor or -errno. */
static int connect_keeper(const struct background *command)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return -errno;
	unix_socket_address(command->directory, WIRE_SOCKET, &address);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		error = -errno;
	return fd_unless(error, fd);
}

/* Send the first packet and take the answer. 0 or -errno. */
static int ask_keeper(int to, uint32_t kind, const struct wire_words *words,
		      struct wire_packet *ret)
{
	struct pollfd entry = { .fd = to, .events = POLLIN };
	const uint64_t until_us = clock_now_us() + (uint64_t)ANSWER_MS * 1000;
	ssize_t size;

	if (!send_words(to, kind, words))
		return -EAGAIN;
	while (poll(&entry, 1, ANSWER_MS) <= 0)
		if (clock_now_us() >= until_us)
			return -ETIMEDOUT;
	size = recv(to, ret, sizeof(*ret), MSG_DONTWAIT);
	if (size < 0)
		return -errno;
	return size == (ssize_t)WIRE_WORDS_BYTES ? 0 : -ECONNRESET;
}

/* Say that a command has no keeper to attach to, or none that answers. The exit code. */
static int refuse_connection(struct background *command, int error)
{
	background_look(command);
	if (!held_is(command))
		return log_fail(MSP_EXIT_USAGE,
				"%s has no terminal: 'msp exec -d -t' starts a command with one",
				command->id);
	if (command->state != BACKGROUND_RUNNING)
		return log_fail(MSP_EXIT_USAGE, "%s has ended: 'msp attach %s' shows its output",
				command->id, command->id);
	return log_fail(MSP_EXIT_SOFTWARE, "the terminal of %s cannot be reached: %s", command->id,
			errno_text(-error));
}

static int refuse_answer(const struct background *command, const struct wire_packet *answer)
{
	if (answer->kind == WIRE_BUSY)
		return log_fail(MSP_EXIT_AGAIN,
				"another terminal is attached to %s, by process %d: 'msp attach "
				"--detach %s' takes its place",
				command->id, answer->words.pid, command->id);
	return log_fail(MSP_EXIT_SOFTWARE,
			"%s was started by another version of msp, to which this one cannot "
			"attach: end it with 'msp kill %s', or use that version",
			command->id, command->id);
}

/* Connect and be welcomed. 0, or the exit code after a line. */
static int enter_keeper(struct attaching *attaching, struct background *command, bool is_taking)
{
	struct wire_words hello = present_size();
	int error;

	hello.flags = is_taking ? WIRE_TAKE : 0;
	attaching->socket = connect_keeper(command);
	error = attaching->socket < 0
			? attaching->socket
			: ask_keeper(attaching->socket, WIRE_HELLO, &hello, &attaching->output);
	if (error)
		return refuse_connection(command, error);
	return attaching->output.kind == WIRE_WELCOME ? 0
						      : refuse_answer(command, &attaching->output);
}

/* --- the person's terminal ---------------------------------------------------------------------
 */

static int screen_of(const struct attaching *attaching)
{
	return attaching->own >= 0 ? attaching->own : STDOUT_FILENO;
}

static int make_raw(struct attaching *attaching)
{
	struct guard_shared *shared = attaching->guard.shared;
	const int error = terminal_make_raw(&attaching->terminal, STDIN_FILENO);

	if (error)
		return error;
	shared->before = attaching->terminal.before;
	shared->is_taken = true;
	return 0;
}

/* Take the terminal, once the shell has given it. */
static void enter_terminal(struct attaching *attaching)
{
	if (attaching->terminal.is_raw || !terminal_is_ours(STDIN_FILENO))
		return;
	if (make_raw(attaching) == 0)
		guard_write(screen_of(attaching), TITLE_KEEP, strlen(TITLE_KEEP));
}

/* Give the terminal back as it was. */
static void leave_terminal(struct attaching *attaching)
{
	struct guard_shared *shared = attaching->guard.shared;

	if (!attaching->terminal.is_raw)
		return;
	guard_write_reset(screen_of(attaching), &shared->modes);
	shared->modes = (struct modes){ 0 };
	terminal_restore(&attaching->terminal);
	shared->is_taken = false;
}

static void end_attachment(struct attaching *attaching, enum held_how how, int code)
{
	if (!attaching->is_over)
		attaching->end = (struct held_end){ .how = how, .code = code };
	attaching->is_over = true;
}

static void read_keys(struct attaching *attaching)
{
	uint8_t typed[TYPED_MAX];
	const ssize_t size = read(STDIN_FILENO, typed, sizeof(typed));
	bool is_detached;

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		end_attachment(attaching, HELD_HUNG_UP, MSP_EXIT_SIGNAL_BASE + SIGHUP);
		return;
	}
	attaching->input.kind = WIRE_INPUT;
	attaching->to_send = held_typing_read(&attaching->typing, typed, (size_t)size,
					      attaching->input.bytes, &is_detached);
	if (is_detached)
		end_attachment(attaching, HELD_DETACHED, 0);
}

static void write_screen(struct attaching *attaching)
{
	const uint8_t *from = attaching->output.bytes + attaching->shown;
	size_t size = attaching->to_show - attaching->shown;
	ssize_t put;

	if (attaching->own < 0 && size > SMALL_WRITE)
		size = SMALL_WRITE;
	put = write(screen_of(attaching), from, size);
	if (put < 0 && errno != EAGAIN && errno != EINTR)
		end_attachment(attaching, HELD_HUNG_UP, MSP_EXIT_SIGNAL_BASE + SIGHUP);
	if (put <= 0)
		return;
	modes_read(&attaching->guard.shared->modes, from, (size_t)put, NULL);
	attaching->shown += (size_t)put;
}

/* --- the keeper's packets ----------------------------------------------------------------------
 */

static void read_socket(struct attaching *attaching)
{
	const ssize_t size = recv(attaching->socket, &attaching->output, sizeof(attaching->output),
				  MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size < (ssize_t)WIRE_HEAD_BYTES) {
		end_attachment(attaching, HELD_ENDED, 0);
		return;
	}
	if (attaching->output.kind == WIRE_OUTPUT) {
		attaching->shown = 0;
		attaching->to_show = (size_t)size - WIRE_HEAD_BYTES;
	} else if (attaching->output.kind == WIRE_LEAVE && size == (ssize_t)WIRE_WORDS_BYTES) {
		attaching->leave = attaching->output.words.leave;
		end_attachment(attaching, HELD_DETACHED, 0);
	}
}

static void send_due(struct attaching *attaching)
{
	const struct wire_words size = present_size();

	if (attaching->is_replay_due && send_words(attaching->socket, WIRE_REPLAY, &size))
		attaching->is_replay_due = attaching->is_size_due = false;
	if (attaching->is_size_due && send_words(attaching->socket, WIRE_SIZE, &size))
		attaching->is_size_due = false;
	if (attaching->to_send > 0 &&
	    (send(attaching->socket, &attaching->input, WIRE_HEAD_BYTES + attaching->to_send,
		  MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	     errno != EAGAIN))
		attaching->to_send = 0; /* the end of the connection is read */
}

static void obey_signal(struct attaching *attaching)
{
	struct signalfd_siginfo info;

	if (read(attaching->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGWINCH:
		attaching->is_size_due = true;
		break;
	case SIGTSTP: /* from outside: the keys go to the program */
		leave_terminal(attaching);
		(void)kill(getpid(), SIGSTOP);
		attaching->is_replay_due = true;
		break;
	case SIGCONT: /* the next turn takes the terminal, if the shell has given it */
		break;
	default:
		end_attachment(attaching, HELD_HUNG_UP, MSP_EXIT_SIGNAL_BASE + (int)info.ssi_signo);
		break;
	}
}

static void turn_once(struct attaching *attaching)
{
	const bool is_raw = attaching->terminal.is_raw && terminal_is_ours(STDIN_FILENO);
	const bool is_due = attaching->to_send > 0 || attaching->is_size_due ||
			    (attaching->is_replay_due && is_raw);
	const bool has_output = attaching->shown < attaching->to_show;
	struct pollfd entries[SLOT_COUNT] = {
		[SLOT_SIGNALS] = { .fd = attaching->signals, .events = POLLIN },
		[SLOT_SOCKET] = { .fd = attaching->socket,
				  .events = (short)((has_output ? 0 : POLLIN) |
						    (is_due ? POLLOUT : 0)) },
		[SLOT_KEYS] = { .fd = is_raw && attaching->to_send == 0 ? STDIN_FILENO : -1,
				.events = POLLIN },
		[SLOT_SCREEN] = { .fd = has_output && is_raw ? screen_of(attaching) : -1,
				  .events = POLLOUT },
	};

	if (!is_raw)
		entries[SLOT_SOCKET].fd = -1;
	if (poll(entries, SLOT_COUNT, is_raw ? -1 : FOREGROUND_MS) < 0)
		return; /* EINTR; the next turn sees the same */
	if (entries[SLOT_SIGNALS].revents)
		obey_signal(attaching);
	if (entries[SLOT_SCREEN].revents)
		write_screen(attaching);
	if (entries[SLOT_SOCKET].revents & ~POLLOUT && !has_output)
		read_socket(attaching);
	if (entries[SLOT_KEYS].revents && attaching->terminal.is_raw)
		read_keys(attaching);
	if (attaching->terminal.is_raw)
		send_due(attaching);
	enter_terminal(attaching);
}

/* --- the end -----------------------------------------------------------------------------------
 */

/* The connection has ended: find out whether the command has. */
static void settle_end(struct background *command, struct held_end *ret)
{
	const struct timespec step = { .tv_nsec = END_STEP_MS * 1000000L };

	background_look(command);
	for (int i = 0; i < END_MS / END_STEP_MS && command->state == BACKGROUND_RUNNING; i++) {
		(void)nanosleep(&step, NULL); /* a shorter pause is as good */
		background_look(command);
	}
	if (command->state == BACKGROUND_RUNNING)
		ret->how = HELD_DETACHED;
	else
		ret->how = command->state == BACKGROUND_LOST ? HELD_LOST : HELD_ENDED;
}

static void explain_attachment(struct background *command, uint32_t leave, struct held_end *end)
{
	if (end->how == HELD_ENDED)
		settle_end(command, end);
	if (end->how == HELD_ENDED || end->how == HELD_LOST)
		end->code = background_explain(command);
	else if (end->how == HELD_DETACHED)
		everywhere_note("%s: the command goes on, and 'msp attach %s' shows it again",
				leave == WIRE_LEAVE_TAKEN  ? "detached by another terminal"
				: leave == WIRE_LEAVE_SLOW ? "detached, since no output was taken"
				: leave                    ? "detached by its keeper"
							   : "detached",
				command->id);
}

/* Take turns with a terminal that is raw. */
static int run_attachment(struct attaching *attaching, const struct background *command,
			  const struct held_options *options)
{
	char keys[HELD_KEYS_TEXT_MAX];
	int error;

	held_keys_describe(&attaching->typing.keys, keys);
	if (!options->is_quiet && keys[0])
		everywhere_note("attached to %s: %s detaches, and the command goes on", command->id,
				keys);
	error = make_raw(attaching);
	if (error)
		return log_fail(MSP_EXIT_SOFTWARE, "the terminal cannot be used: %s",
				errno_text(-error));
	attaching->own = terminal_reopen(STDOUT_FILENO, O_WRONLY);
	guard_write(screen_of(attaching), TITLE_KEEP, strlen(TITLE_KEEP));
	while (!attaching->is_over)
		turn_once(attaching);
	leave_terminal(attaching);
	fd_close(&attaching->own);
	return 0;
}

int held_attach_to(struct background *command, const struct held_options *options,
		   struct held_end *ret)
{
	static struct attaching attaching;
	const char *rule;
	sigset_t before;
	int code;

	attaching = (struct attaching){ .socket = -1, .own = -1 };
	rule = held_keys_parse(&attaching.typing.keys,
			       options->detach_keys ? options->detach_keys : HELD_KEYS_DEFAULT);
	if (rule)
		return log_fail(MSP_EXIT_USAGE, "'%s': %s", options->detach_keys, rule);
	if (!confirm_is_possible())
		return log_fail(MSP_EXIT_USAGE, "attaching needs a terminal as input and output");
	guard_begin(&attaching.guard);
	code = enter_keeper(&attaching, command, options->is_taking);
	if (!code) {
		attaching.signals = signals_block(true, &before);
		code = attaching.signals < 0
			       ? log_fail(MSP_EXIT_SOFTWARE, "%s", errno_text(-attaching.signals))
			       : run_attachment(&attaching, command, options);
		fd_close(&attaching.signals);
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	}
	fd_close(&attaching.socket);
	guard_end(&attaching.guard);
	*ret = attaching.end;
	if (!code)
		explain_attachment(command, attaching.leave, ret);
	return code;
}

int held_attach(const char *command_id, const struct held_options *options, struct held_end *ret)
{
	static struct background found;
	char text[STATE_PLACE_TEXT_MAX];
	int sandboxes FD_OWNED = background_open_sandboxes(text);
	int code;

	if (sandboxes < 0 || background_find(sandboxes, command_id, &found) != 1)
		return log_fail(MSP_EXIT_USAGE, "there is no background command '%s'", command_id);
	code = held_attach_to(&found, options, ret);
	background_close(&found);
	return code;
}

int held_evict(const struct background *command, bool *ret)
{
	static struct wire_packet answer;
	struct background found = *command;
	int fd FD_OWNED = connect_keeper(command);
	int error = fd;

	if (fd >= 0)
		error = ask_keeper(fd, WIRE_EVICT, &(struct wire_words){ .version = WIRE_VERSION },
				   &answer);
	if (error)
		return refuse_connection(&found, error);
	*ret = answer.words.pid != 0;
	return 0;
}
