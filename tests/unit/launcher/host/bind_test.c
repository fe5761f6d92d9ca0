/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/bind.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/format.h"
#include "launcher/host/protected.h"

static char host[IPC_PATH_MAX];
static char inside[IPC_PATH_MAX];

static void expect_split(const char *word, const char *expected_host, const char *expected_inside)
{
	cr_assert_null(bind_split(word, host, inside), "%s", word);
	cr_expect_str_eq(host, expected_host);
	cr_expect_str_eq(inside, expected_inside);
}

Test(bind, split)
{
	expect_split("/srv", "/srv", "");
	expect_split("/srv:/data", "/srv", "/data");
	expect_split("srv", "srv", "");
	expect_split("./a:/data/x", "./a", "/data/x");
	expect_split("/a:b", "/a:b", "");
	expect_split("/a:b:/c", "/a:b", "/c");
	expect_split("/a:/b:/c", "/a:/b", "/c");
	expect_split("/a:", "/a:", "");
	expect_split("/a:relative", "/a:relative", "");
}

Test(bind, split_refuses)
{
	static char word[2 * IPC_PATH_MAX];

	cr_expect_not_null(bind_split("", host, inside));
	cr_expect_not_null(bind_split(":/data", host, inside));
	memset(word, 'a', sizeof(word) - 1);
	cr_expect_not_null(bind_split(word, host, inside));
	memcpy(word, "/a:/", 4);
	cr_expect_not_null(bind_split(word, host, inside));
	word[IPC_PATH_MAX] = '\0';
	cr_expect_null(bind_split(word, host, inside));
}

Test(bind, places_inside)
{
	static const char *const good[] = {
		"/data",      "/a/b/c",        "/usr/local/x", "/home/agent/data",
		"/opt",       "/workspace/in", "/tmp/x",       "/processed",
		"/developer", "/..a",          "/a/...",       "/.x"
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect_null(bind_check_inside(good[i]), "%s", good[i]);
}

Test(bind, places_inside_refused)
{
	static const char *const bad[] = {
		"/",      "",        "data",       "./data",   "//data",     "/data/",
		"/a//b",  "/a/../b", "/..",        "/a/.",     "/./a",       "/a/..",
		"/proc",  "/proc/x", "/dev",       "/dev/shm", "/sys/fs",    "/usr",
		"/etc",   "/home",   "/tmp",       "/bin",     "/workspace", "/home/agent",
		"/bin/x", "/lib/x",  "/var/tmp/x", "/var/run", "/var/empty"
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not_null(bind_check_inside(bad[i]), "%s", bad[i]);
}

static char top[64];
static struct binds binds;
static char text[BIND_TEXT_MAX];

static void begin(void)
{
	char path[128];

	format_text(top, sizeof(top), "/tmp/msp-bind-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	format_text(path, sizeof(path), "%s/folder", top);
	cr_assert_eq(mkdir(path, 0755), 0);
	format_text(path, sizeof(path), "%s/link", top);
	cr_assert_eq(symlink("folder", path), 0);
	format_text(path, sizeof(path), "%s/pipe", top);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(chdir(top), 0);
}

static void end(void)
{
	static const char *const names[] = { "folder", "link", "pipe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)remove(names[i]);
	(void)rmdir(top);
}

static int open_words(const char *first, const char *second)
{
	const struct protected_set set = { .homes = { NULL } };
	struct bind_words words = { .count = second ? 2 : 1, .words = { first, second } };

	text[0] = '\0';
	return binds_open(&words, &set, &binds, text);
}

Test(bind, a_relative_path_becomes_canonical, .init = begin, .fini = end)
{
	char expected[128];

	format_text(expected, sizeof(expected), "%s/folder", top);
	cr_assert_eq(open_words("link", NULL), 0, "%s", text);
	cr_expect_str_eq(binds.list[0].host, expected);
	cr_expect_str_eq(binds.list[0].inside, expected, "the default is the host's path");
	cr_expect(fcntl(binds.list[0].fd, F_GETFL) & O_PATH);
	cr_expect(fcntl(binds.list[0].fd, F_GETFD) & FD_CLOEXEC);
}

Test(bind, a_place_of_its_own, .init = begin, .fini = end)
{
	cr_assert_eq(open_words("folder:/data", "/usr/bin/env:/tool"), 0, "%s", text);
	cr_expect_eq(binds.count, 2U);
	cr_expect_str_eq(binds.list[0].inside, "/data");
	cr_expect_str_eq(binds.list[1].inside, "/tool");
}

static void expect_refused(const char *first, const char *second, const char *part)
{
	cr_expect_neq(open_words(first, second), 0, "%s", first);
	cr_expect(strstr(text, part), "'%s' should say '%s'", text, part);
}

Test(bind, refusals_say_why, .init = begin, .fini = end)
{
	expect_refused("missing", NULL, "No such file");
	expect_refused("pipe", NULL, "device, socket or pipe");
	expect_refused("/dev/null", NULL, "device, socket or pipe");
	expect_refused("/etc:/data", NULL, "contains /etc/shadow");
	expect_refused("/etc/shadow:/data", NULL, "is /etc/shadow");
	expect_refused("folder:/usr", NULL, "'/usr'");
	expect_refused("folder:/a", "link:/a", "two binds for '/a'");
	expect_refused("/:/data", NULL, "contains");
	expect_refused("/proc/self/root/tmp", NULL, "cannot be opened");
}

Test(bind, a_mount_inside_is_refused)
{
	struct mounts mounts;

	cr_assert_eq(mounts_read(&mounts), 0);
	if (!mounts_inside(&mounts, "/sys"))
		cr_skip("nothing is mounted inside /sys");
	mounts_done(&mounts);
	expect_refused("/sys:/data", NULL, "/sys");
}
