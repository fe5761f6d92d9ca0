/* SPDX-License-Identifier: Apache-2.0
 *
 * Two layers as one archive: its entries in order, what hides what, the same bytes twice, and the
 * marks of overlayfs that are refused.
 */
#include "image/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "image/refuse.h"
#include "layers/base/remove.h"

#define MOST (1U << 20)
#define UPPER 0
#define LOWER 1

static char folder[] = "/tmp/msp-pack-XXXXXX";
static int top = -1;
static char *no_paths[] = { NULL };
static struct pack_source source = { .count = 2, .left_out = no_paths };

static void set_up(void)
{
	static const char *const names[] = { "upper", "lower" };

	cr_assert_not_null(mkdtemp(folder));
	top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < 2; i++) {
		cr_assert_eq(mkdirat(top, names[i], 0700), 0);
		source.layers[i] = openat(top, names[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
}

static void tear_down(void)
{
	int above = openat(top, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_expect_eq(remove_tree(above, folder + strlen("/tmp/")), 0);
	fd_close(&above);
	fd_close(&source.layers[UPPER]);
	fd_close(&source.layers[LOWER]);
	fd_close(&top);
}

TestSuite(pack, .init = set_up, .fini = tear_down);

static void put_file(int layer, const char *path)
{
	int fd = openat(source.layers[layer], path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);

	cr_assert_eq(write(fd, path, strlen(path)), (ssize_t)strlen(path));
	fd_close(&fd);
}

static void put_directory(int layer, const char *path, const char *attribute, const char *value)
{
	int fd;

	cr_assert_eq(mkdirat(source.layers[layer], path, 0750), 0);
	fd = openat(source.layers[layer], path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (attribute && fsetxattr(fd, attribute, value, strlen(value), 0) != 0) {
		cr_assert_eq(errno, EOPNOTSUPP);
		cr_skip_test("the file system keeps no attributes of users");
	}
	fd_close(&fd);
}

static int pack(uint64_t most, char digest[IMAGE_DIGEST_MAX])
{
	uint64_t entries;
	int to = openat(top, "archive", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const int result = pack_layers(&source, to, most, digest, &entries);

	fd_close(&to);
	return result;
}

/* List the archive: "NAME:SIZE " of each entry, a link as "NAME=FIRST ". */
static void list(char *ret, size_t room)
{
	int fd = openat(top, "archive", O_RDONLY | O_CLOEXEC);
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	size_t used = 0;

	ret[0] = '\0';
	cr_assert_eq(archive_read_support_format_tar(archive), ARCHIVE_OK);
	cr_assert_eq(archive_read_open_fd(archive, fd, 4096), ARCHIVE_OK);
	while (archive_read_next_header(archive, &entry) == ARCHIVE_OK) {
		const char *link = archive_entry_hardlink(entry);

		cr_expect_eq(archive_entry_uid(entry), 0);
		cr_expect_eq(archive_entry_mtime_nsec(entry), 0);
		used += (size_t)snprintf(ret + used, room - used, link ? "%s=%s " : "%s ",
					 archive_entry_pathname(entry), link);
		cr_assert_lt(used, room);
	}
	cr_expect_eq(archive_read_free(archive), ARCHIVE_OK);
	fd_close(&fd);
}

Test(pack, what_the_layers_show_together)
{
	char first[IMAGE_DIGEST_MAX], second[IMAGE_DIGEST_MAX], listed[512];

	put_file(LOWER, "b");
	put_file(LOWER, "gone");
	put_directory(LOWER, "dir", NULL, NULL);
	put_file(LOWER, "dir/lower");
	put_directory(LOWER, "over", NULL, NULL);
	put_file(LOWER, "over/hidden");
	put_file(LOWER, "was-file");
	put_directory(UPPER, "dir", NULL, NULL);
	put_file(UPPER, "dir/upper");
	put_directory(UPPER, "over", "user.overlay.opaque", "y");
	put_directory(UPPER, "was-file", NULL, NULL);
	put_file(UPPER, "a");
	cr_assert_eq(linkat(source.layers[UPPER], "a", source.layers[UPPER], "z", 0), 0);
	cr_assert_eq(mknodat(source.layers[UPPER], "gone", S_IFCHR, 0), 0);
	cr_assert_eq(mknodat(source.layers[UPPER], "fifo", S_IFIFO | 0600, 0), 0);
	cr_assert_eq(pack(MOST, first), 0, "%s", report.text);
	cr_expect_eq(report.special_files, 1);
	list(listed, sizeof(listed));
	cr_expect_str_eq(listed, "a b dir/ dir/lower dir/upper .wh.fifo .wh.gone over/ "
				 "over/.wh..wh..opq was-file/ was-file/.wh..wh..opq z=a ");
	cr_assert_eq(pack(MOST, second), 0);
	cr_expect_str_eq(first, second);
}

Test(pack, attributes_are_counted)
{
	char digest[IMAGE_DIGEST_MAX];
	int fd;

	put_directory(LOWER, "both", "user.lower", "x");
	put_directory(UPPER, "both", NULL, NULL);
	put_directory(LOWER, "over", NULL, NULL);
	put_directory(UPPER, "over", "user.overlay.opaque", "y");
	put_file(UPPER, "plain");
	cr_assert_eq(pack(MOST, digest), 0, "%s", report.text);
	cr_expect_eq(report.attributes, 0, "hidden, and overlayfs' own: %llu",
		     (unsigned long long)report.attributes);
	put_directory(UPPER, "mine", "user.mine", "x");
	put_file(UPPER, "file");
	fd = openat(source.layers[UPPER], "file", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(fsetxattr(fd, "user.overlay.origin", "x", 1, 0), 0);
	cr_assert_eq(fsetxattr(fd, "user.mine", "x", 1, 0), 0);
	cr_assert_eq(fsetxattr(fd, "user.other", "x", 1, 0), 0);
	fd_close(&fd);
	cr_assert_eq(pack(MOST, digest), 0, "%s", report.text);
	cr_expect_eq(report.attributes, 2, "of a directory and a file: %llu",
		     (unsigned long long)report.attributes);
}

Test(pack, what_is_left_out)
{
	char *paths[] = { (char[]){ "dir/no" }, (char[]){ "no" }, NULL };
	char digest[IMAGE_DIGEST_MAX], listed[512];

	put_directory(UPPER, "dir", NULL, NULL);
	put_file(UPPER, "dir/no");
	put_file(UPPER, "dir/yes");
	put_directory(LOWER, "no", NULL, NULL);
	put_file(LOWER, "no/below");
	put_file(LOWER, "nose");
	source.left_out = paths;
	cr_assert_eq(pack(MOST, digest), 0, "%s", report.text);
	list(listed, sizeof(listed));
	cr_expect_str_eq(listed, "dir/ dir/yes nose ");
}

Test(pack, a_limit)
{
	char digest[IMAGE_DIGEST_MAX];

	put_file(UPPER, "a");
	cr_expect_eq(pack(512, digest), -1);
	cr_expect_not_null(strstr(report.text, "images.disk"), "%s", report.text);
}

static void refuses(const char *text)
{
	char digest[IMAGE_DIGEST_MAX];

	cr_expect_eq(pack(MOST, digest), -1);
	cr_expect_not_null(strstr(report.text, text), "%s", report.text);
}

Test(pack, a_whiteouts_name)
{
	put_directory(UPPER, "dir", NULL, NULL);
	put_file(UPPER, "dir/.wh.name");
	refuses("'dir/.wh.name': no name can begin with .wh.");
}

Test(pack, a_redirected_directory)
{
	put_directory(UPPER, "dir", "user.overlay.redirect", "/etc");
	refuses("'dir': it has the attribute user.overlay.redirect");
}

Test(pack, an_opaque_mark_of_another_value)
{
	put_directory(UPPER, "dir", "user.overlay.opaque", "x");
	refuses("'dir': its attribute user.overlay.opaque must be y");
}
