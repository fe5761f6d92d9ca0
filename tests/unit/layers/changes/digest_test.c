/* SPDX-License-Identifier: Apache-2.0
 *
 * What a preview says of all it found, and that an apply takes it at its word.
 */
#include "layers/changes/digest.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "layers/base/base.h"
#include "layers/base/files.h"
#include "rig.h"

static struct rig rig;
static uint8_t found[IPC_DIGEST_BYTES];
static char before[RIG_TEXT_MAX];

static void preview(uint32_t flags, const char *chosen)
{
	memset(&rig.ask, 0, sizeof(rig.ask));
	rig.ask.flags = flags;
	cr_assert_eq(rig_do(&rig, job_preview, chosen), 0);
	memcpy(found, rig.job.done.digest, sizeof(found));
	cr_assert_not(files_is_zero(found, IPC_DIGEST_BYTES));
}

/* An apply of what the last preview found. */
static int apply(const char *chosen)
{
	memset(&rig.ask, 0, sizeof(rig.ask));
	memcpy(rig.ask.expected, found, sizeof(found));
	return rig_do(&rig, job_apply, chosen);
}

static void expect_refused(const char *chosen)
{
	(void)stpcpy(before, rig_show(&rig, HOST));
	cr_assert_eq(apply(chosen), -ESTALE);
	cr_assert_eq(rig.job.done.error, ESTALE);
	cr_assert_eq(rig.job.done.step, CHANGES_STEP_CONFIRMED);
	cr_assert_eq(rig.job.done.applied, 0);
	cr_assert_str_eq(rig.told, "");
	cr_assert_str_eq(rig_show(&rig, HOST), before);
	cr_assert_str_eq(rig_show(&rig, JOURNAL), "");
}

static void begin(void)
{
	rig_begin(&rig, 1);
	rig_fill(&rig);
	cr_assert_eq(base_note(&rig.scene.directories, UINT64_MAX), 0);
}

Test(digest, what_was_previewed_is_applied)
{
	begin();
	preview(0, NULL);
	cr_assert_eq(apply(NULL), 0, "%s", strerror((int)rig.job.done.error));
	cr_assert_eq(rig.job.done.applied, rig.job.done.total);
	cr_assert_gt(rig.job.done.applied, 0);
	rig_end(&rig);
}

/* Pages, texts and what is held show more or less of the same. */
Test(digest, is_of_all_changes_however_they_are_shown)
{
	uint8_t first[IPC_DIGEST_BYTES];

	begin();
	preview(0, NULL);
	memcpy(first, found, sizeof(first));
	preview(CHANGES_HELD_TOO | CHANGES_TEXT_HELD, NULL);
	cr_assert_arr_eq(first, found, sizeof(first));
	memset(&rig.ask, 0, sizeof(rig.ask));
	rig.ask.skip = 2;
	rig.ask.most = 1;
	cr_assert_eq(rig_do(&rig, job_preview, NULL), 0);
	cr_assert_arr_eq(first, rig.job.done.digest, sizeof(first));
	preview(0, "a");
	cr_assert_arr_neq(first, found, sizeof(first));
	cr_assert_eq(apply("a"), 0);
	memset(&rig.ask, 0, sizeof(rig.ask));
	cr_assert_eq(rig_do(&rig, job_diff, NULL), 0);
	cr_assert(files_is_zero(rig.job.done.digest, IPC_DIGEST_BYTES));
	rig_end(&rig);
}

static void other_content(void)
{
	put_file(UPPER, "a/new", "neu");
	put_mode(UPPER, "a/new", 0755);
}

static void other_mode(void)
{
	put_mode(UPPER, "a/new", 0644);
}

static void other_link(void)
{
	cr_assert_eq(unlinkat(UPPER, "link-new", 0), 0);
	put_link(UPPER, "link-new", "elsewhere");
}

static void one_more(void)
{
	put_file(UPPER, "a/one-more", "");
}

static void one_less(void)
{
	cr_assert_eq(unlinkat(UPPER, "a/new", 0), 0);
}

static void a_conflict(void)
{
	put_file(HOST, "a/changed", "by the host");
}

Test(digest, other_changes_are_not_applied)
{
	static void (*const acts[])(void) = { other_content, other_mode, other_link,
					      one_more,      one_less,   a_conflict };

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		begin();
		preview(0, NULL);
		acts[i]();
		expect_refused(NULL);
		rig_end(&rig);
	}
}

Test(digest, other_paths_are_not_applied)
{
	begin();
	preview(0, "a");
	expect_refused("link-new");
	expect_refused(NULL);
	rig_end(&rig);
}

/* What the host has, where it is to be written over in spite of a conflict. */
Test(digest, of_a_conflict_it_is_both_sides)
{
	begin();
	put_file(HOST, "a/changed", "by the host");
	preview(0, NULL);
	put_file(HOST, "a/changed", "by thE host");
	expect_refused(NULL);
	preview(0, NULL);
	rig.ask.conflict = CONFLICT_SANDBOX;
	memcpy(rig.ask.expected, found, sizeof(found));
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	rig_end(&rig);
}

/* Bytes far behind the end of what anybody shows, and nothing in between that would take time. */
Test(digest, large_files_count_to_their_end)
{
	const off_t last = (off_t)64 << 30;
	int file;

	begin();
	put_file(UPPER, "large", "x");
	file = openat(UPPER, "large", O_WRONLY | O_CLOEXEC);
	if (pwrite(file, "a", 1, last) != 1)
		cr_skip_test("no sparse files of this size here: %m");
	preview(0, "large");
	cr_assert_eq(pwrite(file, "b", 1, last), 1);
	expect_refused("large");
	cr_assert_eq(ftruncate(file, 1), 0);
	expect_refused("large");
	fd_close(&file);
	rig_end(&rig);
}

/* The same of memory and of a file, over blocks that are nothing but zeros. */
Test(digest, a_hash_is_one_however_it_is_made)
{
	static uint8_t bytes[(300 << 10) + 7];
	static const size_t sizes[] = { 0, 1, 128 << 10, (128 << 10) + 1, sizeof(bytes) };
	uint8_t hashes[2][SHA256_BYTES];

	rig_begin(&rig, 1);
	bytes[0] = bytes[sizeof(bytes) - 1] = 1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int file = openat(UPPER, "f", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		cr_assert_eq(fd_write_all(file, bytes, sizes[i]), 0);
		cr_assert_eq(files_copy(file, -1, hashes[0]), 0);
		files_hash(bytes, sizes[i], hashes[1]);
		cr_assert_arr_eq(hashes[0], hashes[1], SHA256_BYTES, "%zu", sizes[i]);
		fd_close(&file);
	}
	rig_end(&rig);
}
