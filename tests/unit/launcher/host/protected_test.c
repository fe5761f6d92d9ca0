/* SPDX-License-Identifier: Apache-2.0
 *
 * What is protected, by whatever name; the bind mounts are made in a user namespace of a child.
 */
#include "protected_support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(protected, .init = protected_begin, .fini = protected_end);

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
	cr_expect_eq(ask("home/user/project"), PROTECTED_FREE);
	cr_expect_eq(ask("home/user/project/.ssh"), PROTECTED_FREE, "not the home's");
	cr_expect_eq(ask("home/user/project/netrc"), PROTECTED_FREE);
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
	make_folder("home/user/.local");
	cr_expect_eq(ask("home/user/.local"), PROTECTED_CONTAINS, "it would hold share/keyrings");
	make_folder("home/user/go");
	cr_expect_eq(ask("home/user/go"), PROTECTED_CONTAINS, "it would hold bin");
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
	cr_expect_neq(ask_path("/tmp").verdict, PROTECTED_FREE);
	cr_expect_eq(ask_path("/var/tmp").verdict, PROTECTED_IS);
	use = PROTECTED_READ;
	cr_expect_eq(ask_path("/etc/passwd").verdict, PROTECTED_FREE);
	cr_expect_eq(ask_path("/etc/shadow").verdict, PROTECTED_IS);
	cr_expect_neq(ask_path("/tmp").verdict, PROTECTED_FREE);
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
	cr_expect_eq(protected_check(fd, home, PROTECTED_WRITTEN, &mounts, &set).verdict,
		     PROTECTED_FREE);
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

Test(protected, where_a_hidden_folder_is_mounted_from)
{
	make_folder("outer");
	make_folder("outer/inner");
	expect_with_bind("outer/inner", "home/user/.sshfs", "outer", PROTECTED_CONTAINS);
	expect_with_bind("outer/inner", "home/user/.sshfs", "outer/inner", PROTECTED_IS);
	expect_with_bind("outer/inner", "home/user/project", "outer", PROTECTED_FREE);
	expect_with_bind("home/user/.sshfs", "mnt/a", "mnt/a", PROTECTED_IS);
	expect_with_bind("home/user/.config", "mnt/a", "mnt/a/editor", PROTECTED_INSIDE);
}

Test(protected, a_mount_in_a_workspace_does_not_widen_it)
{
	static const char *const names[] = { "mnt", NULL };

	use_workspaces(names);
	expect_with_bind("home/user/tokenizer", "mnt/a", "mnt/a", PROTECTED_FREE);
	expect_with_bind("home/user/tokenizer", "mnt/a", "home/user/tokenizer", PROTECTED_OUTSIDE);
}
