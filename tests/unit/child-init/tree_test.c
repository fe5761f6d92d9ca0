/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in a tree, tried on an ordinary directory: nothing leads out of it.
 */
#include "tree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "support.h"

/* Beside the tree lies what must stay out of reach. */
static char folder[] = "/tmp/msp-tree-test-XXXXXX";
static int outside;
static int root;
static struct tree_parent parent;

static void make_tree(void)
{
	(void)umask(022);
	cr_assert_not_null(mkdtemp(folder));
	outside = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(mkdirat(outside, "root", 0755), 0);
	cr_assert_eq(mkdirat(outside, "secret", 0755), 0);
	root = openat(outside, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(root, 0);
	parent = TREE_PARENT(root);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	return remove(path);
}

static void remove_tree(void)
{
	(void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tree, .init = make_tree, .fini = remove_tree);

/* The mode of what is there, 0 when nothing is. */
static mode_t mode_of(int dir, const char *path)
{
	struct stat status;

	return fstatat(dir, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode : 0;
}

static void expect_error(int result, int error, const char *path)
{
	cr_assert_eq(result, error, "%s: %d", path, result);
}

static int make_directory(const char *path)
{
	const char *name;
	const int at = tree_parent(&parent, path, &name);

	if (at < 0)
		return at;
	return mkdirat(at, name, 0755) == 0 ? 0 : -errno;
}

/* Does the path lead to this directory? */
static void expect_leads_to(const char *path, int dir, const char *name)
{
	struct stat found;
	struct stat meant;
	int fd = tree_open(root, path, O_PATH);

	cr_assert_geq(fd, 0, "%s: %d", path, fd);
	cr_assert_eq(fstat(fd, &found), 0);
	cr_assert_eq(fstatat(dir, name, &meant, 0), 0);
	cr_assert_eq(found.st_ino, meant.st_ino, "%s", path);
	cr_assert_eq(found.st_dev, meant.st_dev, "%s", path);
	fd_close(&fd);
}

Test(tree, paths_start_at_the_root)
{
	cr_assert_eq(mkdirat(root, "a", 0755), 0);
	expect_leads_to("/a", root, "a");
	expect_leads_to("/", root, ".");
	expect_leads_to("/..", root, ".");
	expect_leads_to("/../../a", root, "a");
	expect_leads_to("/a/../..", root, ".");
	expect_error(tree_open(root, "/../secret", O_PATH), -ENOENT, "/../secret");
}

Test(tree, absolute_links_start_at_the_root)
{
	char target[sizeof(folder) + 16];

	(void)snprintf(target, sizeof(target), "%s/secret", folder);
	cr_assert_eq(symlinkat(target, root, "link"), 0);
	cr_assert_eq(mode_of(outside, "root/link/.") & S_IFMT, S_IFDIR, "control: it leads there");
	expect_error(tree_open(root, "/link", O_PATH), -ENOENT, "/link");
	cr_assert_eq(symlinkat("/a", root, "inside"), 0);
	cr_assert_eq(mkdirat(root, "a", 0755), 0);
	expect_leads_to("/inside", root, "a");
}

Test(tree, relative_links_end_at_the_root)
{
	cr_assert_eq(symlinkat("../secret", root, "link"), 0);
	cr_assert_eq(mode_of(outside, "root/link/.") & S_IFMT, S_IFDIR, "control: it leads there");
	expect_error(tree_open(root, "/link", O_PATH), -ENOENT, "/link");
	cr_assert_eq(mkdirat(root, "secret", 0755), 0);
	expect_leads_to("/link", root, "secret");
}

Test(tree, magic_links_lead_nowhere)
{
	int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = tree_open(host, "/proc/self/status", O_PATH);

	cr_assert_geq(fd, 0, "control");
	fd_close(&fd);
	expect_error(tree_open(host, "/proc/self/root/etc", O_PATH), -ELOOP, "root");
	expect_error(tree_open(host, "/proc/self/cwd", O_PATH), -ELOOP, "cwd");
	expect_error(tree_open(host, "/proc/self/fd/0", O_PATH), -ELOOP, "fd");
	fd_close(&host);
}

Test(tree, what_is_not_there_is_an_error)
{
	cr_assert_eq(mknodat(root, "file", S_IFREG | 0644, 0), 0);
	expect_error(tree_open(root, "/a", O_PATH), -ENOENT, "/a");
	expect_error(tree_open(root, "/file/a", O_PATH), -ENOTDIR, "/file/a");
	expect_error(tree_open(-1, "/a", O_PATH), -EBADF, "no root");
	expect_error(make_directory("/file/a/b"), -ENOTDIR, "/file/a/b");
}

Test(tree, missing_parents_are_made)
{
	const char path[] = "/a/b/c/name";
	const char *name = NULL;
	const int made_in = tree_parent(&parent, path, &name);
	struct stat found;
	struct stat meant;

	cr_assert_geq(made_in, 0);
	cr_assert_eq(name, path + strlen("/a/b/c/"));
	cr_assert_eq(mode_of(root, "a"), S_IFDIR | 0755);
	cr_assert_eq(mode_of(root, "a/b"), S_IFDIR | 0755);
	cr_assert_eq(mode_of(root, "a/b/c"), S_IFDIR | 0755);
	cr_assert_eq(mode_of(root, "a/b/c/name"), 0, "the last is not");
	cr_assert_eq(fstat(made_in, &found), 0);
	cr_assert_eq(fstatat(root, "a/b/c", &meant, 0), 0);
	cr_assert_eq(found.st_ino, meant.st_ino);
}

Test(tree, a_parent_is_kept_for_its_neighbours_alone)
{
	const char *name;
	const int first = tree_parent(&parent, "/a/one", &name);

	cr_assert_geq(first, 0);
	cr_assert_eq(renameat(root, "a", root, "moved"), 0);
	cr_assert_eq(make_directory("/a/two"), 0);
	cr_assert_eq(mode_of(root, "moved/two"), S_IFDIR | 0755, "it was not looked for again");
	cr_assert_eq(make_directory("/ab/one"), 0);
	cr_assert_eq(mode_of(root, "ab/one"), S_IFDIR | 0755, "another name that begins alike");
	cr_assert_eq(make_directory("/a/three"), 0);
	cr_assert_eq(mode_of(root, "a/three"), S_IFDIR | 0755, "after another it is");
	cr_assert_eq(renameat(root, "a", root, "gone"), 0);
	fd_close(&parent.fd);
	cr_assert_eq(make_directory("/a/four"), 0);
	cr_assert_eq(mode_of(root, "a/four"), S_IFDIR | 0755, "and when it was left");
}

Test(tree, a_path_without_a_name_is_refused)
{
	static const char *const bad[] = { "",   "name", "/",     "/a/",   "//",
					   "/.", "/..",  "/a/..", "/a/b/." };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *name;

		expect_error(tree_parent(&parent, bad[i], &name), -EINVAL, bad[i]);
	}
	cr_assert_eq(mode_of(root, "a"), 0, "nothing was made");
}

Test(tree, names_that_only_look_special_are_names)
{
	cr_assert_eq(make_directory("/..."), 0);
	cr_assert_eq(make_directory("/..a"), 0);
	cr_assert_eq(make_directory("/a.."), 0);
	cr_assert_eq(mode_of(root, "..."), S_IFDIR | 0755);
	cr_assert_eq(mode_of(root, "a.."), S_IFDIR | 0755);
}

Test(tree, a_path_that_is_too_long_is_refused)
{
	static char path[IPC_PATH_MAX + 3];
	const char *name;

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 2] = 'n';
	expect_error(tree_parent(&parent, path, &name), -EINVAL, "4097 before the name");
	cr_assert_eq(name = path + 2, path + 2);
	cr_assert_geq(tree_parent(&parent, path + 2, &name), 0, "4095");
}

Test(tree, nothing_is_made_through_a_link_that_leads_out)
{
	cr_assert_eq(symlinkat("../secret", root, "link"), 0);
	expect_error(make_directory("/link/made"), -ENOENT, "directory");
	cr_assert_eq(mode_of(outside, "secret/made"), 0);
	cr_assert_eq(mkdirat(root, "secret", 0755), 0);
	cr_assert_eq(make_directory("/link/made"), 0);
	cr_assert_eq(mode_of(root, "secret/made"), S_IFDIR | 0755);
	cr_assert_eq(mode_of(outside, "secret/made"), 0);
}

Test(tree, nothing_is_left_open)
{
	const size_t before = fd_count_open();
	const char *name;

	cr_assert_eq(make_directory("/a/b/c/d"), 0);
	(void)tree_parent(&parent, "/a/", &name);
	(void)tree_open(root, "/missing", O_PATH);
	fd_close(&parent.fd);
	cr_assert_eq(fd_count_open(), before);
}
