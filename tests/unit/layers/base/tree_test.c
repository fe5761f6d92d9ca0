/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/tree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "scene.h"

static struct scene scene;
#define HOST (scene.directories.host)
#define UPPER (scene.uppers[0])
#define LOWER (scene.uppers[1])

#define tells(expected) cr_assert_str_eq(scene_compare(&scene), (expected))

Test(tree, nothing_in_a_layer_is_no_change)
{
	scene_begin(&scene, 2);
	put_file(HOST, "a", "a");
	put_file(HOST, "folder/b", "b");
	tells("");
	scene_end(&scene);
}

Test(tree, files_are_added_modified_and_deleted)
{
	scene_begin(&scene, 1);
	put_file(HOST, "changed", "old");
	put_file(HOST, "longer", "old");
	put_file(HOST, "gone", "gone");
	put_file(HOST, "kept", "kept");
	put_file(UPPER, "changed", "new");
	put_file(UPPER, "longer", "older");
	put_file(UPPER, "new", "entirely");
	put_whiteout(UPPER, "gone");
	put_whiteout(UPPER, "never-was");
	tells("modified changed\ndeleted gone\nmodified longer\nadded new\n");
	scene_end(&scene);
}

Test(tree, what_was_only_copied_up_is_no_change)
{
	scene_begin(&scene, 1);
	put_file(HOST, "folder/same", "same");
	put_file(UPPER, "folder/same", "same");
	put_file(HOST, "empty", "");
	put_file(UPPER, "empty", "");
	put_link(HOST, "link", "target");
	put_link(UPPER, "link", "target");
	tells("");
	cr_assert_str_eq(scene_walk(&scene),
			 "none empty\nnone folder\nnone folder/same\nnone link\n");
	scene_end(&scene);
}

Test(tree, modes_links_and_types)
{
	scene_begin(&scene, 1);
	put_file(HOST, "script", "#!");
	put_file(UPPER, "script", "#!");
	put_mode(UPPER, "script", 0755);
	put_folder(HOST, "folder");
	put_folder(UPPER, "folder");
	put_mode(UPPER, "folder", 0700);
	put_link(HOST, "link", "here");
	put_link(UPPER, "link", "there");
	put_file(HOST, "file-to-link", "x");
	put_link(UPPER, "file-to-link", "x");
	put_file(HOST, "both", "x");
	put_file(UPPER, "both", "y");
	put_mode(UPPER, "both", 0755);
	tells("modified both\ntype file-to-link\nmode folder/\nsymlink link\nmode script\n");
	scene_end(&scene);
}

Test(tree, a_directory_replaced_by_a_file_and_back)
{
	scene_begin(&scene, 1);
	put_file(HOST, "was-folder/a", "a");
	put_file(HOST, "was-folder/b/c", "c");
	put_file(UPPER, "was-folder", "now a file");
	put_file(HOST, "was-file", "was a file");
	put_file(UPPER, "was-file/d", "d");
	tells("type was-file/\nadded was-file/d\ntype was-folder\ndeleted was-folder/a\n"
	      "deleted was-folder/b/\ndeleted was-folder/b/c\n");
	scene_end(&scene);
}

Test(tree, a_directory_deleted_and_made_again)
{
	scene_begin(&scene, 1);
	put_file(HOST, "again/gone", "gone");
	put_file(HOST, "again/same", "same");
	put_file(HOST, "again/deep/er", "x");
	put_file(HOST, "gone/for/good", "x1");
	put_whiteout(UPPER, "gone");
	put_file(UPPER, "again/same", "same");
	put_file(UPPER, "again/new", "new");
	put_mark(UPPER, "again", "user.overlay.opaque", "y");
	tells("deleted again/deep/\ndeleted again/deep/er\ndeleted again/gone\nadded again/new\n"
	      "deleted gone/\ndeleted gone/for/\ndeleted gone/for/good\n");
	scene_end(&scene);
}

Test(tree, a_mark_that_says_something_else_hides_nothing)
{
	scene_begin(&scene, 1);
	put_file(HOST, "folder/a", "a");
	put_file(UPPER, "folder/b", "b");
	put_mark(UPPER, "folder", "user.overlay.opaque", "yes");
	tells("added folder/b\n");
	scene_end(&scene);
}

Test(tree, whiteouts_may_be_marked_files_where_the_directory_says_so)
{
	scene_begin(&scene, 1);
	put_file(HOST, "marked/gone", "gone");
	put_file(HOST, "marked/full", "full");
	put_file(HOST, "plain/emptied", "was full");
	put_file(UPPER, "marked/gone", "");
	put_mark(UPPER, "marked/gone", "user.overlay.whiteout", "y");
	put_file(UPPER, "marked/full", "is no whiteout");
	put_mark(UPPER, "marked/full", "user.overlay.whiteout", "y");
	put_mark(UPPER, "marked", "user.overlay.opaque", "x");
	put_file(UPPER, "plain/emptied", "");
	put_mark(UPPER, "plain/emptied", "user.overlay.whiteout", "y");
	tells("modified marked/full\ndeleted marked/gone\nmodified plain/emptied\n");
	scene_end(&scene);
}

Test(tree, layers_hide_those_below)
{
	scene_begin(&scene, 3);
	put_file(HOST, "folder/host", "host");
	put_file(HOST, "folder/twice", "host");
	put_file(scene.uppers[2], "folder/low", "low");
	put_file(scene.uppers[2], "folder/twice", "low");
	put_file(scene.uppers[2], "gone", "low");
	put_file(LOWER, "folder/middle", "middle");
	put_mark(LOWER, "folder", "user.overlay.opaque", "y");
	put_file(UPPER, "folder/high", "high");
	put_whiteout(UPPER, "gone");
	tells("added folder/high\ndeleted folder/host\nadded folder/middle\ndeleted "
	      "folder/twice\n");
	scene_end(&scene);
}

Test(tree, a_file_between_hides_the_directory_below)
{
	scene_begin(&scene, 2);
	put_file(HOST, "x/host", "host");
	put_file(LOWER, "x", "a file");
	put_file(UPPER, "x/new", "new"); /* overlayfs marks it; it hides as much without */
	tells("deleted x/host\nadded x/new\n");
	scene_end(&scene);
}

Test(tree, a_whiteout_between_hides_the_directory_below)
{
	scene_begin(&scene, 2);
	put_file(HOST, "x/host", "host");
	put_whiteout(LOWER, "x");
	put_file(UPPER, "x/new", "new");
	tells("deleted x/host\nadded x/new\n");
	scene_end(&scene);
}

Test(tree, layers_without_the_place_say_nothing)
{
	scene_begin(&scene, 2);
	put_file(HOST, "a", "a");
	put_file(LOWER, "b", "b");
	cr_assert_eq(unlinkat(scene.directories.layers[0], WORKSPACE_NAME, AT_REMOVEDIR), 0);
	tells("added b\n");
	scene_end(&scene);
}

Test(tree, without_a_host_everything_is_added)
{
	scene_begin(&scene, 1);
	put_file(UPPER, "folder/a", "a");
	fd_close(&scene.directories.host);
	tells("added folder/\nadded folder/a\n");
	scene_end(&scene);
}

/* --- since a checkpoint --- */

Test(tree, since_a_state_below)
{
	scene_begin(&scene, 2);
	scene_since(&scene, 1);
	put_file(HOST, "host", "host");
	put_file(HOST, "again", "host");
	put_file(LOWER, "low", "low");
	put_whiteout(LOWER, "again");
	put_file(LOWER, "folder/x", "x");
	put_file(UPPER, "low", "high");
	put_file(UPPER, "again", "host");
	put_file(UPPER, "folder/y", "y");
	tells("added again\nadded folder/y\nmodified low\n");
	scene_end(&scene);
}

Test(tree, since_a_state_on_another_branch)
{
	scene_begin(&scene, 3); /* 0 and 1 are both made on 2 */
	scene.directories.since[0] = scene.directories.layers[1];
	scene.directories.since[1] = scene.directories.layers[2];
	scene.directories.since_count = 2;
	scene.directories.layers[1] = scene.directories.layers[2];
	scene.directories.layer_count = 2;
	put_file(HOST, "changed", "host");
	put_file(scene.uppers[2], "common", "common");
	put_file(LOWER, "theirs", "theirs");
	put_file(LOWER, "changed", "theirs");
	put_file(LOWER, "alike", "same");
	put_file(UPPER, "alike", "same");
	put_file(UPPER, "ours", "ours!");
	tells("modified changed\nadded ours\ndeleted theirs\n");
	scene.directories.layer_count = 3; /* for the end */
	scene.directories.layers[1] = -1;
	scene_end(&scene);
}

static int open_each(void *context, const struct difference *difference)
{
	char *text = context;
	int old = tree_open(&scene.directories, difference, true);
	int now = tree_open(&scene.directories, difference, false);
	const size_t size = strlen(text);
	ssize_t got = 0;

	if (old >= 0 && (got = read(old, text + size, 16)) >= 0)
		text[size + (size_t)got++] = '>';
	if (now >= 0 && (got += read(now, text + size + got, 16)) >= 0)
		text[size + (size_t)got] = ';';
	fd_close(&old);
	fd_close(&now);
	return 0;
}

Test(tree, both_sides_can_be_opened)
{
	char text[256] = "";

	scene_begin(&scene, 2);
	scene_since(&scene, 1);
	put_file(HOST, "a", "host");
	put_file(LOWER, "b", "low");
	put_file(UPPER, "a", "high");
	put_whiteout(UPPER, "b");
	cr_assert_eq(tree_compare(&scene.directories, open_each, text), 0);
	cr_assert_str_eq(text, "host>high;low>");
	scene_end(&scene);
}

/* --- renames --- */

Test(tree, a_renamed_file_is_known_by_its_content)
{
	scene_begin(&scene, 1);
	put_file(HOST, "folder/old-name", "the same content");
	put_whiteout(UPPER, "folder/old-name");
	put_file(UPPER, "new-name", "the same content");
	put_mode(UPPER, "new-name", 0755);
	put_file(HOST, "other", "the same length!");
	put_whiteout(UPPER, "other");
	tells("renamed new-name <- folder/old-name\ndeleted other\n");
	scene_end(&scene);
}

Test(tree, one_file_is_renamed_once)
{
	scene_begin(&scene, 1);
	put_file(HOST, "old", "content");
	put_whiteout(UPPER, "old");
	put_file(UPPER, "new1", "content");
	put_file(UPPER, "new2", "content");
	tells("renamed new1 <- old\nadded new2\n");
	scene_end(&scene);
}

Test(tree, of_several_the_one_with_the_same_name)
{
	scene_begin(&scene, 1);
	put_file(HOST, "from/a", "content");
	put_file(HOST, "from/b", "content");
	put_whiteout(UPPER, "from");
	put_file(UPPER, "to/b", "content");
	put_file(UPPER, "to/a", "content");
	tells("deleted from/\nadded to/\nrenamed to/a <- from/a\nrenamed to/b <- from/b\n");
	scene_end(&scene);
}

/* --- hostile trees --- */

Test(tree, names_are_any_bytes_in_the_order_of_bytes)
{
	scene_begin(&scene, 1);
	put_file(UPPER, "a\nb", "x");
	put_file(UPPER, "\xff\xfe", "y");
	put_file(UPPER, "a/z", "z");
	put_file(UPPER, "a-b", "ab");
	tells("added a/\nadded a\nb\nadded a-b\nadded a/z\nadded \xff\xfe\n");
	scene_end(&scene);
}

Test(tree, fifos_sockets_and_links_out_are_not_opened)
{
	const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	scene_begin(&scene, 1);
	put_file(HOST, "was-file", "x");
	put_fifo(UPPER, "was-file");
	put_fifo(UPPER, "fifo");
	put_link(UPPER, "out", "/etc/passwd");
	put_link(UPPER, "out-dir", "../../..");
	cr_assert_eq(fchdir(UPPER), 0);
	cr_assert_eq(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	tells("added fifo refused\nadded out\nadded out-dir\nadded socket refused\n"
	      "type was-file refused\n");
	fd_close(&listener);
	cr_assert_eq(chdir("/"), 0);
	scene_end(&scene);
}

Test(tree, set_id_bits_are_told_of_where_there_is_a_change)
{
	scene_begin(&scene, 1);
	put_file(HOST, "program", "x");
	put_file(UPPER, "program", "y");
	put_mode(UPPER, "program", 04755);
	put_file(HOST, "same", "x");
	put_file(UPPER, "same", "x");
	put_mode(UPPER, "same", 02644);
	tells("modified program stripped\n");
	scene_end(&scene);
}

Test(tree, what_cannot_be_looked_into_is_told_of_and_the_rest_compared)
{
	if (geteuid() == 0)
		cr_skip("root reads everything");
	scene_begin(&scene, 1);
	put_file(UPPER, "shut/secret", "x");
	put_mode(UPPER, "shut", 0);
	put_file(HOST, "folder/a", "a");
	put_file(UPPER, "folder/b", "b");
	put_mode(UPPER, "folder", 0400); /* names can be read, and nothing behind them */
	put_file(HOST, "file", "same");
	put_file(UPPER, "file", "same");
	put_mode(UPPER, "file", 0);
	put_file(UPPER, "open", "x1");
	tells("modified file unreadable\nmode folder/ unreadable\nadded open\n"
	      "added shut/ unreadable\n");
	scene_end(&scene);
}

static int count_readable(void *context, const struct difference *difference)
{
	*(int *)context += !(difference->flags & CHANGE_IS_UNREADABLE);
	return 0;
}

static int count(void *context, const struct difference *difference)
{
	(void)difference;
	++*(int *)context;
	return 0;
}

Test(tree, deep_trees_cost_no_stack_and_what_has_no_path_is_told_of)
{
	char path[IPC_PATH_MAX] = "";
	int directory, counted = 0;

	scene_begin(&scene, 1);
	for (int i = 0; i < 2000; i++)
		(void)strcat(path, "d/");
	path[strlen(path) - 1] = '\0';
	put_folder(UPPER, path);
	cr_assert_eq(tree_compare(&scene.directories, count, &counted), 0);
	cr_assert_eq(counted, 2000);
	directory = openat(UPPER, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(directory >= 0);
	for (int i = 0; i < 100; i++) {
		int below;

		cr_assert_eq(mkdirat(directory, "deeper", 0755), 0);
		below = openat(directory, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd_close(&directory);
		directory = below;
	}
	fd_close(&directory);
	put_file(UPPER, "other", "content");
	counted = 0;
	cr_assert_eq(tree_compare(&scene.directories, count_readable, &counted), 0);
	cr_assert_eq(counted, 2000 + 12 + 1, "the last with a path is flagged");
	cr_assert_eq(tree_walk(&scene.directories, count, &counted), 0);
	(void)snprintf(path, sizeof(path), "rm -rf %s", scene.root);
	cr_assert_eq(system(path), 0); /* nftw(3) cannot name it */
	scene_begin(&scene, 0);
	scene_end(&scene);
}

Test(tree, a_file_that_becomes_a_fifo_is_an_error_of_that_file)
{
	struct difference difference = { .kind = CHANGE_ADDED, .path = "x", .layer = 0 };

	scene_begin(&scene, 1);
	put_fifo(UPPER, "x");
	cr_assert_eq(tree_open(&scene.directories, &difference, false), -ESTALE);
	cr_assert_eq(unlinkat(UPPER, "x", 0), 0);
	put_link(UPPER, "x", "/etc/passwd");
	cr_assert_eq(tree_open(&scene.directories, &difference, false), -ESTALE);
	cr_assert_eq(unlinkat(UPPER, "x", 0), 0);
	put_folder(UPPER, "x");
	cr_assert_eq(tree_open(&scene.directories, &difference, false), -ESTALE);
	scene_end(&scene);
}

Test(tree, no_link_is_followed_on_the_way)
{
	struct difference difference = { .path = "link/passwd", .layer = 0 };
	int file;

	scene_begin(&scene, 1);
	put_link(UPPER, "link", "/etc");
	file = tree_open(&scene.directories, &difference, false);
	cr_assert(file < 0);
	(void)snprintf(difference.path, sizeof(difference.path), "../base");
	put_file(scene.directories.layers[0], "base", "x");
	file = tree_open(&scene.directories, &difference, false);
	cr_assert(file < 0);
	scene_end(&scene);
}

static int stop(void *context, const struct difference *difference)
{
	(void)difference;
	return ++*(int *)context == 2 ? 42 : 0;
}

Test(tree, a_finder_can_end_it)
{
	int calls = 0;

	scene_begin(&scene, 1);
	put_file(UPPER, "a", "x");
	put_file(UPPER, "b", "y");
	put_file(UPPER, "c", "z");
	cr_assert_eq(tree_compare(&scene.directories, stop, &calls), 42);
	cr_assert_eq(calls, 2);
	scene_end(&scene);
}
