/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/service.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/limits_mode.h"
#include "common/text/format.h"

static char root[64];
static char text[SERVICE_TEXT_MAX];
static char path[256];

static void make_root(void)
{
	format_text(root, sizeof(root), "/tmp/msp-service-XXXXXX");
	cr_assert(mkdtemp(root));
}

static void remove_root(void)
{
	char command[96];

	format_text(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(service, .init = make_root, .fini = remove_root);

static const char *below(const char *name)
{
	format_text(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void make_folder(const char *name, mode_t mode)
{
	cr_assert_eq(mkdir(below(name), 0700), 0);
	cr_assert_eq(chmod(below(name), mode), 0);
}

static bool choose(const char *xdg, char ret[128])
{
	return service_choose_folder(root, 4711, xdg, ret, 128);
}

Test(service, the_users_run_folder_comes_first)
{
	char xdg[128];
	char wanted[128];
	char found[128];

	make_folder("4711", 0700);
	make_folder("xdg", 0700);
	format_text(xdg, sizeof(xdg), "%s/xdg", root);
	format_text(wanted, sizeof(wanted), "%s/4711/msp", root);
	cr_expect(choose(NULL, found));
	cr_expect_str_eq(found, wanted);
	cr_expect(choose(xdg, found), "whatever the environment says");
	cr_expect_str_eq(found, wanted);
}

Test(service, the_environments_folder_must_be_ours_alone)
{
	const uid_t uid = geteuid();
	char xdg[128];
	char link_path[128];
	char found[128];

	format_text(xdg, sizeof(xdg), "%s/xdg", root);
	format_text(link_path, sizeof(link_path), "%s/link", root);
	cr_expect_not(service_choose_folder("/nowhere", uid, NULL, found, sizeof(found)));
	cr_expect_not(service_choose_folder("/nowhere", uid, xdg, found, sizeof(found)),
		      "it is not there");
	make_folder("xdg", 0700);
	cr_expect(service_choose_folder("/nowhere", uid, xdg, found, sizeof(found)));
	cr_expect(strstr(found, "/xdg/msp"));
	cr_expect_not(service_choose_folder("/nowhere", uid + 1, xdg, found, sizeof(found)),
		      "it is another's");
	cr_expect_not(service_choose_folder("/nowhere", uid, xdg + 1, found, sizeof(found)),
		      "it is not absolute");
	cr_assert_eq(symlink(xdg, link_path), 0);
	cr_expect_not(service_choose_folder("/nowhere", uid, link_path, found, sizeof(found)));
	cr_assert_eq(chmod(xdg, 0750), 0);
	cr_expect_not(service_choose_folder("/nowhere", uid, xdg, found, sizeof(found)),
		      "others can look into it");
}

Test(service, a_name_that_is_too_long_is_no_place)
{
	static char xdg[200];
	char found[128];

	memset(xdg, 'x', sizeof(xdg) - 1);
	xdg[0] = '/';
	cr_expect_not(service_choose_folder("/nowhere", geteuid(), xdg, found, sizeof(found)));
}

Test(service, a_given_socket)
{
	struct service_place place;

	cr_expect(service_find_place("/a/b/c.sock", &place, text));
	cr_expect_str_eq(place.folder, "/a/b");
	cr_expect_str_eq(place.name, "c.sock");
	cr_expect(service_find_place("/c.sock", &place, text));
	cr_expect_str_eq(place.folder, "/");
}

static int open_folder(const char *name)
{
	struct service_place place = { .name = "s" };

	format_text(place.folder, sizeof(place.folder), "%s/%s", root, name);
	text[0] = '\0';
	return unix_socket_open_folder(place.folder, text);
}

Test(service, folders)
{
	int fd;

	make_folder("good", 0755);
	fd = open_folder("good");
	cr_expect_geq(fd, 0, "others may look");
	fd_close(&fd);
	cr_expect_eq(open_folder("none"), -ENOENT);
	make_folder("group", 0770);
	cr_expect_eq(open_folder("group"), -EPERM);
	cr_expect(strstr(text, "0770"), "%s", text);
	make_folder("all", 0707);
	cr_expect_eq(open_folder("all"), -EPERM);
	cr_assert_eq(symlink("good", below("link")), 0);
	cr_expect_eq(open_folder("link"), -ENOTDIR);
	cr_expect(strstr(text, "symbolic link"), "%s", text);
}

/* A service in this process: what `answer` sends before anybody asks is what they get. */
static int listen_at(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	format_text(address.sun_path, sizeof(address.sun_path), "%s/%s", root, name);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 4), 0);
	return fd;
}

Test(service, nobody)
{
	struct service service = service_connect(below("s"));
	int fd;

	cr_expect_eq(service.state, SERVICE_ABSENT);
	cr_expect_eq(service.fd, -1);
	fd = listen_at("s");
	fd_close(&fd);
	service = service_connect(below("s"));
	cr_expect_eq(service.state, SERVICE_ABSENT, "a socket that nobody listens on");
	cr_expect(strstr(service.text, "nobody answers"), "%s", service.text);
}

static struct service ask(uint32_t type, const void *message, struct ipc_status *ret)
{
	int listener = listen_at("s");
	struct service service = service_connect(below("s"));
	struct channel channel = { .self = IPC_SUPERVISOR,
				   .peer = IPC_FRONTEND,
				   .phase = IPC_SETUP };

	cr_assert_eq(service.state, SERVICE_HERE, "%s", service.text);
	channel.fd = accept(listener, NULL, NULL);
	cr_assert_geq(channel.fd, 0);
	if (message)
		cr_assert_eq(channel_send(&channel, type, message, NULL, 0), 0);
	else
		fd_close(&channel.fd);
	service_ask(&service, ret);
	fd_close(&channel.fd);
	fd_close(&listener);
	return service;
}

Test(service, a_status)
{
	const struct ipc_status sent = { .pid = 12, .clients = 3, .limits = LIMITS_FALLBACK };
	struct ipc_status status = { 0 };
	struct service service = ask(IPC_TYPE_status, &sent, &status);

	cr_expect_eq(service.state, SERVICE_HERE);
	cr_expect_eq(status.pid, 12U);
	cr_expect_eq(status.clients, 3U);
	service_check_limits(&service, &status, LIMITS_FALLBACK);
	cr_expect_eq(service.state, SERVICE_HERE);
	service_check_limits(&service, &status, LIMITS_CGROUP);
	cr_expect_eq(service.state, SERVICE_WEAKER);
	cr_expect_eq(service.fd, -1);
}

Test(service, strong_limits_are_enough_for_all)
{
	struct service service = { .state = SERVICE_HERE, .fd = -1 };
	const struct ipc_status status = { .limits = LIMITS_CGROUP };

	service_check_limits(&service, &status, LIMITS_CGROUP);
	service_check_limits(&service, &status, LIMITS_FALLBACK);
	cr_expect_eq(service.state, SERVICE_HERE);
}

Test(service, an_end_instead)
{
	static const struct {
		enum client_end_reason reason;
		enum service_state state;
	} rows[] = {
		{ CLIENT_END_FULL, SERVICE_FULL },
		{ CLIENT_END_STOPPING, SERVICE_STOPPING },
		{ CLIENT_END_LIMITS, SERVICE_WEAKER },
		{ CLIENT_END_FAILED, SERVICE_FAILED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ipc_client_end end = { .reason = rows[i].reason };
		struct ipc_status status = { 0 };
		const struct service service = ask(IPC_TYPE_client_end, &end, &status);

		cr_expect_eq(service.state, rows[i].state, "%zu: %s", i, service.text);
		cr_expect_eq(service.fd, -1);
		cr_expect_neq(service.text[0], '\0');
		cr_assert_eq(unlink(below("s")), 0);
	}
}

Test(service, no_answer_is_another_version)
{
	struct ipc_status status = { .pid = 1 };
	const struct service service = ask(0, NULL, &status);

	cr_expect_eq(service.state, SERVICE_OTHER_VERSION);
	cr_expect(strstr(service.text, "systemctl --user restart msp.service"));
	cr_expect_eq(status.pid, 1U, "untouched");
}

Test(service, what_was_found_first_stays)
{
	struct service service = { .state = SERVICE_UNTRUSTED, .fd = -1, .text = "why" };
	struct ipc_status status;

	service_ask(&service, &status);
	cr_expect_eq(service.state, SERVICE_UNTRUSTED);
	cr_expect_str_eq(service.text, "why");
}
