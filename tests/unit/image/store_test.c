/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding images in a store made by hand, and each kind of damage.
 */
#include "image/store.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE "abcd000000000000000000000000000000000000000000000000000000000001"
#define TWO "abce000000000000000000000000000000000000000000000000000000000002"
#define LAYER "11110000000000000000000000000000000000000000000000000000000000ff"

static char folder[] = "/tmp/msp-test-XXXXXX";
static int store = -1;
static struct image image;
static char text[IMAGE_TEXT_MAX];

static void write_file(const char *path, const void *bytes, size_t size)
{
	const int fd = openat(store, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	(void)close(fd);
}

static void write_name(const char *file, const char *digest)
{
	char path[512], line[IMAGE_DIGEST_MAX + 1];

	(void)snprintf(path, sizeof(path), "names/%s", file);
	(void)snprintf(line, sizeof(line), "%s\n", digest);
	write_file(path, line, strlen(line));
}

static void write_image(const char *digest, const char *cwd)
{
	static uint8_t bytes[IMAGE_MANIFEST_MAX];
	static struct image made;
	char path[512];

	memset(&made, 0, sizeof(made));
	made.cwd = image_add_text(&made, cwd, strlen(cwd));
	made.layer_count = 1;
	memcpy(made.layers[0].diff_id, LAYER, sizeof(LAYER));
	(void)snprintf(path, sizeof(path), "manifests/%s", digest);
	write_file(path, bytes, image_manifest_write(&made, bytes));
}

static void make_store(void)
{
	cr_assert_not_null(mkdtemp(folder));
	store = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(store, 0);
	cr_assert_eq(mkdirat(store, "layers", 0700), 0);
	cr_assert_eq(mkdirat(store, "layers/" LAYER, 0700), 0);
	cr_assert_eq(mkdirat(store, "manifests", 0700), 0);
	cr_assert_eq(mkdirat(store, "names", 0700), 0);
	write_image(ONE, "/one");
	write_image(TWO, "/two");
	write_name("python:3.12", ONE);
	write_name("localhost%my%app:latest", TWO);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	return remove(path);
}

static void remove_store(void)
{
	(void)close(store);
	(void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(store, .init = make_store, .fini = remove_store);

Test(store, found)
{
	static const struct {
		const char *wanted;
		const char *digest;
	} cases[] = {
		{ "python:3.12", ONE },
		{ "docker.io/library/python:3.12", ONE },
		{ "localhost/my/app", TWO },
		{ "my/app", TWO },
		{ "my/app:latest", TWO },
		{ ONE, ONE },
		{ "sha256:" TWO, TWO },
		{ "sha256:abcd", ONE },
		{ "abce", TWO },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[IMAGE_LAYER_PATH_MAX];

		cr_expect_eq(image_find(store, cases[i].wanted, &image, text), 0, "%s: %s",
			     cases[i].wanted, text);
		cr_expect_str_eq(image.digest, cases[i].digest);
		cr_expect_str_eq(image.cwd, image.digest[3] == 'd' ? "/one" : "/two");
		image_layer_path(&image.layers[0], path);
		cr_expect_str_eq(path, "layers/" LAYER);
	}
}

Test(store, not_found)
{
	static const struct {
		const char *wanted;
		int error;
		const char *said;
	} cases[] = {
		{ "python", -ENOENT, "there is no image 'python' here" },
		{ "app", -ENOENT, "'msp image list'" },
		{ "sha256:ffff", -ENOENT, "no image" },
		{ "ffff", -ENOENT, "no image" },
		{ "abc", -ENOENT, "no image" }, /* too short for a digest */
		{ "sha256:abc", -EINVAL, "4 to 64" },
		{ "sha256:", -EINVAL, "4 to 64" },
		{ "sha256:" ONE "0", -EINVAL, "4 to 64" },
		{ "sha256:abcx", -EINVAL, "4 to 64" },
		{ "../names/x", -EINVAL, "must be" },
		{ "", -EINVAL, "must be" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(image_find(store, cases[i].wanted, &image, text), cases[i].error, "%s",
			     cases[i].wanted);
		cr_expect_not_null(strstr(text, cases[i].said), "%s: %s", cases[i].wanted, text);
	}
}

Test(store, ambiguous)
{
	write_image("abcd000000000000000000000000000000000000000000000000000000000009", "/x");
	cr_expect_eq(image_find(store, "abcd", &image, text), -ENOTUNIQ);
	cr_expect_not_null(strstr(text, "more digits"));
	cr_expect_eq(image_find(store, ONE, &image, text), 0, "a whole digest is never ambiguous");
}

Test(store, name_goes_before_digest)
{
	write_name("abcd:latest", TWO);
	cr_assert_eq(image_find(store, "abcd", &image, text), 0);
	cr_expect_str_eq(image.digest, TWO);
	cr_assert_eq(image_find(store, "sha256:abcd", &image, text), 0);
	cr_expect_str_eq(image.digest, ONE);
}

Test(store, damaged)
{
	write_file("names/bad:1", "rubbish", 7);
	cr_expect_eq(image_find(store, "bad:1", &image, text), -EBADMSG);
	write_name("gone:1", LAYER);
	cr_expect_eq(image_find(store, "gone:1", &image, text), -EBADMSG);
	cr_expect_not_null(strstr(text, "damaged"));
	write_file("manifests/" TWO, "rubbish", 7);
	cr_expect_eq(image_find(store, "my/app", &image, text), -EBADMSG);
	cr_expect_eq(image_find(store, "python:3.12", &image, text), 0);
	cr_assert_eq(unlinkat(store, "layers/" LAYER, AT_REMOVEDIR), 0);
	cr_expect_eq(image_find(store, "python:3.12", &image, text), -EBADMSG);
	cr_assert_eq(symlinkat("/", store, "layers/" LAYER), 0);
	cr_expect_eq(image_find(store, "python:3.12", &image, text), -EBADMSG, "a link");
}

Test(store, links_and_pipes_are_no_files)
{
	cr_assert_eq(symlinkat("python:3.12", store, "names/link:1"), 0);
	cr_expect_eq(image_find(store, "link:1", &image, text), -ELOOP);
	cr_assert_eq(mkfifoat(store, "names/pipe:1", 0600), 0);
	cr_expect_eq(image_find(store, "pipe:1", &image, text), -EBADMSG, "and it does not wait");
}

Test(store, empty)
{
	remove_store();
	cr_assert_eq(mkdir(folder, 0700), 0);
	store = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_expect_eq(image_find(store, "python:3.12", &image, text), -ENOENT);
	cr_expect_eq(image_find(store, "sha256:abcd", &image, text), -ENOENT);
}

static int count_entry(void *context, const struct image_entry *entry)
{
	++*(int *)context;
	return strcmp(entry->name, "stop:1") == 0 ? 7 : 0;
}

Test(store, each)
{
	int count = 0;

	write_file("names/.hidden", "x", 1);
	write_file("names/bad:1", "x", 1);
	write_file("manifests/x.tmp", "x", 1);
	cr_expect_eq(image_each_name(store, count_entry, &count), 0);
	cr_expect_eq(count, 2);
	count = 0;
	cr_expect_eq(image_each_digest(store, count_entry, &count), 0);
	cr_expect_eq(count, 2);
	write_name("stop:1", ONE);
	cr_expect_eq(image_each_name(store, count_entry, &count), 7);
}

Test(store, held)
{
	int other = openat(store, "manifests/" ONE, O_RDONLY | O_CLOEXEC);
	int held = image_hold(store, ONE);

	cr_assert_geq(held, 0);
	cr_expect_eq(flock(other, LOCK_EX | LOCK_NB), -1);
	(void)close(held);
	cr_expect_eq(flock(other, LOCK_EX | LOCK_NB), 0);
	cr_expect_eq(image_hold(store, ONE), -EWOULDBLOCK, "while it is removed");
	(void)close(other);
	cr_expect_eq(image_hold(store, LAYER), -ENOENT);
}
