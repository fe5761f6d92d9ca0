/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/apply/apply.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "rig.h"

static struct rig rig;

#define host_is(expected) cr_assert_str_eq(rig_show(&rig, HOST), (expected))
#define told_is(expected) cr_assert_str_eq(rig.told, (expected))
#define journal_is(expected) cr_assert_str_eq(names_in(JOURNAL), (expected))

static const char *names_in(int directory)
{
	static char text[1024];
	struct beneath_names names = { 0 };
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	text[0] = '\0';
	cr_assert_eq(beneath_names_add(&names, fd, true), 0);
	cr_assert_eq(beneath_names_sort(&names), 0);
	for (size_t i = 0; i < names.count; i++) {
		(void)strncat(text, names.names[i], sizeof(text) - strlen(text) - 1);
		(void)strncat(text, " ", sizeof(text) - strlen(text) - 1);
	}
	beneath_names_free(&names);
	fd_close(&fd);
	return text;
}

static void bring_each_kind_and_take_it_back(void)
{
	rig_begin(&rig, 1);
	rig_fill(&rig);
	rig_remember(&rig, HOST);
	cr_assert_eq(base_note(&rig.scene.directories, UINT64_MAX), 0);
	rig_apply_all(&rig);
	host_is("a 40755\n"
		"a/changed 100644 new and longer\n"
		"a/kept 100644 kept\n"
		"a/new 100755 new\n"
		"closes 40555\n"
		"closes/in 100644 new\n"
		"file-to-folder 40755\n"
		"file-to-folder/y 100644 y\n"
		"file-to-link 120777 f\n"
		"folder-to-file 100644 file\n"
		"is 40755\n"
		"is/there 100644 moved moved\n"
		"link 120777 there\n"
		"link-new 120777 anywhere\n"
		"mode 100755 mode\n"
		"new 40755\n"
		"new/closed 40555\n"
		"new/closed/x 100644 x\n"
		"opens 40755\n"
		"opens/in 100644 new\n"
		"opens/more 100644 more\n");
	cr_assert_eq(rig.job.done.conflicts, 0);
	cr_assert_eq(rig.job.done.applied, rig.job.done.total, "%s", rig.told);
	journal_is("done ");
	/* Nothing differs any more. */
	cr_assert_str_eq(scene_compare(&rig.scene), "");

	rig_undo_all(&rig);
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	journal_is("");
	cr_assert_eq(rig_do(&rig, job_undo, NULL), -ENOENT);
	cr_assert_eq(rig.job.done.error, ENOENT);
	rig_end(&rig);
}

Test(apply, brings_each_kind_of_change_and_takes_it_back)
{
	bring_each_kind_and_take_it_back();
}

Test(apply, copies_old_files_to_another_file_system)
{
	rig_is_apart = true;
	bring_each_kind_and_take_it_back();
}

Test(apply, takes_what_is_chosen_with_the_new_directories_it_is_in)
{
	rig_begin(&rig, 1);
	put_file(UPPER, "a/b/c/one", "1");
	put_file(UPPER, "a/b/c.two", "2");
	put_file(UPPER, "a/other", "3");
	put_file(UPPER, "a/b/c/more/three", "4");
	rig_note(&rig);
	cr_assert_eq(rig_do(&rig, job_apply, "a/b/c/one"), 0);
	host_is("a 40755\na/b 40755\na/b/c 40755\na/b/c/one 100644 1\n");
	told_is("added a applied\nadded a/b applied\nadded a/b/c applied\n"
		"added a/b/c/one applied\n");
	cr_assert_eq(rig.job.done.applied, 4);
	cr_assert_str_eq(scene_compare(&rig.scene),
			 "added a/b/c.two\nadded a/b/c/more/\nadded a/b/c/more/three\n"
			 "added a/other\n");
	rig_end(&rig);
}

Test(apply, refuses_all_with_a_conflict)
{
	rig_begin_conflict(&rig, CONFLICT_REFUSE);
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	cr_assert_eq(rig.job.done.applied, 0);
	cr_assert_geq(rig.job.done.conflicts, 3);
	told_is("modified both conflict\ndeleted gone conflict\nmodified mine\n"
		"type same-name conflict\nadded same-name/in conflict\n");
	journal_is("");
	rig_end(&rig);
}

Test(apply, theirs_leaves_the_host_what_it_changed)
{
	rig_begin_conflict(&rig, CONFLICT_HOST);
	host_is("both 100644 host's\ngone 100644 host's\nmine 100644 new\n"
		"same-name 100644 host's\n");
	cr_assert_eq(rig.job.done.applied, 1);
	rig_undo_all(&rig);
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	rig_end(&rig);
}

Test(apply, ours_wins_and_the_hosts_comes_back_by_an_undo)
{
	rig_begin_conflict(&rig, CONFLICT_SANDBOX);
	host_is("both 100644 sandbox's\nmine 100644 new\nsame-name 40755\n"
		"same-name/in 100644 sandbox's\n");
	rig_undo_all(&rig);
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	rig_end(&rig);
}

Test(apply, is_the_base_of_what_the_sandbox_changes_next)
{
	rig_begin(&rig, 1);
	put_file(HOST, "file", "old");
	put_file(UPPER, "file", "new");
	rig_note(&rig);
	rig_apply_all(&rig);
	put_file(UPPER, "file", "newer");
	rig_apply_all(&rig);
	cr_assert_eq(rig.job.done.conflicts, 0);
	host_is("file 100644 newer\n");
	rig_undo_all(&rig);
	host_is("file 100644 new\n");
	rig_apply_all(&rig);
	host_is("file 100644 newer\n");
	rig_end(&rig);
}

Test(apply, holds_back_what_the_host_executes)
{
	rig_begin(&rig, 1);
	put_folder(HOST, ".husky");
	put_file(UPPER, ".husky/pre-commit", "#!/bin/sh\n");
	put_file(UPPER, "file", "file");
	rig_note(&rig);
	rig_apply_all(&rig);
	cr_assert_eq(rig.job.done.held, 1);
	told_is("added .husky/pre-commit held\nadded file applied\n");
	host_is(".husky 40755\nfile 100644 file\n");
	rig.ask.flags = CHANGES_HELD_TOO;
	rig_apply_all(&rig);
	cr_assert_eq(rig.job.done.held, 0);
	host_is(".husky 40755\n.husky/pre-commit 100644 #!/bin/sh\n\nfile 100644 file\n");
	rig_end(&rig);
}

/* Even a word does not bring it; of git's own data nothing is said, as the commits say it. */
Test(apply, leaves_a_repository_in_the_sandbox)
{
	rig_begin(&rig, 1);
	put_folder(HOST, ".git/hooks");
	put_file(HOST, ".git/index", "old");
	put_file(HOST, ".git/sample", "sample");
	put_file(UPPER, ".git/hooks/pre-commit", "#!/bin/sh\n");
	put_file(UPPER, ".git/index", "new");
	put_whiteout(UPPER, ".git/sample");
	put_file(UPPER, "copied", "sample");
	put_file(UPPER, "sub/.git/config", "[core]\n");
	put_file(UPPER, "sub/file", "file");
	rig_note(&rig);
	rig.ask.flags = CHANGES_HELD_TOO;
	rig_apply_all(&rig);
	told_is("added .git/hooks/pre-commit repository\ndeleted .git/sample repository\n"
		"added copied applied\nadded sub applied\nadded sub/.git repository\n"
		"added sub/file applied\n");
	host_is(".git 40755\n.git/hooks 40755\n.git/index 100644 old\n"
		".git/sample 100644 sample\ncopied 100644 sample\nsub 40755\n"
		"sub/file 100644 file\n");
	rig_end(&rig);
}

static bool has_xattr(int directory, const char *path, const char *name)
{
	char value[64];
	const int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fgetxattr(fd, name, value, sizeof(value));

	(void)close(fd);
	return size >= 0;
}

/* T10, with its control: the layer's file has what the host's must not have, on the same file
 * system. */
Test(apply, strips_what_gives_rights)
{
	static const unsigned char all[] = { 1, 0, 0,   2,   255, 255, 255, 255, 0, 0,
					     0, 0, 255, 255, 255, 255, 0,   0,   0, 0 };
	struct stat status;
	int fd;
	bool has_capabilities;

	rig_begin(&rig, 1);
	put_file(HOST, "modified", "old");
	put_file(UPPER, "modified", "new");
	put_mode(UPPER, "modified", 06755);
	put_file(UPPER, "added", "new");
	put_mode(UPPER, "added", 07777);
	put_mark(UPPER, "added", "user.overlay.impure", "x");
	put_mark(UPPER, "added", "user.mine", "x");
	put_folder(UPPER, "folder");
	put_mode(UPPER, "folder", 07755);
	fd = openat(UPPER, "added", O_RDONLY | O_CLOEXEC);
	has_capabilities = fsetxattr(fd, "security.capability", all, sizeof(all), 0) == 0;
	(void)close(fd);
	cr_assert(has_capabilities || geteuid() != 0);
	cr_assert_eq(fstatat(UPPER, "added", &status, 0), 0);
	cr_assert_eq(status.st_mode & 07777, 07777U);
	rig_note(&rig);
	rig_apply_all(&rig);
	host_is("added 100777 new\nfolder 40755\nmodified 100755 new\n");
	cr_assert(has_xattr(UPPER, "added", "user.mine"));
	cr_assert(!has_xattr(HOST, "added", "user.mine"));
	cr_assert(!has_xattr(HOST, "added", "user.overlay.impure"));
	cr_assert_eq(has_xattr(UPPER, "added", "security.capability"), has_capabilities);
	cr_assert(!has_xattr(HOST, "added", "security.capability"));
	cr_assert_str_eq(scene_compare(&rig.scene), "");
	rig_end(&rig);
}

/* T20: what is no file, link or directory is told of and stays out; nothing waits for its other
 * end, and a terabyte of nothing takes no time and no room. */
Test(apply, leaves_out_what_is_no_file)
{
	struct stat status;
	char byte = '\0';
	int fd;

	rig_begin(&rig, 1);
	put_file(HOST, "replaced", "old");
	put_fifo(UPPER, "replaced");
	put_fifo(UPPER, "fifo");
	put_socket(UPPER, "socket");
	put_link(UPPER, "link", "/etc/shadow");
	put_file(UPPER, "sparse", "x");
	fd = openat(UPPER, "sparse", O_WRONLY | O_CLOEXEC);
	cr_assert_eq(ftruncate(fd, (off_t)1 << 40), 0);
	cr_assert_eq(pwrite(fd, "y", 1, (off_t)1 << 39), 1);
	(void)close(fd);
	if (geteuid() == 0)
		cr_assert_eq(mknodat(UPPER, "device", S_IFCHR | 0666, 0x103), 0);
	rig_note(&rig);
	rig_apply_all(&rig);
	cr_assert_eq(rig.job.done.applied, 1, "%s", rig.told);
	cr_assert_not_null(strstr(rig.told, "added link held"));
	cr_assert_not_null(strstr(rig.told, "added fifo refused\n"));
	cr_assert_not_null(strstr(rig.told, "added socket refused\n"));
	cr_assert_not_null(strstr(rig.told, "type replaced refused\n"));
	cr_assert_eq(fstatat(HOST, "sparse", &status, 0), 0);
	cr_assert_eq(status.st_size, (off_t)1 << 40);
	cr_assert_lt(status.st_blocks, 4096);
	fd = openat(HOST, "sparse", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(pread(fd, &byte, 1, (off_t)1 << 39), 1);
	cr_assert_eq(byte, 'y');
	(void)close(fd);
	cr_assert_eq(fstatat(HOST, "fifo", &status, AT_SYMLINK_NOFOLLOW), -1);
	cr_assert_eq(fstatat(HOST, "replaced", &status, AT_SYMLINK_NOFOLLOW), 0);
	cr_assert(S_ISREG(status.st_mode));
	cr_assert_eq(fstatat(HOST, "link", &status, AT_SYMLINK_NOFOLLOW), -1);
	rig_end(&rig);
}

Test(apply, takes_names_of_any_bytes)
{
	char longest[256];

	memset(longest, 'n', 255);
	longest[255] = '\0';
	rig_begin(&rig, 1);
	put_file(UPPER, "new\nline\n/in\nit", "1");
	put_file(UPPER, "\xff\xfe\x80", "2");
	put_file(UPPER, "-rf *", "3");
	put_file(UPPER, longest, "4");
	put_file(UPPER, "..._/.../x", "5");
	rig_note(&rig);
	rig_apply_all(&rig);
	cr_assert_eq(rig.job.done.applied, 8, "%s", rig.told);
	cr_assert_str_eq(scene_compare(&rig.scene), "");
	rig_undo_all(&rig);
	host_is("");
	rig_end(&rig);
}

/* T1 at the way out: a link on the host leads out of the workspace, at each level of a path, with
 * its control, which writes through it. */
Test(apply, never_goes_through_a_link_of_the_host)
{
	static const char *const levels[] = { "a", "a/b", "a/b/c" };

	for (size_t i = 0; i < 3; i++) {
		char target[128];
		int outside;
		int fd;

		rig_begin(&rig, 1);
		put_folder(rig.scene.directories.target, "b/c/c");
		put_folder(rig.scene.directories.target, "c");
		outside = rig.scene.directories.target;
		(void)snprintf(target, sizeof(target), "%s/target", rig.scene.root);
		put_link(HOST, levels[i], target);
		fd = openat(HOST, "a/b/c/control", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		cr_assert(fd >= 0, "the control goes through the link: %m");
		(void)close(fd);
		rig_remember(&rig, outside);
		put_file(UPPER, "a/b/c/file", "file");
		put_file(UPPER, "a/b/c/d/e/f", "file");
		rig_note(&rig);
		rig.ask.conflict = CONFLICT_SANDBOX;
		cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
		cr_assert_str_eq(rig_show(&rig, outside), rig.before);
		host_is("a 40755\na/b 40755\na/b/c 40755\na/b/c/d 40755\na/b/c/d/e 40755\n"
			"a/b/c/d/e/f 100644 file\na/b/c/file 100644 file\n");
		rig_undo_all(&rig);
		cr_assert_str_eq(rig_show(&rig, outside), rig.before);
		rig_end(&rig);
	}
}

Test(apply, replaces_links_to_one_file_each_by_itself)
{
	rig_begin(&rig, 1);
	put_file(HOST, "one", "both");
	cr_assert_eq(linkat(HOST, "one", HOST, "two", 0), 0);
	cr_assert_eq(linkat(HOST, "one", HOST, "three", 0), 0);
	put_file(UPPER, "one", "1");
	put_file(UPPER, "two", "2");
	rig_note(&rig);
	rig_apply_all(&rig);
	host_is("one 100644 1\nthree 100644 both\ntwo 100644 2\n");
	rig_undo_all(&rig);
	host_is("one 100644 both\nthree 100644 both\ntwo 100644 both\n");
	rig_end(&rig);
}

Test(apply, keeps_a_directory_in_which_the_host_has_something)
{
	rig_begin(&rig, 1);
	put_file(HOST, "folder/known", "known");
	put_file(HOST, "folder/below/known", "known");
	put_whiteout(UPPER, "folder");
	rig_note(&rig);
	put_file(HOST, "folder/.ignored", "new");
	rig.ask.conflict = CONFLICT_HOST;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	cr_assert_not_null(strstr(rig_show(&rig, HOST), "folder/.ignored 100644 new\n"));
	rig_undo_all(&rig);
	host_is("folder 40755\nfolder/.ignored 100644 new\nfolder/below 40755\n"
		"folder/below/known 100644 known\nfolder/known 100644 known\n");
	rig_end(&rig);
}

static void begin_undo(uint32_t choice)
{
	rig_begin(&rig, 1);
	put_file(HOST, "changed", "old");
	put_file(HOST, "gone", "old");
	put_file(HOST, "other", "old");
	put_file(UPPER, "changed", "new");
	put_file(UPPER, "other", "new");
	put_file(UPPER, "folder/added", "new");
	put_whiteout(UPPER, "gone");
	rig_note(&rig);
	rig_apply_all(&rig);
	rig_touch_host(&rig, "changed", "host's");
	put_file(HOST, "gone", "host's");
	put_file(HOST, "folder/mine", "host's");
	rig_remember(&rig, HOST);
	rig.ask.conflict = choice;
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
}

Test(undo, refuses_with_what_was_changed_since)
{
	begin_undo(CONFLICT_REFUSE);
	cr_assert_eq(rig.job.done.conflicts, 2);
	cr_assert_eq(rig.job.done.applied, 0);
	told_is("deleted gone conflict\nmodified changed conflict\n");
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	journal_is("done ");
	/* When the host is as the apply left it, it can be taken back. */
	rig_touch_host(&rig, "changed", "new");
	cr_assert_eq(unlinkat(HOST, "gone", 0), 0);
	rig_undo_all(&rig);
	host_is("changed 100644 old\nfolder 40755\nfolder/mine 100644 host's\ngone 100644 old\n"
		"other 100644 old\n");
	rig_end(&rig);
}

Test(undo, theirs_takes_back_the_rest)
{
	begin_undo(CONFLICT_HOST);
	host_is("changed 100644 host's\nfolder 40755\nfolder/mine 100644 host's\n"
		"gone 100644 host's\nother 100644 old\n");
	/* What was before is kept until it is there again. */
	journal_is("done ");
	rig_touch_host(&rig, "changed", "new");
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
	host_is("changed 100644 old\nfolder 40755\nfolder/mine 100644 host's\n"
		"gone 100644 host's\nother 100644 old\n");
	journal_is("done ");
	cr_assert_eq(unlinkat(HOST, "gone", 0), 0);
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
	host_is("changed 100644 old\nfolder 40755\nfolder/mine 100644 host's\n"
		"gone 100644 old\nother 100644 old\n");
	journal_is("");
	rig_end(&rig);
}

Test(undo, ours_brings_back_what_was)
{
	begin_undo(CONFLICT_SANDBOX);
	host_is("changed 100644 old\nfolder 40755\nfolder/mine 100644 host's\ngone 100644 old\n"
		"other 100644 old\n");
	rig_end(&rig);
}

Test(undo, says_that_there_is_nothing)
{
	rig_begin(&rig, 1);
	cr_assert_eq(rig_do(&rig, job_undo, NULL), -ENOENT);
	cr_assert_eq(rig.job.done.error, ENOENT);
	cr_assert_eq(rig_do(&rig, job_recover, NULL), 0);
	rig_end(&rig);
}

/* Saved content that is not what it was is not brought back as if it were. */
Test(undo, trusts_no_saved_content)
{
	int done;

	rig_begin(&rig, 1);
	put_file(HOST, "file", "old");
	put_file(UPPER, "file", "new");
	rig_note(&rig);
	rig_apply_all(&rig);
	done = openat(JOURNAL, JOURNAL_DONE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_file(done, "0", "bad");
	cr_assert_eq(rig_do(&rig, job_undo, NULL), -EBADMSG);
	host_is("file 100644 new\n");
	put_file(done, "0", "old");
	(void)close(done);
	rig_undo_all(&rig);
	host_is("file 100644 old\n");
	rig_end(&rig);
}

/* The old file itself is kept: it comes back as it was, or not at all. */
Test(undo, leaves_a_file_that_a_program_went_on_writing_to)
{
	int file;

	rig_begin(&rig, 1);
	put_file(HOST, "file", "old");
	put_file(HOST, "other", "old");
	put_file(UPPER, "file", "new");
	put_file(UPPER, "other", "new");
	rig_note(&rig);
	file = openat(HOST, "file", O_WRONLY | O_CLOEXEC);
	rig_apply_all(&rig);
	cr_assert_eq(write(file, "more than", 9), 9);
	fd_close(&file);
	rig.ask.conflict = CONFLICT_SANDBOX;
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
	told_is("modified file conflict\nmodified other undone\n");
	host_is("file 100644 new\nother 100644 old\n");
	journal_is("done ");
	rig_end(&rig);
}

/* Another name of an old file is no way to what an undo brings back. */
Test(undo, brings_back_a_file_with_two_names_as_it_was)
{
	rig_begin(&rig, 1);
	put_file(HOST, "file", "old");
	cr_assert_eq(linkat(HOST, "file", HOST, "second", 0), 0);
	put_file(UPPER, "file", "new");
	rig_note(&rig);
	rig_apply_all(&rig);
	rig_touch_host(&rig, "second", "host's");
	rig_undo_all(&rig);
	host_is("file 100644 old\nsecond 100644 host's\n");
	rig_end(&rig);
}

Test(apply, is_alone_with_a_journal)
{
	int fd;

	rig_begin(&rig, 1);
	put_file(UPPER, "file", "new");
	fd = apply_lock(&rig.scene.directories);
	cr_assert(fd >= 0);
	cr_assert_eq(rig_do(&rig, job_apply, NULL), -EBUSY);
	cr_assert_eq(rig_do(&rig, job_undo, NULL), -EBUSY);
	cr_assert_eq(rig_do(&rig, job_recover, NULL), -EBUSY);
	host_is("");
	(void)close(fd);
	rig_note(&rig);
	rig_apply_all(&rig);
	host_is("file 100644 new\n");
	rig_end(&rig);
}

Test(apply, does_nothing_over_a_damaged_journal)
{
	rig_begin(&rig, 1);
	put_file(UPPER, "file", "new");
	put_file(JOURNAL, JOURNAL_SWAPPING "/journal", "no journal at all");
	cr_assert_eq(rig_do(&rig, job_recover, NULL), -EBADMSG);
	cr_assert_eq(rig_do(&rig, job_apply, NULL), -EBADMSG);
	cr_assert_eq(rig.job.done.step, CHANGES_STEP_JOURNAL);
	host_is("");
	journal_is("swapping ");
	rig_end(&rig);
}

/* A directory that a file shall replace has something in it that nobody compared. */
Test(apply, replaces_no_directory_in_which_the_host_has_something)
{
	rig_begin(&rig, 1);
	put_file(HOST, "a", "old");
	put_file(HOST, "folder/known", "known");
	put_file(UPPER, "a", "new");
	put_file(UPPER, "folder", "file");
	rig_note(&rig);
	put_folder(HOST, "folder/empty");
	cr_assert_eq(unlinkat(HOST, "folder/empty", AT_REMOVEDIR), 0);
	put_file(HOST, "folder/known", "changed");
	rig.ask.conflict = CONFLICT_HOST;
	rig_remember(&rig, HOST);
	cr_assert_eq(rig_do(&rig, job_apply, NULL), -ESTALE);
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	cr_assert_not_null(strstr(rig.told, "type folder conflict\n"), "%s", rig.told);
	cr_assert_eq(rig.job.done.applied, 0);
	journal_is("");
	rig_end(&rig);
}
