/* SPDX-License-Identifier: Apache-2.0
 *
 * A home directory is built in a temporary folder, with what one holds; the bind mounts are made in
 * a user namespace of a child.
 */
#include "protected.h"

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
#include "format.h"

static char top[64]; /* the temporary folder, canonical */
static char home[96];

static void path_of(const char *name, char path[4096])
{
	format_text(path, 4096, "%s/%s", top, name);
}

static void make_folder(const char *name)
{
	char path[4096];

	path_of(name, path);
	cr_assert_eq(mkdir(path, 0755), 0, "%s", path);
}

static void make_file(const char *name)
{
	char path[4096];
	int fd;

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_geq(fd, 0);
	(void)close(fd);
}

static void make_link(const char *text, const char *name)
{
	char path[4096];

	path_of(name, path);
	cr_assert_eq(symlink(text, path), 0);
}

static void begin(void)
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

static void end(void)
{
	char command[128];

	format_text(command, sizeof(command), "%s", top);
	if (fork() == 0) {
		(void)execl("/bin/rm", "rm", "-rf", command, (char *)NULL);
		_exit(1);
	}
	(void)wait(NULL);
}

TestSuite(protected, .init = begin, .fini = end);

static struct protected_set set;

/* A list of the set: paths of the folder, NULL at the end. */
static uint32_t make_list(char room[512], const char *const names[])
{
	uint32_t size = 0;

	for (; *names; names++)
		size += (uint32_t)snprintf(room + size, 512 - size, "%s/%s", top, *names) + 1;
	return size;
}

static struct protected_answer ask_path(const char *given)
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
	answer = protected_check(fd, path, &mounts, &set);
	mounts_done(&mounts);
	(void)close(fd);
	return answer;
}

static enum protected_verdict ask(const char *name)
{
	char path[4096];

	path_of(name, path);
	return ask_path(path).verdict;
}

Test(protected, itself)
{
	cr_expect_eq(ask("home/user/.ssh"), PROTECTED_IS);
	cr_expect_eq(ask("home/user/.netrc"), PROTECTED_IS);
	cr_expect_eq(ask("home/user/.config/gcloud"), PROTECTED_IS);
}

Test(protected, inside)
{
	cr_expect_eq(ask("home/user/.ssh/id_rsa"), PROTECTED_INSIDE);
	cr_expect_eq(ask("home/user/.ssh/deep"), PROTECTED_INSIDE);
}

Test(protected, containing)
{
	cr_expect_eq(ask("home"), PROTECTED_CONTAINS);
	cr_expect_eq(ask("home/user/.config"), PROTECTED_CONTAINS);
	cr_expect_eq(ask("."), PROTECTED_CONTAINS);
}

Test(protected, the_home_itself)
{
	cr_expect_neq(ask("home/user"), PROTECTED_FREE);
}

Test(protected, near_names_are_free)
{
	cr_expect_eq(ask("home/user/tokenizer"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/.sshfs"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/project/.ssh"), PROTECTED_FREE, "not the home's");
	cr_expect_eq(ask("home/user/project/netrc"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/.config/editor"), PROTECTED_FREE);
	cr_expect_eq(ask("home-evil"), PROTECTED_FREE);
	cr_expect_eq(ask("mnt"), PROTECTED_FREE);
}

Test(protected, through_a_symlink)
{
	cr_expect_eq(ask("shortcut"), PROTECTED_IS);
	cr_expect_eq(ask("shortcut/deep"), PROTECTED_INSIDE);
	cr_expect_eq(ask("home/user/project/../.ssh"), PROTECTED_IS);
}

Test(protected, what_a_protected_symlink_leads_to)
{
	cr_expect_eq(ask("vault/keys"), PROTECTED_IS);
	cr_expect_eq(ask("vault"), PROTECTED_CONTAINS);
}

Test(protected, where_a_protected_file_is_linked_from)
{
	make_folder("home/user/dots");
	make_file("home/user/dots/npmrc");
	make_link("dots/npmrc", "home/user/.npmrc");
	cr_expect_eq(ask("home/user/dots/npmrc"), PROTECTED_IS);
	cr_expect_eq(ask("home/user/dots"), PROTECTED_CONTAINS);
}

Test(protected, a_folder_that_we_may_not_search)
{
	char path[4096];

	make_folder("home/user/.kube");
	path_of("home/user/.kube", path);
	cr_assert_eq(chmod(path, 0), 0);
	cr_expect_eq(ask("home/user/.kube"), PROTECTED_IS);
	cr_expect_eq(ask("home/user/tokenizer"), PROTECTED_FREE, "compared all the same");
	cr_expect_eq(ask("home"), PROTECTED_CONTAINS);
}

Test(protected, what_does_not_exist_yet)
{
	/* .aws may be made while the sandbox runs; only the home would show it. */
	cr_expect_neq(ask("home/user"), PROTECTED_FREE);
	make_folder("home/user/.mozilla-like");
	cr_expect_eq(ask("home/user/.mozilla-like"), PROTECTED_FREE);
	make_folder("home/user/.local");
	cr_expect_eq(ask("home/user/.local"), PROTECTED_CONTAINS, "it would hold share/keyrings");
}

Test(protected, the_system)
{
	cr_expect_eq(ask_path("/").verdict, PROTECTED_CONTAINS);
	cr_expect_eq(ask_path("/etc").verdict, PROTECTED_CONTAINS);
	cr_expect_eq(ask_path("/etc/shadow").verdict, PROTECTED_IS);
	cr_expect_eq(ask_path("/root").verdict, PROTECTED_IS);
	cr_expect_eq(ask_path("/run").verdict, PROTECTED_IS);
	cr_expect_eq(ask_path("/proc").verdict, PROTECTED_IS);
	cr_expect_eq(ask_path("/proc/self").verdict, PROTECTED_INSIDE);
	cr_expect_eq(ask_path("/dev/shm").verdict, PROTECTED_INSIDE);
	cr_expect_eq(ask_path("/sys/kernel").verdict, PROTECTED_INSIDE);
	cr_expect_eq(ask_path("/usr/share").verdict, PROTECTED_FREE);
	cr_expect_eq(ask_path("/etc/passwd").verdict, PROTECTED_FREE);
}

Test(protected, the_answer_names_the_path)
{
	char path[4096];
	char expected[4096];

	path_of("home/user/.ssh/deep", path);
	path_of("home/user/.ssh", expected);
	cr_expect_str_eq(ask_path(path).path, expected);
}

Test(protected, without_homes_only_the_system_counts)
{
	struct mounts mounts;
	const int fd = open(home, O_PATH | O_CLOEXEC);

	cr_assert_eq(mounts_read(&mounts), 0);
	cr_expect_eq(protected_check(fd, home, &mounts, &set).verdict, PROTECTED_FREE);
	mounts_done(&mounts);
	(void)close(fd);
}

Test(protected, what_the_operator_adds)
{
	static char room[512];
	static const char *const names[] = { "mnt", "home/user/project/netrc", "missing/deep",
					     NULL };

	set.protect_size = make_list(room, names);
	set.protect = room;
	cr_expect_eq(ask("mnt"), PROTECTED_IS);
	cr_expect_eq(ask("mnt/a"), PROTECTED_INSIDE);
	cr_expect_eq(ask("home/user/project"), PROTECTED_CONTAINS);
	cr_expect_eq(ask("home/user/tokenizer"), PROTECTED_FREE);
	cr_expect_eq(ask("home-evil"), PROTECTED_FREE);
	make_folder("missing");
	cr_expect_eq(ask("missing"), PROTECTED_CONTAINS, "it would hold `deep`");
}

static void use_workspaces(const char *const names[])
{
	static char room[512];

	set.workspaces_size = make_list(room, names);
	set.workspaces = room;
}

Test(protected, only_what_lies_in_a_workspace)
{
	static const char *const names[] = { "home/user/project", "mnt", "missing", NULL };

	use_workspaces(names);
	make_folder("mnt-evil");
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/project/netrc"), PROTECTED_FREE, "a file");
	cr_expect_eq(ask("mnt/a"), PROTECTED_FREE);
	cr_expect_eq(ask("mnt-evil"), PROTECTED_OUTSIDE, "compared by what it is");
	cr_expect_eq(ask("home/user/tokenizer"), PROTECTED_OUTSIDE);
	cr_expect_eq(ask("home-evil"), PROTECTED_OUTSIDE);
	cr_expect_eq(ask_path("/usr/share").verdict, PROTECTED_OUTSIDE);
	cr_expect_eq(ask("home/user/.ssh"), PROTECTED_IS, "what is protected stays that");
}

Test(protected, a_workspace_does_not_make_free_what_is_protected)
{
	static const char *const names[] = { "home", NULL };

	use_workspaces(names);
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/.ssh/deep"), PROTECTED_INSIDE);
	cr_expect_eq(ask("home"), PROTECTED_CONTAINS);
}

Test(protected, a_workspace_may_be_named_by_a_link)
{
	static const char *const names[] = { "projects", NULL };

	make_link("home/user/project", "projects");
	use_workspaces(names);
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE);
	cr_expect_eq(ask("projects"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/tokenizer"), PROTECTED_OUTSIDE);
}

Test(protected, no_workspace_that_exists_leaves_nothing)
{
	static const char *const names[] = { "missing", NULL };

	use_workspaces(names);
	cr_expect_eq(ask("home/user/project"), PROTECTED_OUTSIDE);
}

static bool bind_folder(const char *from, const char *to)
{
	char source[4096];
	char target[4096];

	path_of(from, source);
	path_of(to, target);
	return mount(source, target, NULL, MS_BIND, NULL) == 0;
}

/* Bind `from` over `to` in a child with a mount namespace and ask it about `name`. */
static void expect_with_bind(const char *from, const char *to, const char *name,
			     enum protected_verdict expected)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0) {
		const bool may =
			unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0;

		if (!may || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    !bind_folder(from, to))
			_exit(100);
		_exit((int)ask(name));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 100)
		cr_skip("no bind mounts here");
	cr_expect_eq(WEXITSTATUS(status), (int)expected, "%s with %s at %s: %d", name, from, to,
		     WEXITSTATUS(status));
}

Test(protected, a_bind_of_it)
{
	expect_with_bind("home/user/.ssh", "mnt/a", "mnt/a", PROTECTED_IS);
}

Test(protected, a_bind_of_what_is_inside)
{
	expect_with_bind("home/user/.ssh/deep", "mnt/a", "mnt/a", PROTECTED_INSIDE);
}

Test(protected, a_bind_of_what_contains_it)
{
	expect_with_bind("home", "mnt/a", "mnt/a", PROTECTED_CONTAINS);
}

Test(protected, inside_a_bind_of_what_contains_it)
{
	expect_with_bind("home", "mnt/a", "mnt/a/user/.ssh/deep", PROTECTED_INSIDE);
	expect_with_bind("home", "mnt/a", "mnt/a/user/project", PROTECTED_FREE);
}

Test(protected, where_a_protected_folder_is_mounted_from)
{
	/* .ssh shows vault/keys: whoever sees vault sees the keys. */
	expect_with_bind("vault/keys", "home/user/.ssh", "vault", PROTECTED_CONTAINS);
	expect_with_bind("vault/keys", "home/user/.ssh", "vault/keys", PROTECTED_IS);
}

Test(protected, a_mount_in_a_workspace_does_not_widen_it)
{
	static const char *const names[] = { "mnt", NULL };

	use_workspaces(names);
	expect_with_bind("home/user/tokenizer", "mnt/a", "mnt/a", PROTECTED_FREE);
	expect_with_bind("home/user/tokenizer", "mnt/a", "home/user/tokenizer", PROTECTED_OUTSIDE);
}
