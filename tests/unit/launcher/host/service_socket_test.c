/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/service_socket.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"

static char root[64];
static char path[128];
static char text[SERVICE_TEXT_MAX];
static struct service_sockets sockets;

static void prepare(void)
{
	static const char *const names[] = { "LISTEN_PID", "LISTEN_FDS", "NOTIFY_SOCKET",
					     "WATCHDOG_PID", "WATCHDOG_USEC" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_eq(unsetenv(names[i]), 0);
	format_text(root, sizeof(root), "/tmp/msp-socket-XXXXXX");
	cr_assert(mkdtemp(root));
	format_text(path, sizeof(path), "%s/s.sock", root);
	memset(&sockets, 0, sizeof(sockets));
}

static void clear(void)
{
	char command[96];

	format_text(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(service_socket, .init = prepare, .fini = clear);

static void set_number(const char *name, long number)
{
	char value[32];

	format_text(value, sizeof(value), "%ld", number);
	cr_assert_eq(setenv(name, value, 1), 0);
}

static int open_sockets(void)
{
	return service_sockets_open(path, &sockets, text);
}

Test(service_socket, one_of_our_own)
{
	struct stat status;

	cr_assert_eq(open_sockets(), 0, "%s", text);
	cr_expect_eq(sockets.is_activated, 0U);
	cr_expect_eq(sockets.notify, -1);
	cr_expect_eq(sockets.watchdog_us, 0UL);
	cr_expect(fcntl(sockets.listener, F_GETFL) & O_NONBLOCK);
	cr_expect(fcntl(sockets.listener, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_mode & 0777U, 0600U);
	cr_expect_eq(service_connect(path).state, SERVICE_HERE);
}

Test(service_socket, a_second_one_is_refused)
{
	cr_assert_eq(open_sockets(), 0, "%s", text);
	cr_expect_eq(open_sockets(), MSP_EXIT_AGAIN);
	cr_expect(strstr(text, "already listens"), "%s", text);
	cr_expect_eq(service_connect(path).state, SERVICE_HERE, "the first goes on");
}

Test(service_socket, a_dead_one_is_replaced)
{
	cr_assert_eq(open_sockets(), 0);
	fd_close(&sockets.listener);
	cr_assert_eq(open_sockets(), 0, "%s", text);
	cr_expect_eq(service_connect(path).state, SERVICE_HERE);
}

Test(service_socket, a_folder_is_made_and_a_bad_one_refused)
{
	struct stat status;

	format_text(path, sizeof(path), "%s/new/s.sock", root);
	cr_assert_eq(open_sockets(), 0, "%s", text);
	format_text(path, sizeof(path), "%s/new", root);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_mode & 0777U, 0700U);
	cr_assert_eq(chmod(path, 0777), 0);
	format_text(path, sizeof(path), "%s/new/t.sock", root);
	cr_expect_eq(open_sockets(), MSP_EXIT_REFUSED);
}

/* What a service manager passes, and what it says about it. */
struct passed {
	int kind;
	bool listens;
	long pid_offset; /* LISTEN_PID is not us but that much more */
	const char *pid; /* or this word */
	long count;
};

/* Descriptor 3 is the test library's here, so a child takes it; it has no other use for it. */
static void pass(const struct passed *passed)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, passed->kind, 0);

	format_text(address.sun_path, sizeof(address.sun_path), "%s/passed", root);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    (passed->listens && listen(fd, 4) != 0) || dup2(fd, 3) != 3)
		_exit(99);
	set_number("LISTEN_PID", getpid() + passed->pid_offset);
	if (passed->pid && setenv("LISTEN_PID", passed->pid, 1) != 0)
		_exit(99);
	set_number("LISTEN_FDS", passed->count);
}

enum outcome_of_child {
	TAKEN = 1,
	OWN,
	REFUSED,
};

static int open_with(struct passed passed)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0) {
		pass(&passed);
		const int code = open_sockets();

		if (code == MSP_EXIT_REFUSED)
			_exit(strstr(text, "ListenSequentialPacket=") ? REFUSED : 98);
		if (code != 0)
			_exit(code);
		if (sockets.is_activated)
			_exit(sockets.listener == 3 && access(path, F_OK) != 0 ? TAKEN : 97);
		_exit(access(path, F_OK) == 0 ? OWN : 96);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	format_text(text, sizeof(text), "%s/passed", root);
	cr_assert_eq(unlink(text), 0);
	return WEXITSTATUS(status);
}

#define PASSED(...) open_with((struct passed){ __VA_ARGS__ })

Test(service_socket, the_managers)
{
	cr_expect_eq(PASSED(.kind = SOCK_SEQPACKET, .listens = true, .count = 1), TAKEN);
}

Test(service_socket, the_managers_of_another_kind)
{
	cr_expect_eq(PASSED(.kind = SOCK_STREAM, .listens = true, .count = 1), REFUSED);
	cr_expect_eq(PASSED(.kind = SOCK_SEQPACKET, .listens = false, .count = 1), REFUSED);
	cr_expect_eq(PASSED(.kind = SOCK_SEQPACKET, .listens = true, .count = 2), REFUSED);
}

Test(service_socket, what_is_for_another_process_is_not_ours)
{
	static const char *const words[] = { "", "x", "-1", "99999999999999999999" };

	cr_expect_eq(PASSED(.kind = SOCK_SEQPACKET, .listens = true, .pid_offset = 1, .count = 1),
		     OWN);
	cr_expect_eq(PASSED(.kind = SOCK_SEQPACKET, .listens = true, .count = 0), OWN);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cr_expect_eq(PASSED(.kind = SOCK_SEQPACKET, .listens = true, .pid = words[i],
				    .count = 1),
			     OWN, "%s", words[i]);
}

/* A service manager that listens at `name`, which begins with '@' for an abstract one. */
static int manage(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	const size_t size = strlen(name);

	memcpy(address.sun_path, name, size);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	cr_assert_eq(bind(fd, (struct sockaddr *)&address,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
		     0);
	cr_assert_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static void expect_heard(int manager)
{
	char word[8] = "";

	cr_assert_geq(sockets.notify, 0);
	cr_expect_eq(write(sockets.notify, "hello", 5), 5);
	cr_expect_eq(recv(manager, word, sizeof(word), MSG_DONTWAIT), 5);
	cr_expect_str_eq(word, "hello");
}

Test(service_socket, notify_by_a_path)
{
	char name[96];
	int manager;

	format_text(name, sizeof(name), "%s/notify", root);
	manager = manage(name);
	cr_assert_eq(open_sockets(), 0, "%s", text);
	expect_heard(manager);
	cr_expect_eq(sockets.watchdog_us, 0UL);
}

Test(service_socket, notify_by_an_abstract_name)
{
	char name[96];
	int manager;

	format_text(name, sizeof(name), "@%s", root);
	manager = manage(name);
	cr_assert_eq(open_sockets(), 0, "%s", text);
	expect_heard(manager);
}

Test(service_socket, notify_somewhere_wrong)
{
	static char name[128];
	char nobody[96];
	const char *const names[] = { "relative", "/", "@", nobody, name };

	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	format_text(nobody, sizeof(nobody), "%s/nobody", root);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_assert_eq(setenv("NOTIFY_SOCKET", names[i], 1), 0);
		cr_expect_eq(open_sockets(), MSP_EXIT_REFUSED, "%s", names[i]);
		cr_expect(strstr(text, "NOTIFY_SOCKET="), "%s", text);
	}
}

Test(service_socket, the_watchdog)
{
	char name[96];

	format_text(name, sizeof(name), "%s/notify", root);
	(void)manage(name);
	set_number("WATCHDOG_USEC", 30000000);
	cr_assert_eq(open_sockets(), 0, "%s", text);
	cr_expect_eq(sockets.watchdog_us, 30000000UL);
	fd_close(&sockets.listener);
	set_number("WATCHDOG_PID", getpid());
	cr_assert_eq(open_sockets(), 0);
	cr_expect_eq(sockets.watchdog_us, 30000000UL);
	fd_close(&sockets.listener);
	set_number("WATCHDOG_PID", getppid());
	cr_assert_eq(open_sockets(), 0);
	cr_expect_eq(sockets.watchdog_us, 0UL, "it watches another process");
	fd_close(&sockets.listener);
	cr_assert_eq(unsetenv("WATCHDOG_PID"), 0);
	cr_assert_eq(setenv("WATCHDOG_USEC", "soon", 1), 0);
	cr_assert_eq(open_sockets(), 0);
	cr_expect_eq(sockets.watchdog_us, 0UL);
}
