/* SPDX-License-Identifier: Apache-2.0 */
#include "protected_support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/kernel.h"
#include "common/text/format.h"

char top[64];
char home[96];

void path_of(const char *name, char path[4096])
{
	format_text(path, 4096, "%s/%s", top, name);
}

void make_folder(const char *name)
{
	char path[4096];

	path_of(name, path);
	cr_assert_eq(mkdir(path, 0755), 0, "%s", path);
}

void make_file(const char *name)
{
	char path[4096];
	int fd;

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0);
	(void)close(fd);
}

void make_link(const char *text, const char *name)
{
	char path[4096];

	path_of(name, path);
	cr_assert_eq(symlink(text, path), 0);
}

void protected_begin(void)
{
	format_text(top, sizeof(top), "/tmp/msp-protected-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
	format_text(home, sizeof(home), "%s/home/user", top);
	make_folder("home");
	make_folder("home/user");
	make_folder("home/user/.ssh");
	make_folder("home/user/.ssh/deep");
	make_file("home/user/.ssh/id_rsa");
	make_folder("home/user/.sshfs");
	make_folder("home/user/tokenizer");
	make_folder("home/user/project");
	make_folder("home/user/project/.ssh");
	make_file("home/user/project/netrc");
	make_folder("home/user/.config");
	make_folder("home/user/.config/gcloud");
	make_folder("home/user/.config/editor");
	make_file("home/user/.netrc");
	make_folder("vault");
	make_folder("vault/keys");
	make_link("../../vault/keys", "home/user/.gnupg");
	make_link("home/user/.ssh", "shortcut");
	make_folder("home-evil");
	make_folder("mnt");
	make_folder("mnt/a");
}

void protected_end(void)
{
	char command[128];

	format_text(command, sizeof(command), "%s", top);
	if (fork() == 0) {
		(void)execl("/bin/rm", "rm", "-rf", command, (char *)NULL);
		_exit(1);
	}
	(void)wait(NULL);
}

struct protected_set set;
enum protected_use use = PROTECTED_WRITTEN;

uint32_t make_list(char room[512], const char *const names[])
{
	uint32_t size = 0;

	for (; *names; names++)
		size += (uint32_t)snprintf(room + size, 512 - size, "%s/%s", top, *names) + 1;
	return size;
}

struct protected_answer ask_path(const char *given)
{
	const int fd = kernel_openat2(AT_FDCWD, given, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);
	struct protected_answer answer;
	struct mounts mounts;
	char link[64];
	char path[4096];
	ssize_t size;

	cr_assert_geq(fd, 0, "%s", given);
	format_text(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	cr_assert_gt(size, 0);
	path[size] = '\0';
	cr_assert_eq(mounts_read(&mounts), 0);
	set.homes[0] = home;
	answer = protected_check(fd, path, use, &mounts, &set);
	mounts_done(&mounts);
	(void)close(fd);
	return answer;
}

enum protected_verdict ask(const char *name)
{
	char path[4096];

	path_of(name, path);
	return ask_path(path).verdict;
}
