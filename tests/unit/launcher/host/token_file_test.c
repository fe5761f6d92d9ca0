/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/token_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static char root[64];
static char path[IPC_PATH_MAX];
static char text[TOKEN_FILE_TEXT_MAX];
static struct tokens tokens;

static void prepare(void)
{
	format_text(root, sizeof(root), "/tmp/msp-test-XXXXXX");
	cr_assert(mkdtemp(root));
	format_text(path, sizeof(path), "%s/tokens", root);
	cr_assert_eq(unsetenv("XDG_CONFIG_HOME"), 0);
	(void)umask(022);
}

static void clear(void)
{
	char command[96];

	format_text(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(token_file, .init = prepare, .fini = clear);

static void put(const char *content, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fd_write_all(fd, content, strlen(content)), 0);
	cr_assert_eq(fchmod(fd, mode), 0);
	fd_close(&fd);
}

static int try_open(enum token_file_use use)
{
	int fd = token_file_open(path, use, text);
	const int error = fd < 0 ? fd : 0;

	fd_close(&fd);
	return error;
}

static void refused(int error, const char *part)
{
	cr_expect_eq(try_open(TOKEN_FILE_READ), error, "%s", text);
	cr_expect(strstr(text, part), "%s", text);
	cr_expect(strstr(text, path), "%s", text);
}

Test(token_file, none)
{
	refused(-ENOENT, "'msp token create NAME' makes it");
	cr_expect_eq(try_open(TOKEN_FILE_CHANGE), -ENOENT);
	cr_expect_neq(access(path, F_OK), 0);
}

Test(token_file, a_new_one_is_closed_to_others)
{
	struct stat status;

	(void)umask(0);
	cr_expect_eq(try_open(TOKEN_FILE_MAKE), 0, "%s", text);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_mode & 07777U, 0600U);
}

Test(token_file, modes)
{
	static const mode_t wrong[] = { 0640, 0620, 0610, 0604, 0602, 0601, 0666 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put("", wrong[i]);
		refused(-EPERM, "chmod 600");
		cr_expect_eq(try_open(TOKEN_FILE_MAKE), -EPERM);
	}
	put("", 0600);
	cr_expect_eq(try_open(TOKEN_FILE_READ), 0, "%s", text);
	put("", 0400);
	cr_expect_eq(try_open(TOKEN_FILE_READ), 0, "%s", text);
}

Test(token_file, kinds)
{
	char link[sizeof(path) + 8];

	cr_assert_eq(mkdir(path, 0700), 0);
	refused(-EINVAL, "no regular file");
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	refused(-EINVAL, "no regular file");
	cr_assert_eq(unlink(path), 0);
	format_text(link, sizeof(link), "%s.real", path);
	cr_assert_eq(symlink(link, path), 0);
	refused(-ELOOP, "symbolic link");
	cr_expect_eq(try_open(TOKEN_FILE_MAKE), -ELOOP);
	cr_expect_neq(access(link, F_OK), 0, "nothing was made behind it");
}

Test(token_file, of_another_user)
{
	if (geteuid() != 0) {
		format_text(path, sizeof(path), "/etc/passwd");
		refused(-EPERM, "belongs to user 0");
		return;
	}
	put("", 0600);
	cr_assert_eq(chown(path, 12345, 12345), 0);
	refused(-EPERM, "belongs to user 12345");
}

Test(token_file, sizes)
{
	static char content[TOKENS_BYTES_MAX + 2];
	int fd;

	memset(content, '\n', TOKENS_BYTES_MAX);
	put(content, 0600);
	fd = token_file_open(path, TOKEN_FILE_READ, text);
	cr_assert_geq(fd, 0, "%s", text);
	cr_expect_eq(token_file_read(fd, &tokens), 0);
	cr_expect_eq(tokens.size, (size_t)TOKENS_BYTES_MAX);
	content[TOKENS_BYTES_MAX] = '\n';
	put(content, 0600);
	cr_expect_eq(token_file_read(fd, &tokens), -EFBIG, "it grew");
	fd_close(&fd);
	refused(-EFBIG, "larger than 65536 bytes");
}

/* With what is in it read. */
static int open_for_change(void)
{
	const int fd = token_file_open(path, TOKEN_FILE_MAKE, text);

	cr_assert_geq(fd, 0, "%s", text);
	cr_assert_eq(token_file_read(fd, &tokens), 0);
	return fd;
}

static int add(const char *name, const char *digest)
{
	int fd = open_for_change();
	const int error = token_file_add(fd, &tokens, name, digest);

	fd_close(&fd);
	return error;
}

static void take_back(const char *name)
{
	int fd = open_for_change();
	struct token_line line;

	cr_assert(tokens_find(&tokens, name, &line));
	cr_assert_eq(token_file_revoke(fd, &line), 0);
	fd_close(&fd);
}

static void expect_content(const char *wanted)
{
	int fd = open_for_change();

	cr_expect_eq(tokens.size, strlen(wanted));
	cr_expect_eq(memcmp(tokens.text, wanted, tokens.size), 0, "%.*s", (int)tokens.size,
		     tokens.text);
	fd_close(&fd);
}

Test(token_file, added_at_the_end)
{
	cr_expect_eq(add("alice", DIGEST), 0);
	cr_expect_eq(add("bob", OTHER), 0);
	expect_content("alice " DIGEST "\nbob " OTHER "\n");
	put("# mine", 0600);
	cr_expect_eq(add("bob", OTHER), 0);
	expect_content("# mine\nbob " OTHER "\n");
}

#define DOTS_61 "............................................................."

Test(token_file, revoked_in_place)
{
	struct stat before;
	struct stat after;

	cr_expect_eq(add("alice", DIGEST), 0);
	cr_expect_eq(add("bob", OTHER), 0);
	cr_assert_eq(stat(path, &before), 0);
	take_back("alice");
	cr_assert_eq(stat(path, &after), 0);
	cr_expect_eq(before.st_ino, after.st_ino);
	cr_expect_eq(before.st_size, after.st_size);
	expect_content("#revoked" DOTS_61 ".\nbob " OTHER "\n");
}

Test(token_file, what_was_revoked_is_used_again)
{
	cr_expect_eq(add("alice", DIGEST), 0);
	cr_expect_eq(add("bob", OTHER), 0);
	take_back("alice");
	cr_expect_eq(add("longer", DIGEST), 0);
	expect_content("#revoked" DOTS_61 ".\nbob " OTHER "\nlonger " DIGEST "\n");
	cr_expect_eq(add("carol", DIGEST), 0);
	expect_content("carol " DIGEST "\nbob " OTHER "\nlonger " DIGEST "\n");
	take_back("longer");
	cr_expect_eq(add("short", DIGEST), 0);
	expect_content("carol " DIGEST "\nbob " OTHER "\nshort " DIGEST "\n\n");
	take_back("bob");
	cr_expect_eq(add("x", OTHER), 0);
	expect_content("carol " DIGEST "\nx " OTHER "\n#\nshort " DIGEST "\n\n");
	cr_expect_eq(tokens_count(&tokens), 3UL);
}

/* However soon one change follows another. Since Linux 6.13 the kernel sees to it itself on most
 * file systems. */
Test(token_file, each_change_has_a_time_of_its_own)
{
	struct stat before;
	struct stat after;

	cr_expect_eq(add("alice", DIGEST), 0);
	cr_assert_eq(stat(path, &before), 0);
	for (int i = 0; i < 100; i++) {
		if (i % 2 == 0)
			take_back("alice");
		else
			cr_expect_eq(add("alice", DIGEST), 0);
		cr_assert_eq(stat(path, &after), 0);
		cr_expect_eq(after.st_size, before.st_size);
		cr_expect(after.st_mtim.tv_sec > before.st_mtim.tv_sec ||
				  (after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
				   after.st_mtim.tv_nsec > before.st_mtim.tv_nsec),
			  "%d", i);
		before = after;
	}
}

Test(token_file, a_clock_that_was_set_back)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = 2100000000, .tv_nsec = 999999999 } };
	struct stat status;

	cr_expect_eq(add("alice", DIGEST), 0);
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	take_back("alice");
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_mtim.tv_sec, 2100000001);
	cr_expect_eq(status.st_mtim.tv_nsec, 0);
}

Test(token_file, as_many_as_there_may_be)
{
	char name[TOKEN_NAME_MAX];

	for (int i = 0; i < TOKENS_MAX; i++) {
		format_text(name, sizeof(name), "client-%d", i);
		cr_assert_eq(add(name, DIGEST), 0);
	}
	cr_expect_eq(add("one-more", DIGEST), -EUSERS);
	take_back("client-7");
	cr_expect_eq(add("one-more", DIGEST), 0);
}

Test(token_file, no_room)
{
	static char content[TOKENS_BYTES_MAX + 1];

	memset(content, '#', TOKENS_BYTES_MAX - 70);
	content[TOKENS_BYTES_MAX - 71] = '\n';
	put(content, 0600);
	cr_expect_eq(add("sixth-", DIGEST), -EFBIG);
	cr_expect_eq(add("fifth", DIGEST), -EFBIG);
	cr_expect_eq(add("four", DIGEST), 0);
	cr_expect_eq(tokens_count(&tokens), 0UL);
}

static bool find(bool is_made, const char *wanted)
{
	char found[IPC_PATH_MAX];
	char full[IPC_PATH_MAX];

	format_text(full, sizeof(full), "%s/%s", root, wanted);
	if (!token_file_find(is_made, found, text))
		return false;
	cr_expect_str_eq(found, full);
	return true;
}

Test(token_file, its_place)
{
	struct stat status;
	char config[128];

	cr_assert_eq(setenv("HOME", root, 1), 0);
	cr_expect(find(false, ".config/msp/tokens"));
	format_text(config, sizeof(config), "%s/.config", root);
	cr_expect_neq(access(config, F_OK), 0, "looking makes nothing");
	cr_assert_eq(setenv("XDG_CONFIG_HOME", config, 1), 0);
	cr_expect(find(true, ".config/msp/tokens"), "what is not there is not asked");
	cr_assert_eq(stat(config, &status), 0);
	cr_expect_eq(status.st_mode & 07777U, 0700U);
	cr_expect(find(true, ".config/msp/tokens"), "again");
	format_text(config, sizeof(config), "%s/other", root);
	cr_assert_eq(mkdir(config, 0755), 0);
	cr_assert_eq(setenv("XDG_CONFIG_HOME", config, 1), 0);
	cr_expect(find(true, "other/msp/tokens"));
	format_text(config, sizeof(config), "%s/other/msp", root);
	cr_assert_eq(stat(config, &status), 0);
	cr_expect_eq(status.st_mode & 07777U, 0700U);
}

Test(token_file, a_place_that_cannot_be_made)
{
	char config[128];

	cr_assert_eq(setenv("HOME", root, 1), 0);
	format_text(config, sizeof(config), "%s/.config", root);
	cr_assert_eq(symlink("/proc/self", config), 0);
	cr_expect_not(find(true, ""));
	cr_expect(strstr(text, "cannot be made"), "%s", text);
}
