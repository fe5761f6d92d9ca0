/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/base.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/files.h"
#include "scene.h"

static struct scene scene;
#define HOST (scene.directories.host)
#define UPPER (scene.uppers[0])
#define LOWER (scene.uppers[1])

static uint64_t clock_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* What the host was given until now was there when the next execution begins. */
static uint64_t begin_execution(void)
{
	const struct timespec a_while = { .tv_nsec = 30000000 };

	(void)nanosleep(&a_while, NULL);
	return clock_us();
}

static int check_one(void *context, const struct difference *difference)
{
	static const char *const words[] = {
		[BASE_SAME] = "same", [BASE_CHANGED] = "changed", [BASE_UNTOUCHED] = "untouched"
	};
	struct scene *ret = context;
	char *text = ret->text + ret->text_size;

	ret->text_size += (size_t)snprintf(text, sizeof(ret->text) - ret->text_size, "%s %s\n",
					   difference->path,
					   words[base_check(&ret->directories, difference)]);
	return 0;
}

static const char *check_all(void)
{
	scene.text_size = 0;
	scene.text[0] = '\0';
	base_forget();
	cr_assert_eq(tree_compare(&scene.directories, check_one, &scene), 0);
	base_forget();
	return scene.text;
}

#define checks(expected) cr_assert_str_eq(check_all(), (expected))

/* One of each kind, changed by the sandbox. */
static void change_everything(void)
{
	put_file(HOST, "changed", "old");
	put_file(HOST, "gone", "gone");
	put_file(HOST, "folder/in", "in");
	put_link(HOST, "link", "here");
	scene.directories.since_count = 0;
}

static void change_in_sandbox(void)
{
	put_file(UPPER, "changed", "new");
	put_whiteout(UPPER, "gone");
	put_whiteout(UPPER, "folder");
	put_link(UPPER, "link", "there");
	put_file(UPPER, "new/file", "new");
}

Test(base, what_nobody_touched_is_the_same)
{
	uint64_t since;

	scene_begin(&scene, 1);
	change_everything();
	since = begin_execution();
	change_in_sandbox();
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("changed same\nfolder same\nfolder/in same\ngone same\nlink same\nnew same\n"
	       "new/file same\n");
	scene_end(&scene);
}

Test(base, what_the_host_changed_is_changed)
{
	uint64_t since;

	scene_begin(&scene, 1);
	change_everything();
	since = begin_execution();
	change_in_sandbox();
	cr_assert_eq(base_note(&scene.directories, since), 0);
	put_file(HOST, "changed", "own");
	put_file(HOST, "gone", "here");
	put_file(HOST, "folder/in", "it");
	put_file(HOST, "folder/late", "late");
	cr_assert_eq(unlinkat(HOST, "link", 0), 0);
	put_link(HOST, "link", "elsewhere");
	put_file(HOST, "new/file", "of the host");
	checks("changed changed\nfolder same\nfolder/in changed\nfolder/late changed\n"
	       "gone changed\nlink changed\nnew/file changed\n");
	scene_end(&scene);
}

Test(base, the_same_content_again_is_the_same)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "a", "old");
	since = begin_execution();
	put_file(UPPER, "a", "new");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	put_file(HOST, "a", "???");
	put_file(HOST, "a", "old");
	checks("a same\n");
	put_mode(HOST, "a", 0755);
	checks("a changed\n");
	scene_end(&scene);
}

Test(base, without_a_note_nobody_knows)
{
	scene_begin(&scene, 1);
	put_file(HOST, "a", "old");
	put_file(UPPER, "a", "new");
	put_file(UPPER, "b", "new");
	checks("a changed\nb same\n");
	scene_end(&scene);
}

Test(base, what_changed_during_the_execution_has_no_base)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "a", "old");
	since = begin_execution();
	put_file(UPPER, "a", "new");
	put_file(HOST, "a", "older");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("a changed\n");
	scene_end(&scene);
}

Test(base, the_first_note_counts)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "a", "first");
	since = begin_execution();
	put_file(UPPER, "a", "new");
	put_file(UPPER, "b", "new!");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	put_file(HOST, "a", "second");
	put_file(HOST, "b", "second");
	since = begin_execution();
	put_file(UPPER, "a", "newer");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("a changed\nb changed\n");
	scene_end(&scene);
}

Test(base, a_copy_without_a_change_is_noted)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "a", "first");
	since = begin_execution();
	put_file(UPPER, "a", "first");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	put_file(HOST, "a", "second");
	since = begin_execution();
	put_file(UPPER, "a", "first, and then more");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("a changed\n");
	scene_end(&scene);
}

Test(base, a_copy_of_what_the_host_no_longer_has)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "a", "host");
	since = begin_execution();
	put_file(UPPER, "a", "copied up, then the host deleted it");
	put_mark(UPPER, "a", "user.overlay.origin", "");
	cr_assert_eq(unlinkat(HOST, "a", 0), 0);
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("a changed\n");
	scene_end(&scene);
}

Test(base, a_copy_under_another_name)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "folder/a", "host");
	since = begin_execution();
	put_whiteout(UPPER, "folder/a");
	put_file(UPPER, "folder/b", "host, renamed");
	put_mark(UPPER, "folder/b", "user.overlay.origin", "");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("folder/a same\nfolder/b same\n");
	scene_end(&scene);
}

Test(base, lower_layers_know_best)
{
	struct job_directories lower;
	uint64_t since;

	scene_begin(&scene, 2);
	put_file(HOST, "a", "first");
	since = begin_execution();
	put_file(LOWER, "a", "new");
	lower = scene.directories;
	lower.layers[0] = scene.directories.layers[1];
	lower.layer_count = 1;
	cr_assert_eq(base_note(&lower, since), 0);
	put_file(HOST, "a", "second");
	since = begin_execution();
	put_file(UPPER, "a", "newer");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("a changed\n");
	put_file(HOST, "a", "first");
	checks("a same\n");
	scene_end(&scene);
}

Test(base, what_a_layer_without_a_note_shows_has_no_base)
{
	uint64_t since;

	scene_begin(&scene, 2);
	put_file(HOST, "a", "first");
	put_file(HOST, "b", "first");
	put_file(LOWER, "a", "low");
	put_whiteout(LOWER, "b");
	since = begin_execution();
	put_file(UPPER, "a", "high");
	put_file(UPPER, "b", "high");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("a changed\nb changed\n");
	scene_end(&scene);
}

/* An execution changes one file of the host's and removes another; when it began. */
static uint64_t begin_changes(void)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "a", "first");
	put_file(HOST, "gone", "x");
	since = begin_execution();
	put_file(UPPER, "a", "second");
	put_whiteout(UPPER, "gone");
	return since;
}

Test(base, an_apply_makes_a_new_one)
{
	const struct base_change changes[] = {
		{ .path = "a" }, { .path = "gone" }, { .path = "new/file" }, { .path = "new" }
	};
	const uint64_t since = begin_changes();

	put_file(UPPER, "new/file", "x2");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	put_file(HOST, "a", "second"); /* as an apply does */
	put_file(HOST, "new/file", "x2");
	cr_assert_eq(unlinkat(HOST, "gone", 0), 0);
	cr_assert_eq(base_renew(&scene.directories, changes, 4), 0);
	put_file(UPPER, "a", "third");
	put_file(UPPER, "new/file", "x3!");
	cr_assert_eq(base_note(&scene.directories, begin_execution()), 0);
	checks("a same\nnew/file same\n");
	put_file(HOST, "a", "of the host");
	put_file(HOST, "gone", "again"); /* the layer hides it */
	checks("a changed\ngone changed\nnew/file same\n");
	scene_end(&scene);
}

/* Another file takes the place of what is there, as an apply and an undo do. */
static void replace_file(int folder, const char *name, const char *text)
{
	put_file(folder, "beside", text);
	cr_assert_eq(renameat(folder, "beside", folder, name), 0);
}

Test(base, an_apply_that_was_killed_and_finished_is_undone)
{
	const struct base_change applied[] = { { .path = "a" }, { .path = "gone" } };
	struct journal_side made = { .mode = 0 }, none = { .mode = 0 };
	const struct base_change undone[] = { { .path = "a", .was = &made },
					      { .path = "gone", .was = &none } };
	const uint64_t since = begin_changes();
	struct stat status;

	cr_assert_eq(base_note(&scene.directories, since), 0);
	replace_file(HOST, "a", "second");
	cr_assert_eq(unlinkat(HOST, "gone", 0), 0);
	cr_assert_eq(base_renew(&scene.directories, applied, 2), 0);
	cr_assert_eq(base_renew(&scene.directories, applied, 2), 0); /* whoever recovers */
	cr_assert_eq(fstatat(HOST, "a", &status, 0), 0);
	files_side(&status, &made);
	replace_file(HOST, "a", "first");
	put_file(HOST, "gone", "x");
	cr_assert_eq(base_renew(&scene.directories, undone, 2), 0);
	checks("a same\ngone same\n");
	replace_file(HOST, "a", "theirs");
	checks("a changed\ngone same\n");
	scene_end(&scene);
}

Test(base, an_undo_that_was_killed_and_finished_of_a_file_with_the_same_number)
{
	const struct base_change applied = { .path = "a" };
	struct journal_side made = { .mode = 0 };
	const struct base_change undone = { .path = "a", .was = &made };
	const uint64_t since = begin_changes();
	struct stat before, status;

	cr_assert_eq(base_note(&scene.directories, since), 0);
	cr_assert_eq(fstatat(HOST, "a", &before, 0), 0);
	put_file(HOST, "a", "second");
	cr_assert_eq(base_renew(&scene.directories, &applied, 1), 0);
	cr_assert_eq(fstatat(HOST, "a", &status, 0), 0);
	cr_assert_eq(status.st_ino, before.st_ino);
	files_side(&status, &made);
	put_file(HOST, "a", "first");
	cr_assert_eq(base_renew(&scene.directories, &undone, 1), 0);
	cr_assert_eq(base_renew(&scene.directories, &undone, 1), 0); /* whoever recovers */
	checks("a same\ngone same\n");
	put_file(HOST, "a", "theirs");
	checks("a changed\ngone same\n");
	scene_end(&scene);
}

/* Make another file that has the number of the host's; false: this file system gives it to none. */
static bool replace_by_same_number(const char *name, const char *text)
{
	struct stat before, after = { .st_ino = 0 };

	cr_assert_eq(fstatat(HOST, name, &before, 0), 0);
	for (int i = 0; i < 100 && after.st_ino != before.st_ino; i++) {
		cr_assert_eq(unlinkat(HOST, name, 0), 0);
		put_file(HOST, name, text);
		cr_assert_eq(fstatat(HOST, name, &after, 0), 0);
	}
	return after.st_ino == before.st_ino;
}

Test(base, a_merged_file_that_another_one_replaces)
{
	const struct base_change merged = { .path = "a", .is_merged = true };
	const uint64_t since = begin_changes();

	cr_assert_eq(base_note(&scene.directories, since), 0);
	replace_file(HOST, "a", "merged");
	cr_assert_eq(base_renew(&scene.directories, &merged, 1), 0);
	checks("a untouched\ngone same\n");
	put_file(HOST, "a", "merged and edited in place");
	checks("a untouched\ngone same\n");
	if (!replace_by_same_number("a", "first"))
		cr_skip_test("no number of an inode comes again here");
	checks("a changed\ngone same\n");
	scene_end(&scene);
}

Test(base, a_renamed_file_has_two_names)
{
	uint64_t since;

	scene_begin(&scene, 1);
	put_file(HOST, "old", "content");
	since = begin_execution();
	put_whiteout(UPPER, "old");
	put_file(UPPER, "new", "content");
	cr_assert_eq(base_note(&scene.directories, since), 0);
	checks("new same\n");
	put_file(HOST, "old", "content!");
	checks("new same\nold changed\n");
	scene_end(&scene);
}

/* --- the file --- */

static int open_base(int flags)
{
	const int file = openat(scene.directories.layers[0], BASE_NAME, flags | O_CLOEXEC);

	cr_assert(file >= 0, "%m");
	return file;
}

static off_t note_two(void)
{
	off_t size;
	int file;

	put_file(HOST, "a", "first");
	put_file(HOST, "b", "first");
	put_file(UPPER, "a", "new");
	put_file(UPPER, "b", "new");
	cr_assert_eq(base_note(&scene.directories, begin_execution()), 0);
	checks("a same\nb same\n");
	file = open_base(O_RDONLY);
	size = lseek(file, 0, SEEK_END);
	fd_close(&file);
	return size;
}

Test(base, what_was_cut_off_is_written_over)
{
	int file;

	scene_begin(&scene, 1);
	(void)note_two();
	file = open_base(O_WRONLY | O_APPEND);
	cr_assert_eq(fd_write_all(file, "the beginning of a record", 25), 0);
	fd_close(&file);
	checks("a same\nb same\n");
	put_file(HOST, "c", "first");
	put_file(UPPER, "c", "new");
	cr_assert_eq(base_note(&scene.directories, begin_execution()), 0);
	checks("a same\nb same\nc same\n");
	scene_end(&scene);
}

/* The first write ends where a kill may end it: all records are there, the head is not. */
Test(base, what_has_no_head_yet_is_written_over)
{
	static const char nothing[16];
	int file;

	scene_begin(&scene, 1);
	(void)note_two();
	file = open_base(O_WRONLY);
	cr_assert_eq(pwrite(file, nothing, sizeof(nothing), 0), (ssize_t)sizeof(nothing));
	fd_close(&file);
	checks("a changed\nb changed\n");
	cr_assert_eq(base_note(&scene.directories, begin_execution()), 0);
	checks("a same\nb same\n");
	scene_end(&scene);
}

Test(base, a_damaged_one_is_believed_nothing)
{
	off_t size;

	scene_begin(&scene, 1);
	size = note_two();
	for (off_t at = 0; at < size; at += 7) {
		int file = open_base(O_RDWR);
		char byte;

		cr_assert_eq(pread(file, &byte, 1, at), 1);
		byte ^= 0x10;
		cr_assert_eq(pwrite(file, &byte, 1, at), 1);
		checks("a changed\nb changed\n");
		cr_assert(base_note(&scene.directories, begin_execution()) < 0);
		byte ^= 0x10;
		cr_assert_eq(pwrite(file, &byte, 1, at), 1);
		fd_close(&file);
	}
	checks("a same\nb same\n");
	scene_end(&scene);
}

Test(base, many_are_found)
{
	char name[32];

	scene_begin(&scene, 1);
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		put_file(HOST, name, "old");
		put_file(UPPER, name, "new");
	}
	cr_assert_eq(base_note(&scene.directories, begin_execution()), 0);
	put_file(HOST, "1234", "own");
	(void)check_all();
	cr_assert_not_null(strstr(scene.text, "\n1234 changed\n"));
	cr_assert_null(strstr(strstr(scene.text, "changed") + 1, "changed"));
	scene_end(&scene);
}
