/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper tells its starter of the start over a socket, and of the first thing that shows that
 * the command runs. The protocol has no message for an exec that succeeded, so without such a sign
 * the starter waits ten times as long as the request took, in which a start that fails has failed.
 *
 * Standard error of the keeper and its supervisor is a memfd: the starter shows the lines of the
 * start, and the note keeps those of the end.
 */
#include "background/keep.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "background/output.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/log.h"
#include "common/text/names.h"
#include "launcher/host/state_place.h"
#include "launcher/start/launch.h"

#define WAIT_FACTOR 10
#define WAIT_LEAST_MS 200
#define WAIT_MOST_MS 3000

enum report_kind {
	REPORT_STARTED,
	REPORT_RUNS, /* the command has written, or ended by itself */
	REPORT_FAILED,
};

struct report {
	uint32_t kind;
	int32_t code; /* FAILED: the exit code */
	int64_t said; /* STARTED: bytes of the lines up to the start */
	struct background_start start;
};

struct keeper {
	int report; /* -1: the starter has left */
	int lines;
	int sandboxes;
	bool is_started;
	bool is_shown;   /* REPORT_RUNS was sent */
	bool is_unknown; /* the starter left before it had the id */
	int64_t said;
	const struct background_held *held;
	struct background command;
	struct output_writer output;
};

static int64_t count_lines(int lines)
{
	return (int64_t)lseek(lines, 0, SEEK_CUR);
}

/* --- the keeper ------------------------------------------------------------------------------- */

/* Send a report. False: the starter has left. */
static bool send_report(struct keeper *keeper, const struct report *report)
{
	if (keeper->report >= 0 &&
	    send(keeper->report, report, sizeof(*report), MSG_NOSIGNAL) != (ssize_t)sizeof(*report))
		fd_close(&keeper->report);
	return keeper->report >= 0;
}

static void report_running(struct keeper *keeper)
{
	const struct report report = { .kind = REPORT_RUNS };

	if (keeper->is_shown)
		return;
	keeper->is_shown = true;
	(void)send_report(keeper, &report); /* else the starter has waited long enough */
	fd_close(&keeper->report);
}

static int take_start(void *context, const struct ipc_execution_started *started)
{
	struct keeper *keeper = context;
	struct report report = { .kind = REPORT_STARTED, .said = count_lines(keeper->lines) };
	struct background_note *note = &keeper->command.note;
	int error;

	note->begun_us = clock_real_us();
	note->command.time_us = note->begun_us;
	note->wall_ms = started->wall_ms;
	error = background_make(keeper->sandboxes, started->sandbox, note, &keeper->command);
	if (error)
		return error;
	keeper->is_started = true;
	keeper->said = report.said;
	error = output_begin(&keeper->output, keeper->command.directory);
	if (!error && keeper->held)
		error = keeper->held->begin(keeper->held->holder->context,
					    keeper->command.directory);
	if (error)
		return error;
	memcpy(report.start.id, keeper->command.id, sizeof(report.start.id));
	memcpy(report.start.sandbox, started->sandbox, sizeof(report.start.sandbox));
	report.start.wall_ms = started->wall_ms;
	keeper->is_unknown = !send_report(keeper, &report);
	if (keeper->is_unknown)
		return -ECANCELED;
	(void)!chdir("/"); /* else it stays where it is */
	return 0;
}

static void take_output(void *context, bool is_stderr, const uint8_t *bytes, size_t size)
{
	struct keeper *keeper = context;

	report_running(keeper);
	for (size_t at = 0; at < size; at += OUTPUT_PIECE_MAX)
		output_add(&keeper->output, is_stderr, bytes + at,
			   size - at < OUTPUT_PIECE_MAX ? size - at : OUTPUT_PIECE_MAX);
}

/* Keep the last lines that were said since the start. */
static void keep_lines(struct keeper *keeper)
{
	struct background_note *note = &keeper->command.note;
	const int64_t end = count_lines(keeper->lines);
	const int64_t from = end - keeper->said > BACKGROUND_LINES_MAX ? end - BACKGROUND_LINES_MAX
								       : keeper->said;
	const ssize_t got = pread(keeper->lines, note->lines, (size_t)(end - from), from);

	note->lines_size = got > 0 ? (uint32_t)got : 0;
}

static void take_end(void *context, uint32_t verdict, int code)
{
	struct keeper *keeper = context;
	struct background_note *note = &keeper->command.note;
	const bool is_failure = verdict == VERDICT_COUNT || verdict == VERDICT_INTERNAL;

	if (!keeper->is_started)
		return;
	if (keeper->held)
		keeper->held->end(keeper->held->holder->context);
	if (!is_failure)
		report_running(keeper);
	keep_lines(keeper);
	note->has_ended = 1;
	note->exit_code = (uint32_t)code & 0xff;
	note->verdict = verdict;
	note->ended_us = clock_real_us();
	note->output_bytes = keeper->output.total;
	note->lost_bytes = keeper->output.lost;
	if (background_write(&keeper->command) == 0)
		return;
	output_shrink(&keeper->output);
	(void)background_write(&keeper->command); /* else it counts as lost */
}

/* Remember the command, as far as there is room. */
static void describe_command(const struct execute *what, struct background_note *note)
{
	struct history_note *command = &note->command;
	struct sha256 state;

	sha256_begin(&state);
	for (char *const *word = what->words; *word; word++) {
		const size_t size = strlen(*word) + 1;
		const size_t room = sizeof(command->text) - command->argv_size;
		const size_t kept = size < room ? size : room;

		memcpy(command->text + command->argv_size, *word, kept);
		command->argv_size += (uint32_t)kept;
		sha256_add(&state, *word, size);
	}
	sha256_end(&state, note->argv_sha256);
	note->magic = BACKGROUND_MAGIC;
	note->version = BACKGROUND_VERSION;
	note->asked_us = clock_real_us();
}

/* The state directory is that of the account that msp has become by then. */
static int find_places(void *context, const struct ipc_execution_started *started)
{
	struct keeper *keeper = context;
	char text[STATE_PLACE_TEXT_MAX];

	keeper->sandboxes = background_open_sandboxes(text);
	return keeper->sandboxes < 0 ? keeper->sandboxes : take_start(context, started);
}

/* Be the keeper: all of it runs in the starter's child. Return the exit code. */
static int keep_command(const struct execute *what, const struct background_way *way, int report,
			int lines)
{
	static struct keeper keeper;
	const struct background_held *held = way ? way->held : NULL;
	const struct execute_keeper takers = { .taker = { .context = &keeper,
							  .started = find_places,
							  .output = take_output,
							  .holder = held ? held->holder : NULL },
					       .ended = take_end };
	struct execute kept = *what;
	struct report failed = { .kind = REPORT_FAILED };

	keeper = (struct keeper){ .report = report, .lines = lines, .sandboxes = -1, .held = held };
	keeper.output.fd = -1;
	describe_command(what, &keeper.command.note);
	kept.keeper = &takers;
	failed.code = way && way->run ? way->run(way->context, &kept) : execute(&kept);
	if (!keeper.is_shown && (send_report(&keeper, &failed) || keeper.is_unknown) &&
	    keeper.is_started)
		background_remove(keeper.sandboxes, &keeper.command);
	output_end(&keeper.output);
	return failed.code;
}

static int begin_session(int null, int lines)
{
	if (setsid() < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(lines, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

/* --- the starter ------------------------------------------------------------------------------ */

static bool receive_report(int from, struct report *ret, int flags)
{
	ssize_t size;

	do
		size = recv(from, ret, sizeof(*ret), flags);
	while (size < 0 && errno == EINTR);
	return size == (ssize_t)sizeof(*ret);
}

static int wait_ms(uint64_t took_us)
{
	const uint64_t ms = WAIT_FACTOR * took_us / 1000;

	return ms < WAIT_LEAST_MS ? WAIT_LEAST_MS : ms > WAIT_MOST_MS ? WAIT_MOST_MS : (int)ms;
}

/* Wait for a sign that the command runs, or that its start failed. The keeper cannot report a
 * failure any more when this returns true. */
static bool await_sign(int from, int ms, struct report *ret)
{
	struct pollfd entry = { .fd = from, .events = POLLIN };

	(void)poll(&entry, 1, ms); /* a signal makes it shorter */
	(void)shutdown(from, SHUT_RD);
	return !receive_report(from, ret, MSG_DONTWAIT) || ret->kind != REPORT_FAILED;
}

/* Say the lines of the start on standard error. */
static void say_lines(int lines, int64_t size)
{
	char bytes[4096];
	ssize_t got;

	for (int64_t at = 0; at < size; at += got) {
		const size_t room =
			size - at < (int64_t)sizeof(bytes) ? (size_t)(size - at) : sizeof(bytes);

		got = pread(lines, bytes, room, at);
		if (got <= 0 || fd_write_all(STDERR_FILENO, bytes, (size_t)got) != 0)
			return;
	}
}

/* Return the exit code of a keeper that could not report it. */
static int await_keeper(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : MSP_EXIT_SANDBOX;
}

static int await_start(int from, int lines, pid_t pid, struct background_start *ret)
{
	const uint64_t begun_us = clock_now_us();
	struct report report;
	struct report sign;

	if (!receive_report(from, &report, 0)) {
		const int code = await_keeper(pid);

		say_lines(lines, count_lines(lines));
		return log_fail(code ? code : MSP_EXIT_SANDBOX,
				"the process that keeps the command's output ended before it ran");
	}
	sign = report;
	if (report.kind == REPORT_STARTED &&
	    await_sign(from, wait_ms(clock_now_us() - begun_us), &sign)) {
		say_lines(lines, report.said);
		*ret = report.start;
		return 0;
	}
	say_lines(lines, count_lines(lines));
	(void)await_keeper(pid); /* the keeper removes its files before it ends */
	return sign.code;
}

static int refuse_start(int error)
{
	return log_fail(MSP_EXIT_SANDBOX, "a background command cannot be started: %s",
			errno_text(error));
}

int background_start(const struct execute *what, const struct background_way *way,
		     struct background_start *ret)
{
	const int null = launch_standard_fds();
	int lines = null < 0 ? -1 : memfd_create("msp-lines", MFD_CLOEXEC);
	int ends[2];
	pid_t pid;
	int code;

	if (lines < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return refuse_start(errno);
	pid = fork();
	if (pid == 0) {
		fd_close(&ends[0]);
		if (begin_session(null, lines) != 0)
			_exit(MSP_EXIT_SANDBOX);
		_exit(keep_command(what, way, ends[1], lines));
	}
	fd_close(&ends[1]);
	code = pid < 0 ? refuse_start(errno) : await_start(ends[0], lines, pid, ret);
	fd_close(&ends[0]);
	fd_close(&lines);
	return code;
}
