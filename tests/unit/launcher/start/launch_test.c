/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/nonblocking.h"
#include "launcher/start/launch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/text/format.h"

/* No place for an audit log, but where a test says so. */
static void name_no_place(void)
{
	cr_assert_eq(setenv("MSP_STATE_DIR", "nowhere", 1), 0);
}

TestSuite(launch, .init = name_no_place);

static bool is_null_device(int fd)
{
	struct stat null;
	struct stat status;

	return stat("/dev/null", &null) == 0 && fstat(fd, &status) == 0 &&
	       status.st_rdev == null.st_rdev && S_ISCHR(status.st_mode);
}

static int standard_fds_in_child(unsigned int closed)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0) {
		int null;
		int code = 0;

		for (int fd = 0; fd < 3; fd++) {
			if (closed >> fd & 1)
				(void)close(fd);
		}
		null = launch_standard_fds();
		for (int fd = 0; fd < 3; fd++) {
			if (closed >> fd & 1 && !is_null_device(fd))
				code = 1;
		}
		if (null < 3 || !is_null_device(null) || !(fcntl(null, F_GETFD) & FD_CLOEXEC))
			code = 2;
		_exit(code);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

Test(launch, closed_standard_descriptors_are_filled)
{
	for (unsigned int closed = 0; closed < 8; closed++)
		cr_expect_eq(standard_fds_in_child(closed), 0, "%u", closed);
}

Test(launch, own_path)
{
	char path[IPC_PATH_MAX];

	cr_expect(launch_own_path(path));
	cr_expect(strstr(path, "launcher-launch"));
}

Test(launch, images_that_are_not_there)
{
	struct images images;
	char text[LAUNCH_TEXT_MAX] = "";

	cr_expect_eq(launch_open_images(&images, text), -1);
	cr_expect(strstr(text, "msp-supervisor is neither in"));
	cr_expect(strstr(text, "libexec/msp"));
}

static int file_with(const char *text)
{
	const int fd = memfd_create("image", MFD_CLOEXEC);

	cr_assert_eq(fd_write_all(fd, text, strlen(text)), 0);
	return fd;
}

static struct channel_message message;

static void receive(const struct channel *channel, uint32_t type)
{
	enum ipc_error error = IPC_OK;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &error), 1, "%s",
		     ipc_error_text(error));
	cr_assert_eq(message.type, type);
}

static struct images some_images(void)
{
	return (struct images){ .supervisor = file_with("s"),
				.child_init = file_with("c"),
				.broker = file_with("b"),
				.audit = file_with("a"),
				.policy = -1,
				.scope = -1,
				.layers = file_with("l"),
				.store = file_with("t"),
				.file = file_with("f"),
				.cable = -1,
				.egress = -1,
				.dial = -1 };
}

/* Without msp-layers and msp-file. */
static struct images few_images(void)
{
	struct images images = some_images();

	fd_close(&images.layers);
	fd_close(&images.file);
	return images;
}

Test(launch, says_everything_in_order)
{
	const struct images images = some_images();
	struct config config = { .plan_fd = fd_sealed_from_bytes("plan", "policy", 6) };
	const struct cgroup_home home = { .directory = open("/tmp", O_RDONLY | O_DIRECTORY),
					  .has_io = 1 };
	static struct pins pins = { .count = 1 };
	const struct launch launch = { .images = &images,
				       .config = &config,
				       .default_profile = "strict",
				       .home = &home,
				       .pins = &pins,
				       .budget = { .executions = 7, .memory_bytes = 8 },
				       .frontend = FRONTEND_BROKER,
				       .limits = LIMITS_FALLBACK };
	struct channel supervisor = { -1, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	char root[] = "/tmp/msp-test-XXXXXX";
	char place[64];
	char policy[8] = "";
	int ends[2];

	pins.list[0] = (struct pin){ .fd = open("/usr", O_PATH), .profile = 2, .mount = 3 };
	cr_assert(mkdtemp(root));
	format_text(place, sizeof(place), "%s/a/b", root);
	cr_assert_eq(setenv("MSP_STATE_DIR", place, 1), 0);
	cr_assert_eq(channel_pair(ends), 0);
	supervisor.fd = ends[1];
	cr_assert_eq(launch_send(&launch, ends[0]), 0);
	receive(&supervisor, IPC_TYPE_supervisor_start);
	cr_expect_eq(ipc_body(&message, supervisor_start)->frontend, (uint32_t)FRONTEND_BROKER);
	cr_expect_eq(ipc_body(&message, supervisor_start)->limits, (uint32_t)LIMITS_FALLBACK);
	cr_expect_eq(ipc_body(&message, supervisor_start)->executions, 7U);
	cr_expect_eq(ipc_body(&message, supervisor_start)->memory_bytes, 8UL);
	cr_expect_str_eq(ipc_body(&message, supervisor_start)->default_profile, "strict");
	cr_expect_eq(pread(message.fds[0], policy, sizeof(policy), 0), 6);
	cr_expect_str_eq(policy, "policy");
	receive(&supervisor, IPC_TYPE_supervisor_audit);
	cr_expect_str_eq(ipc_body(&message, supervisor_audit)->path + strlen(root), "/a/b/audit");
	receive(&supervisor, IPC_TYPE_supervisor_state);
	receive(&supervisor, IPC_TYPE_supervisor_file);
	cr_expect_eq(pread(message.fds[0], policy, sizeof(policy), 0), 1);
	cr_expect_eq(policy[0], 'f');
	receive(&supervisor, IPC_TYPE_supervisor_cgroup);
	cr_expect_eq(ipc_body(&message, supervisor_cgroup)->has_io, 1U);
	receive(&supervisor, IPC_TYPE_supervisor_pin);
	cr_expect_eq(ipc_body(&message, supervisor_pin)->profile, 2U);
	cr_expect_eq(ipc_body(&message, supervisor_pin)->mount, 3U);
	receive(&supervisor, IPC_TYPE_supervisor_run);
	cr_expect_eq(ipc_body(&message, supervisor_run)->pins, 1U);
	for (size_t size = strlen("/a/b/audit"); size > 0; size -= size > 4 ? 6 : 2) {
		format_text(place, sizeof(place), "%s%.*s", root, (int)size, "/a/b/audit");
		cr_expect_eq(rmdir(place), 0);
	}
	cr_expect_eq(rmdir(root), 0);
}

/* Where msp becomes the supervisor itself, everything waits in the socket before anybody reads. */
Test(launch, as_many_pins_as_there_may_be_fit_into_the_socket)
{
	const struct images images = few_images();
	struct config config = { .plan_fd = fd_sealed_from_bytes("plan", "policy", 6) };
	const struct cgroup_home home = { .directory = open("/tmp", O_RDONLY | O_DIRECTORY) };
	static struct pins pins = { .count = PINS_MAX };
	const struct launch launch = {
		.images = &images, .config = &config, .home = &home, .pins = &pins
	};
	const int usr = open("/usr", O_PATH);
	int ends[2];

	for (uint32_t i = 0; i < PINS_MAX; i++)
		pins.list[i] = (struct pin){ .fd = usr, .profile = i, .mount = i };
	cr_assert_eq(channel_pair(ends), 0);
	cr_assert_eq(fd_set_nonblocking(ends[0], true), 0);
	cr_expect_eq(launch_send(&launch, ends[0]), 0);
}

Test(launch, one_command_needs_no_cgroup_and_no_state)
{
	const struct images images = { .supervisor = file_with("s"),
				       .child_init = file_with("c"),
				       .broker = file_with("b"),
				       .policy = -1,
				       .scope = -1,
				       .layers = file_with("l"),
				       .file = file_with("f") };
	struct config config = { .plan_fd = fd_sealed_from_bytes("plan", "policy", 6) };
	const struct cgroup_home home = { .parent = -1, .directory = -1 };
	const struct launch launch = {
		.images = &images,
		.config = &config,
		.home = &home,
		.frontend = FRONTEND_LAUNCHER,
		.expected_profile = "strict",
	};
	struct channel supervisor = { -1, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	supervisor.fd = ends[1];
	cr_assert_eq(launch_send(&launch, ends[0]), 0);
	receive(&supervisor, IPC_TYPE_supervisor_start);
	cr_expect_str_eq(ipc_body(&message, supervisor_start)->default_profile, "");
	cr_expect_eq(memcmp(ipc_body(&message, supervisor_start)->schema, ipc_schema_hash,
			    sizeof(ipc_schema_hash)),
		     0);
	receive(&supervisor, IPC_TYPE_supervisor_unaudited);
	receive(&supervisor, IPC_TYPE_supervisor_run);
	cr_expect_eq(ipc_body(&message, supervisor_run)->is_expected, 1U);
	cr_expect_str_eq(ipc_body(&message, supervisor_run)->profile, "strict");
}

Test(launch, a_service_gets_its_sockets)
{
	const struct images images = few_images();
	struct config config = { .plan_fd = fd_sealed_from_bytes("plan", "policy", 6) };
	const struct cgroup_home home = { .parent = -1, .directory = -1 };
	struct service_sockets sockets = { .listener = socket(AF_UNIX, SOCK_SEQPACKET, 0),
					   .is_activated = 1,
					   .notify = -1,
					   .watchdog_us = 9 };
	const struct launch launch = { .images = &images,
				       .config = &config,
				       .home = &home,
				       .sockets = &sockets,
				       .frontend = FRONTEND_SERVICE };
	struct channel supervisor = { -1, IPC_SUPERVISOR, IPC_LAUNCHER, IPC_SETUP };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	supervisor.fd = ends[1];
	cr_assert_eq(launch_send(&launch, ends[0]), 0);
	receive(&supervisor, IPC_TYPE_supervisor_start);
	receive(&supervisor, IPC_TYPE_supervisor_unaudited);
	receive(&supervisor, IPC_TYPE_supervisor_stateless);
	cr_expect(
		strstr(ipc_body(&message, supervisor_stateless)->problem, "msp-layers is missing"));
	receive(&supervisor, IPC_TYPE_supervisor_listen);
	cr_expect_eq(ipc_body(&message, supervisor_listen)->is_activated, 1U);
	receive(&supervisor, IPC_TYPE_supervisor_run);
	sockets.notify = socket(AF_UNIX, SOCK_DGRAM, 0);
	cr_assert_eq(launch_send(&launch, ends[0]), 0);
	receive(&supervisor, IPC_TYPE_supervisor_start);
	receive(&supervisor, IPC_TYPE_supervisor_unaudited);
	receive(&supervisor, IPC_TYPE_supervisor_stateless);
	receive(&supervisor, IPC_TYPE_supervisor_listen);
	receive(&supervisor, IPC_TYPE_supervisor_notify);
	cr_expect_eq(ipc_body(&message, supervisor_notify)->watchdog_us, 9UL);
	receive(&supervisor, IPC_TYPE_supervisor_run);
}

static int spawn(const char *supervisor, const char *factory, struct launched *ret)
{
	const struct images images = { .supervisor = open(supervisor, O_RDONLY | O_CLOEXEC),
				       .child_init = open(factory, O_RDONLY | O_CLOEXEC),
				       .broker = -1,
				       .layers = -1 };
	sigset_t mask;
	int ends[2];

	(void)sigemptyset(&mask);
	cr_assert_eq(channel_pair(ends), 0);
	return launch_spawn(&images, -1, ends[1], launch_standard_fds(), &mask, ret);
}

Test(launch, programs_that_cannot_be_executed)
{
	struct launched launched;

	cr_assert_eq(spawn("/usr/bin/true", "/usr/bin/true", &launched), 0);
	(void)launch_await(&launched, LAUNCH_END_MS);
	cr_expect_eq(spawn("/etc/passwd", "/usr/bin/true", &launched), -EACCES);
	cr_expect_eq(spawn("/usr/bin/true", "/usr", &launched), -EINVAL);
}

/* Wait until `process` has no such descriptor: its dynamic loader may have a library open. */
static void wait_for_closed(pid_t process, int fd)
{
	const struct timespec wait = { .tv_nsec = 1000000 };
	char path[64];

	format_text(path, sizeof(path), "/proc/%d/fd/%d", (int)process, fd);
	for (int i = 0; i < 5000 && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0; i++)
		(void)nanosleep(&wait, NULL);
}

/* What `process` has at its descriptors from 0 on, as /proc shows it. */
static void expect_descriptors(pid_t process, const char *const *expected)
{
	char path[64];
	char link[64];
	ssize_t size;

	for (int fd = 0; fd < 8; fd++) {
		format_text(path, sizeof(path), "/proc/%d/fd/%d", (int)process, fd);
		if (!*expected) {
			wait_for_closed(process, fd);
			cr_expect_eq(readlink(path, link, sizeof(link)), -1, "descriptor %d", fd);
			continue;
		}
		size = readlink(path, link, sizeof(link) - 1);
		cr_assert_gt(size, 0, "descriptor %d", fd);
		link[size] = '\0';
		cr_expect_eq(strncmp(link, *expected, strlen(*expected)), 0, "%d: %s", fd, link);
		expected++;
	}
}

static pid_t only_child(pid_t process)
{
	char path[64];
	char text[32] = "";
	int fd;

	format_text(path, sizeof(path), "/proc/%d/task/%d/children", (int)process, (int)process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	fd_close(&fd);
	cr_expect_eq(strchr(text, ' ')[1], '\0', "%s", text);
	return (pid_t)strtol(text, NULL, 10);
}

/* What a process executes that is about to execute a copy in memory. */
static int executed_by(pid_t process)
{
	const struct timespec wait = { .tv_nsec = 1000000 };
	char link[64] = "";
	char path[64];

	format_text(path, sizeof(path), "/proc/%d/exe", (int)process);
	for (int i = 0; i < 5000 && strncmp(link, "/memfd:", 7) != 0; i++) {
		cr_assert_gt(readlink(path, link, sizeof(link) - 1), 0);
		(void)nanosleep(&wait, NULL);
	}
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* yes(1) runs until it is killed, and takes no arguments. */
Test(launch, starts_a_factory_and_its_supervisor)
{
	static const char *const supervisors[] = { "/dev/null", "/dev/null", "",
						   "socket:",   "socket:",   "anon_inode:[pidfd]",
						   NULL };
	/* No state directory, and neither of the helpers. */
	static const char *const factorys[] = { "/dev/null", "/dev/null", "",          "socket:",
						"/dev/null", "/dev/null", "/dev/null", NULL };
	struct launched launched;
	int image;

	cr_assert_eq(spawn("/usr/bin/yes", "/usr/bin/yes", &launched), 0);
	expect_descriptors(launched.supervisor, supervisors);
	cr_expect_eq(only_child(launched.supervisor), launched.factory);
	image = executed_by(launched.factory);
	cr_expect(fd_is_kind(image, 'm'));
	fd_close(&image);
	expect_descriptors(launched.factory, factorys);
	cr_expect_eq(kill(launched.factory, SIGKILL), 0);
	cr_expect_eq(kill(launched.supervisor, SIGKILL), 0);
	cr_expect_eq(WTERMSIG(launch_await(&launched, LAUNCH_END_MS)), SIGKILL);
}

/* A supervisor that has ended, whose factory runs, and stopped, as only a kill can end it. */
Test(launch, ends_what_a_supervisor_leaves)
{
	struct launched launched = { 0 };
	int ends[2];

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	cr_assert_eq(pipe(ends), 0);
	launched.supervisor = fork();
	if (launched.supervisor == 0) {
		const pid_t factory = fork();

		if (factory == 0) {
			(void)raise(SIGSTOP);
			_exit(0);
		}
		if (setpgid(factory, 0) == 0)
			(void)write(ends[1], &factory, sizeof(factory));
		_exit(7);
	}
	cr_assert_eq(read(ends[0], &launched.factory, sizeof(launched.factory)),
		     sizeof(launched.factory));
	cr_expect_eq(WEXITSTATUS(launch_await(&launched, LAUNCH_END_MS)), 7);
	cr_expect_eq(kill(launched.factory, 0), -1);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
}

Test(launch, awaits_an_end)
{
	const struct launched launched = { .supervisor = fork() };

	if (launched.supervisor == 0)
		_exit(7);
	cr_expect_eq(WEXITSTATUS(launch_await(&launched, LAUNCH_END_MS)), 7);
}

Test(launch, does_not_wait_for_ever)
{
	const struct launched launched = { .supervisor = fork() };

	if (launched.supervisor == 0) {
		(void)pause();
		_exit(0);
	}
	cr_expect_eq(WTERMSIG(launch_await(&launched, LAUNCH_END_MS)), SIGKILL);
}
