/* SPDX-License-Identifier: Apache-2.0
 *
 * What of a sandbox's changes nobody sees unasked, by the rules and the index of the host.
 */
#include "layers/ignored/left_out.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "layers/ignored/ignored.h"
#include "scene.h"

static struct scene scene;
static struct ipc_layers_do ask;
static struct job job;

static void put_index(const char *const *names)
{
	uint8_t bytes[4096];
	const size_t size = scene_index(bytes, 2, 20, names);
	int file;

	put_folder(scene.directories.host, ".git");
	file = openat(scene.directories.host, ".git/index", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert(file >= 0 && fd_write_all(file, bytes, size) == 0);
	fd_close(&file);
}

static void begin(void)
{
	static const char *const names[] = { "kept.log", "lib/kept.o", NULL };

	scene_begin(&scene, 1);
	put_file(scene.directories.host, ".gitignore", "*.log\nbuild/\n*.o\n");
	put_index(names);
	memset(&ask, 0, sizeof(ask));
	job = (struct job){ .directories = scene.directories, .ask = &ask, .output = -1 };
}

static void choose(const char *chosen, size_t size)
{
	job.chosen = chosen;
	job.chosen_size = size;
}

/* Compare a path with the mode `old` on the host and `now` in the sandbox; 0: no file is there. */
static bool is_out(const char *path, mode_t old, mode_t now, const char *old_path)
{
	static struct difference difference;

	memset(&difference, 0, sizeof(difference));
	difference.old.st_mode = old;
	difference.now.st_mode = now;
	(void)stpcpy(difference.path, path);
	(void)stpcpy(difference.old_path, old_path);
	return left_out(&job, &difference);
}

#define OUT "/" /* CHANGES_EXCLUDED */
#define FILE_MODE (S_IFREG | 0644)
#define DIRECTORY_MODE (S_IFDIR | 0755)

TestSuite(left_out, .timeout = 60);

Test(left_out, ignored_files_are_counted)
{
	begin();
	cr_expect(is_out("new.log", 0, FILE_MODE, ""));
	cr_expect(is_out("old.log", FILE_MODE, FILE_MODE, ""), "the host has it untracked");
	cr_expect(is_out("old.log", FILE_MODE, 0, ""));
	cr_expect(is_out("build", 0, DIRECTORY_MODE, ""));
	cr_expect(is_out("build", DIRECTORY_MODE, 0, ""));
	cr_expect(is_out("build/x/y", 0, FILE_MODE, ""));
	cr_expect_eq(job.done.ignored, 4, "files alone");
	cr_expect_not(is_out("a.c", 0, FILE_MODE, ""));
	cr_expect_not(is_out("build", 0, FILE_MODE, ""), "the rule is about directories");
	cr_expect_not(is_out("build", 0, S_IFLNK | 0777, ""));
	cr_expect_eq(job.done.ignored, 4);
	scene_end(&scene);
}

Test(left_out, not_what_git_tracks)
{
	begin();
	cr_expect_not(is_out("kept.log", FILE_MODE, FILE_MODE, ""));
	cr_expect_not(is_out("kept.log", FILE_MODE, 0, ""));
	cr_expect_not(is_out("lib/kept.o", FILE_MODE, FILE_MODE, ""));
	cr_expect(is_out("lib/new.o", FILE_MODE, FILE_MODE, ""), "the control");
	scene_end(&scene);
}

Test(left_out, an_index_that_cannot_be_read_hides_nothing_of_the_hosts)
{
	begin();
	cr_assert_eq(unlinkat(scene.directories.host, ".git/index", 0), 0);
	cr_expect_not(is_out("old.log", FILE_MODE, FILE_MODE, ""));
	cr_expect(is_out("new.log", 0, FILE_MODE, ""), "the control");
	scene_end(&scene);
}

Test(left_out, an_index_that_is_none_hides_nothing_of_the_hosts)
{
	begin();
	put_file(scene.directories.host, ".git/index", "no index");
	cr_expect_not(is_out("old.log", FILE_MODE, FILE_MODE, ""));
	cr_expect(is_out("new.log", 0, FILE_MODE, ""), "the control");
	scene_end(&scene);
}

Test(left_out, a_move_is_hidden_when_both_names_are)
{
	begin();
	cr_expect(is_out("b.log", FILE_MODE, FILE_MODE, "a.log"));
	cr_expect_not(is_out("b.log", FILE_MODE, FILE_MODE, "kept.log"));
	cr_expect_not(is_out("b.log", FILE_MODE, FILE_MODE, "a.c"));
	cr_expect_not(is_out("b.c", FILE_MODE, FILE_MODE, "a.log"));
	scene_end(&scene);
}

Test(left_out, not_what_is_asked_for)
{
	static const char named[] = "build\0src\0one.log";

	begin();
	choose(named, sizeof(named));
	cr_expect_not(is_out("build/x", 0, FILE_MODE, ""));
	cr_expect_not(is_out("build", 0, DIRECTORY_MODE, ""));
	cr_expect_not(is_out("one.log", 0, FILE_MODE, ""));
	cr_expect(is_out("src/x.o", 0, FILE_MODE, ""), "its directory is named and is not ignored");
	cr_expect_not(is_out("two.log", 0, FILE_MODE, ""), "not chosen at all");
	cr_expect_eq(job.done.ignored, 1);
	choose(NULL, 0);
	ask.flags = CHANGES_IGNORED_TOO;
	cr_expect_not(is_out("two.log", 0, FILE_MODE, ""));
	scene_end(&scene);
}

Test(left_out, exclusions_are_not_chosen)
{
	static const char excluded[] = OUT "*.c\0" OUT "docs/\0" OUT "/top";
	static const char both[] = "src\0" OUT "*.c";

	begin();
	choose(excluded, sizeof(excluded));
	cr_expect_not(job_is_chosen(&job, "a.c"));
	cr_expect_not(job_is_chosen(&job, "x/a.c"));
	cr_expect_not(job_is_chosen(&job, "docs"));
	cr_expect_not(job_is_chosen(&job, "x/docs/y/z"));
	cr_expect_not(job_is_chosen(&job, "top"));
	cr_expect(job_is_chosen(&job, "x/top"));
	cr_expect(job_is_chosen(&job, "a.h"));
	choose(both, sizeof(both));
	cr_expect(job_is_chosen(&job, "src/a.h"));
	cr_expect_not(job_is_chosen(&job, "src/a.c"));
	cr_expect_not(job_is_chosen(&job, "b.h"));
	scene_end(&scene);
}
