/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/listen.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"

static char root[64];
static char text[LISTEN_TEXT_MAX];
static char where[LISTEN_TEXT_MAX];

static void prepare(void)
{
	format_text(root, sizeof(root), "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(root));
}

static void clear(void)
{
	char command[96];

	format_text(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(listen, .init = prepare, .fini = clear);

static const char *rule_of(const char *value)
{
	struct listen_address address = { 0 };
	const char *rule = listen_set_address(&address, value);

	cr_expect_eq(listen_is_wanted(&address), rule == NULL, "%s", value);
	return rule ? rule : "";
}

Test(listen, addresses_that_are_taken)
{
	static const char *const good[] = {
		"127.0.0.1:1",         "127.0.0.1:0", "127.255.255.254:65535",
		"127.1.2.3:80",        "[::1]:8080",  "localhost:0",
		"[0:0:0:0:0:0:0:1]:1", "unix:/a",     "unix:/run/user/1000/msp/http.sock"
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect_str_eq(rule_of(good[i]), "", "%s", good[i]);
}

Test(listen, addresses_that_others_reach)
{
	static const char *const wide[] = {
		"0.0.0.0:80",
		"*:80",
		":80",
		"192.168.1.1:80",
		"128.0.0.1:80",
		"126.255.255.255:80",
		"[::]:80",
		"[::2]:80",
		"[fe80::1]:80",
		"[::ffff:127.0.0.1]:80",
		"[::1%lo]:80",
		"example.org:80",
		"localhost.:80",
		"LOCALHOST:80",
		"127.1:80",
		"0x7f.0.0.1:80",
		"2130706433:80",
		"127.0.0.1 :80",
		"[localhost]:80",
		"::1:80",
		"a-name-that-is-longer-than-every-address-of-this-kind-may-be:80"
	};

	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		cr_expect(strstr(rule_of(wide[i]), "speaks no TLS"), "%s", wide[i]);
}

Test(listen, what_is_no_address)
{
	static const char *const wrong[] = { "",
					     "80",
					     "127.0.0.1",
					     "127.0.0.1:",
					     "127.0.0.1:-1",
					     "127.0.0.1:+1",
					     "127.0.0.1:1x",
					     "127.0.0.1: 1",
					     "127.0.0.1:65536",
					     "127.0.0.1:100000",
					     "[::1]",
					     "[::1]:",
					     "[::1:80",
					     "[:80",
					     "localhost" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect(strstr(rule_of(wrong[i]), "or localhost:PORT"), "%s", wrong[i]);
}

Test(listen, paths)
{
	static const char *const wrong[] = { "unix:",    "unix:x",    "unix:./x", "unix:/",
					     "unix:/a/", "unix:/a/.", "unix:/..", "unix://" };
	char path[160] = "unix:/";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect(strstr(rule_of(wrong[i]), "107 bytes"), "%s", wrong[i]);
	memset(path + 6, 'd', 99);
	memcpy(path + 105, "/socket", 8);
	cr_expect_str_eq(rule_of(path), "", "107 bytes");
	memcpy(path + 105, "/socket1", 9);
	cr_expect(strstr(rule_of(path), "107 bytes"), "108 bytes");
}

static int try_listen(const char *value, int *ret)
{
	struct listen_address address = { 0 };
	int code;

	cr_assert_null(listen_set_address(&address, value), "%s", value);
	code = listen_open(&address, ret, text);
	if (!code)
		listen_describe(&address, *ret, where);
	return code;
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	cr_assert_eq(getsockopt(fd, SOL_SOCKET, option, &value, &size), 0);
	return value;
}

static void expect_listener(int fd, int domain)
{
	cr_expect_eq(option_of(fd, SO_ACCEPTCONN), 1);
	cr_expect_eq(option_of(fd, SO_DOMAIN), domain);
	cr_expect_eq(option_of(fd, SO_TYPE), SOCK_STREAM);
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

Test(listen, a_port_that_the_kernel_chooses)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	char wanted[64];
	int fd;

	cr_assert_eq(try_listen("127.0.0.1:0", &fd), 0, "%s", text);
	expect_listener(fd, AF_INET);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	cr_expect_eq(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
	cr_expect_neq(address.sin_port, 0);
	format_text(wanted, sizeof(wanted), "http://127.0.0.1:%u/mcp", ntohs(address.sin_port));
	cr_expect_str_eq(where, wanted);
}

Test(listen, version_6)
{
	int fd;

	if (try_listen("[::1]:0", &fd) != 0) {
		cr_expect(strstr(text, "127.0.0.1 in place of it"), "%s", text);
		return;
	}
	expect_listener(fd, AF_INET6);
	cr_expect_eq(strncmp(where, "http://[::1]:", 13), 0, "%s", where);
}

Test(listen, a_port_in_use)
{
	char again[64];
	int first;
	int second;

	cr_assert_eq(try_listen("localhost:0", &first), 0, "%s", text);
	format_text(again, sizeof(again), "%.*s", (int)strlen(where) - 11, where + 7);
	cr_expect_eq(try_listen(again, &second), MSP_EXIT_AGAIN);
	cr_expect(strstr(text, "ss -ltnp"), "%s", text);
	cr_expect(strstr(text, again), "%s", text);
	fd_close(&first);
	cr_expect_eq(try_listen(again, &second), 0, "%s", text);
}

static char *in_root(const char *name)
{
	static char value[160];

	format_text(value, sizeof(value), "unix:%s/%s", root, name);
	return value;
}

Test(listen, a_unix_socket)
{
	struct stat status;
	int fd;

	(void)umask(0);
	cr_assert_eq(try_listen(in_root("s"), &fd), 0, "%s", text);
	expect_listener(fd, AF_UNIX);
	cr_assert_eq(stat(in_root("s") + 5, &status), 0);
	cr_expect(S_ISSOCK(status.st_mode));
	cr_expect_eq(status.st_mode & 07777U, 0600U);
	cr_expect(strstr(where, in_root("s")), "%s", where);
}

Test(listen, a_unix_socket_that_is_in_use)
{
	int first;
	int second;

	cr_assert_eq(try_listen(in_root("s"), &first), 0, "%s", text);
	cr_expect_eq(try_listen(in_root("s"), &second), MSP_EXIT_AGAIN);
	cr_expect(strstr(text, "another program listens"), "%s", text);
	fd_close(&first);
	cr_expect_eq(try_listen(in_root("s"), &second), 0, "a dead one is replaced: %s", text);
}

Test(listen, a_unix_socket_of_another_kind)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int other;

	format_text(address.sun_path, sizeof(address.sun_path), "%s", in_root("s") + 5);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	cr_expect_eq(try_listen(in_root("s"), &other), MSP_EXIT_AGAIN);
	cr_expect_eq(access(in_root("s") + 5, F_OK), 0);
}

Test(listen, what_is_no_socket_stays)
{
	int fd = open(in_root("file") + 5, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	fd_close(&fd);
	cr_expect_eq(try_listen(in_root("file"), &fd), MSP_EXIT_REFUSED);
	cr_expect(strstr(text, "File exists"), "%s", text);
	cr_expect_eq(access(in_root("file") + 5, F_OK), 0);
}

Test(listen, folders_of_unix_sockets)
{
	int fd;

	cr_expect_eq(try_listen(in_root("none/s"), &fd), MSP_EXIT_REFUSED);
	cr_expect(strstr(text, "No such file"), "%s", text);
	cr_assert_eq(mkdir(in_root("open") + 5, 0700), 0);
	cr_assert_eq(chmod(in_root("open") + 5, 0770), 0);
	cr_expect_eq(try_listen(in_root("open/s"), &fd), MSP_EXIT_REFUSED);
	cr_expect(strstr(text, "writable by nobody else"), "%s", text);
	cr_assert_eq(symlink("/tmp", in_root("link") + 5), 0);
	cr_expect_eq(try_listen(in_root("link/s"), &fd), MSP_EXIT_REFUSED);
	cr_expect(strstr(text, "symbolic link"), "%s", text);
}
