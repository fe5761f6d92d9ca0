/* SPDX-License-Identifier: Apache-2.0
 *
 * Renames that the kernel refuses: between mounts, and of a directory that is shown copy-on-write.
 */
#include "frontend/denial_hints.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "support.h"

static struct builtin builtin;
static struct hint_source source;

static void open_plan(void)
{
	builtin = builtin_open();
	source =
		(struct hint_source){ .plan = &builtin.plan, .profile = "default", .exit_code = 1 };
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(hint_files, .init = open_plan, .fini = close_plan);

static const char *hints_of(const char *text)
{
	static const struct ipc_execution_done done = { .exit_code = 1 };
	static char lines[DENIALS_TEXT_MAX];
	static struct denial_views views;

	source.tail = text;
	source.size = strlen(text);
	denials_describe(&builtin.plan, source.profile, &done, &views);
	denial_hints_add(&source, &views);
	denials_put_hints(&views, lines);
	return lines;
}

Test(hint_files, of_renames)
{
	static const char directory[] = "[sandbox: a directory of the project cannot be renamed in "
					"one step: use mv, which copies it]\n";
	static const char *const renames[] = {
		"Error: EXDEV: cross-device link not permitted, rename 'src' -> 'lib'",
		"Invalid cross-device link",
		"OSError: [Errno 18] Invalid cross-device link: 'src' -> 'lib'",
		"Error: Invalid cross-device link (os error 18)",
		"rename /workspace/src lib: invalid cross-device link",
		"Invalid cross-device link @ rb_file_s_rename - (src, lib) (Errno::EXDEV)",
		"System.IO.IOException: Source and destination path must have identical roots. "
		"Move "
		"will not work across volumes."
	};
	static const char link[] = "ln: failed to create hard link 'a' => '/tmp/b': Invalid "
				   "cross-device link";

	cr_expect_str_eq(hints_of(renames[0]), ""); /* its directories are all its own */
	source.is_persistent = true;
	for (size_t i = 0; i < sizeof(renames) / sizeof(renames[0]); i++)
		cr_expect_str_eq(hints_of(renames[i]), directory, "%s", renames[i]);
	source.command = "git mv src lib";
	cr_expect_str_eq(hints_of("fatal: renaming 'src' failed: Invalid cross-device link"),
			 "[sandbox: a directory of the project cannot be renamed in one step: use "
			 "'mv OLD NEW && git add -A']\n");
	source.command = "perl -e 'rename(\"/tmp/a\", \"b\") or die'";
	cr_expect_str_eq(hints_of("Invalid cross-device link at -e line 1."),
			 "[sandbox: /tmp/a is in another mount than the other path: use mv, which "
			 "copies it]\n");
	source.command = NULL;
	cr_expect_str_eq(hints_of("OSError: [Errno 18] Invalid cross-device link: 'a' -> '/tmp/b'"),
			 "[sandbox: /tmp/b is in another mount than the other path: use mv, which "
			 "copies it]\n");
	cr_expect_str_eq(hints_of("rename /tmp/a /workspace/b: invalid cross-device link"),
			 "[sandbox: /tmp/a is in another mount than the other path: use mv, which "
			 "copies it]\n");
	cr_expect_str_eq(hints_of(link),
			 "[sandbox: /tmp/b is in another mount than the other path: "
			 "copy it, or use ln -s]\n");
	cr_expect_str_eq(hints_of("AssertionError: expected 'EXDEV', got: 'EXDEV'"), "");
	cr_expect_str_eq(hints_of("copy_file_range: Invalid cross-device link"), "");
	source.cwd = "/tmp";
	cr_expect_str_eq(hints_of(renames[0]), "");
}
