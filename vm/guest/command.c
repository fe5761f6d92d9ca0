/* SPDX-License-Identifier: Apache-2.0
 *
 * The command: as the sandbox's user, with its limits, and nothing more.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <net/if.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"

#include "vm/limits.h"

#define WORDS_MAX (IPC_ARGV_MAX / 2)

/* Set what a machine has of its own: clock, name, random numbers, loopback. */
static void set_machine(const struct wire_start *start)
{
	const struct timespec now = { .tv_sec = (time_t)(start->time_ns / 1000000000U),
				      .tv_nsec = (long)(start->time_ns % 1000000000U) };
	struct {
		int bits, size;
		uint8_t bytes[sizeof(start->seed)];
	} entropy = { .bits = 8 * (int)sizeof(start->seed), .size = (int)sizeof(start->seed) };
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = open("/dev/random", O_WRONLY | O_CLOEXEC);

	memcpy(entropy.bytes, start->seed, sizeof(start->seed));
	if (fd >= 0) {
		(void)ioctl(fd, RNDADDENTROPY, &entropy);
		(void)close(fd);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		(void)ioctl(fd, SIOCSIFFLAGS, &loopback);
		(void)close(fd);
	}
	(void)clock_settime(CLOCK_REALTIME, &now);
	(void)sethostname(start->hostname, strnlen(start->hostname, sizeof(start->hostname) - 1));
}

static void split_list(char *list, uint32_t size, char *words[], size_t most)
{
	size_t count = 0;

	for (uint32_t at = 0; at < size && count + 1 < most;
	     at += (uint32_t)strnlen(list + at, size - at) + 1)
		words[count++] = list + at;
	words[count] = NULL;
}

/* Say why there is no command on its stderr, with a shell's exit codes. */
static void give_up(const char *act, const char *name) __attribute__((noreturn));
static void give_up(const char *act, const char *name)
{
	const int error = errno;

	(void)dprintf(STDERR_FILENO, "msp-vm: %s%s: %s\n", act, name, errno_text(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* Must: leave the machine's root, its capabilities and groups. */
static void become_user(const struct wire_start *start)
{
	for (size_t i = 0; i < WIRE_LIMITS; i++) {
		const struct rlimit limit = { start->limits[i][0], start->limits[i][1] };

		if (setrlimit(vm_limits[i], &limit) != 0)
			give_up("setting a limit", "");
	}
	if (setgroups(0, NULL) != 0 || setgid(start->gid) != 0 || setuid(start->uid) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		give_up("becoming the sandbox's user", "");
	(void)umask(start->mask);
}

static void execute_command(struct guest *guest) __attribute__((noreturn));
static void execute_command(struct guest *guest)
{
	static char *arguments[WORDS_MAX], *environment[WORDS_MAX];
	sigset_t none;

	split_list(guest->arguments, guest->arguments_size, arguments, WORDS_MAX);
	split_list(guest->environment, guest->environment_size, environment, WORDS_MAX);
	environ = environment; /* with its PATH the program is found */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	become_user(&guest->start);
	if (chdir(guest->start.cwd) != 0)
		give_up("the directory ", guest->start.cwd);
	errno = ENOENT;
	if (arguments[0])
		(void)execvp(arguments[0], arguments);
	give_up("", arguments[0] ? arguments[0] : "no command");
}

/* Give the command a terminal, whose master is its input and output. */
static void start_in_terminal(struct guest *guest)
{
	const struct winsize size = { .ws_row = (unsigned short)guest->start.size.rows,
				      .ws_col = (unsigned short)guest->start.size.columns };
	int master = -1;

	guest->command = forkpty(&master, NULL, NULL, &size);
	if (guest->command == 0) {
		(void)fchown(STDIN_FILENO, guest->start.uid, guest->start.gid);
		execute_command(guest);
	}
	guest->input = guest->output = master;
	guest->errors = -1;
}

static void start_with_pipes(struct guest *guest)
{
	int pipes[3][2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) != 0)
			port_fail(guest, "making a pipe", errno);
		(void)fchown(pipes[i][0], guest->start.uid, guest->start.gid);
	}
	guest->command = fork();
	if (guest->command == 0) {
		if (setsid() < 0 || dup2(pipes[0][0], STDIN_FILENO) < 0 ||
		    dup2(pipes[1][1], STDOUT_FILENO) < 0 || dup2(pipes[2][1], STDERR_FILENO) < 0)
			_exit(126);
		execute_command(guest);
	}
	(void)close(pipes[0][0]);
	(void)close(pipes[1][1]);
	(void)close(pipes[2][1]);
	guest->input = pipes[0][1];
	guest->output = pipes[1][0];
	guest->errors = pipes[2][0];
}

void command_start(struct guest *guest)
{
	sigset_t child;

	set_machine(&guest->start);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	if (guest->start.is_terminal)
		start_in_terminal(guest);
	else
		start_with_pipes(guest);
	if (guest->command < 0)
		port_fail(guest, "starting the command", errno);
	(void)fcntl(guest->input, F_SETFL, O_NONBLOCK);
}
