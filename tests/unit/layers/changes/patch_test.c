/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/changes/patch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/changes/gitdiff.h"
#include "scene.h"

static struct scene scene;
#define HOST (scene.directories.host)
#define UPPER (scene.uppers[0])

static void begin(void)
{
	cr_assert_eq(gitdiff_load(), 0);
	scene_begin(&scene, 1);
}

static int add_patch(void *context, const struct difference *difference)
{
	struct patch patch = { 0 };
	const size_t used = strlen(scene.text);
	int error;

	(void)context;
	error = patch_make(&scene.directories, difference, &patch);
	cr_assert_eq(error, 0);
	cr_assert(used + patch.size + 64 < sizeof(scene.text));
	memcpy(scene.text + used, patch.bytes, patch.size);
	scene.text[used + patch.size] = '\0';
	if (patch.flags)
		(void)snprintf(scene.text + used + patch.size, 64, "%.40s: flags %u\n",
			       difference->path, patch.flags);
	patch_free(&patch);
	return 0;
}

static const char *patches(void)
{
	scene.text[0] = '\0';
	cr_assert_eq(tree_compare(&scene.directories, add_patch, NULL), 0);
	return scene.text;
}

Test(patch, a_changed_text)
{
	begin();
	put_file(HOST, "main.c", "int main(void)\n{\n\treturn 0;\n}\n");
	put_file(UPPER, "main.c", "int main(void)\n{\n\treturn 1;\n}\n");
	cr_assert_str_eq(patches(), "diff --git a/main.c b/main.c\n"
				    "index 31dbf45..2c3243a 100644\n"
				    "--- a/main.c\n+++ b/main.c\n@@ -1,4 +1,4 @@\n"
				    " int main(void)\n {\n-\treturn 0;\n+\treturn 1;\n }\n");
	scene_end(&scene);
}

Test(patch, new_gone_and_empty_files)
{
	begin();
	put_file(UPPER, "a", "one\ntwo");
	put_mode(UPPER, "a", 0755);
	put_file(UPPER, "b", "");
	put_file(HOST, "c", "gone\n");
	put_whiteout(UPPER, "c");
	cr_assert_str_eq(patches(),
			 "diff --git a/a b/a\nnew file mode 100755\nindex 0000000..9ed40b4\n"
			 "--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n+one\n+two\n"
			 "\\ No newline at end of file\n"
			 "diff --git a/b b/b\nnew file mode 100644\nindex 0000000..e69de29\n"
			 "diff --git a/c b/c\ndeleted file mode 100644\nindex 286c5f5..0000000\n"
			 "--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n");
	scene_end(&scene);
}

Test(patch, modes_names_and_links)
{
	begin();
	put_file(HOST, "a", "x\n");
	put_file(UPPER, "a", "x\n");
	put_mode(UPPER, "a", 0755);
	put_file(HOST, "b", "x\n");
	put_file(UPPER, "b", "x\n");
	put_mode(UPPER, "b", 0600); /* git keeps no more than one bit of it */
	put_file(HOST, "old", "the same\n");
	put_whiteout(UPPER, "old");
	put_file(UPPER, "new", "the same\n");
	put_link(HOST, "z", "here");
	put_link(UPPER, "z", "there");
	cr_assert_str_eq(patches(),
			 "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
			 "diff --git a/old b/new\nsimilarity index 100%\nrename from old\n"
			 "rename to new\n"
			 "diff --git a/z b/z\nindex 60aecbd..c78ee1a 120000\n--- a/z\n+++ b/z\n"
			 "@@ -1 +1 @@\n-here\n\\ No newline at end of file\n+there\n"
			 "\\ No newline at end of file\n");
	scene_end(&scene);
}

Test(patch, a_file_that_becomes_a_link)
{
	begin();
	put_file(HOST, "a", "x\n");
	put_link(UPPER, "a", "x");
	cr_assert_str_eq(patches(),
			 "diff --git a/a b/a\ndeleted file mode 100644\nindex 587be6b..0000000\n"
			 "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
			 "diff --git a/a b/a\nnew file mode 120000\nindex 0000000..c1b0730\n"
			 "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"
			 "\\ No newline at end of file\n");
	scene_end(&scene);
}

Test(patch, names_are_quoted_as_git_does)
{
	begin();
	put_file(UPPER, "a \"b\\\n\t\x01\xc3\xa9", "");
	put_file(UPPER, "sp ace", "x\n");
	cr_assert_str_eq(patches(),
			 "diff --git \"a/a \\\"b\\\\\\n\\t\\001\\303\\251\" "
			 "\"b/a \\\"b\\\\\\n\\t\\001\\303\\251\"\nnew file mode 100644\n"
			 "index 0000000..e69de29\n"
			 "diff --git a/sp ace b/sp ace\nnew file mode 100644\n"
			 "index 0000000..587be6b\n--- /dev/null\n+++ b/sp ace\t\n@@ -0,0 +1 @@\n"
			 "+x\n");
	scene_end(&scene);
}

Test(patch, what_is_no_text_or_too_large)
{
	char *large = malloc(CHANGE_TEXT_MAX + 2);
	int file;

	begin();
	file = openat(UPPER, "binary", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert_eq(fd_write_all(file, "a\0b", 3), 0);
	fd_close(&file);
	memset(large, 'x', CHANGE_TEXT_MAX + 1);
	large[CHANGE_TEXT_MAX + 1] = '\0';
	put_file(UPPER, "large", large);
	memset(large, '\n', 200001);
	large[200001] = '\0';
	put_file(UPPER, "many", large);
	large[0] = 'y';
	large[1] = '\0';
	put_file(UPPER, "text", large);
	cr_assert_not_null(
		strstr(patches(), "binary: flags 2\nlarge: flags 4\nmany: flags 4\ndiff"));
	/* A name says it all, whatever is in the file. */
	put_file(HOST, "moved", "x");
	file = openat(HOST, "moved", O_WRONLY | O_CLOEXEC);
	cr_assert_eq(fd_write_all(file, "a\0b", 3), 0);
	fd_close(&file);
	put_whiteout(UPPER, "moved");
	cr_assert_not_null(strstr(patches(), "rename from moved\nrename to binary\n"));
	scene_end(&scene);
	free(large);
}
