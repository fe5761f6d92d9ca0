/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <string.h>

#include "layers/base/gitpath.h"

Test(gitpath, finds_a_repository_as_any_file_system_spells_it)
{
	static const struct {
		const char *path;
		const char *repository; /* NULL: none */
	} rows[] = {
		{ ".git", ".git" },
		{ ".git/config", ".git" },
		{ "a/b/.git/hooks/x", "a/b/.git" },
		{ "sub/.GIT/config", "sub/.GIT" },
		{ ".g\xe2\x80\x8cit/config", ".g\xe2\x80\x8cit" }, /* zero width non-joiner */
		{ ".git/refs/heads/.git/x", ".git" },
		{ ".gitignore", NULL },
		{ ".github/workflows/x.yml", NULL },
		{ "x.git/config", NULL },
		{ "git/config", NULL },
		{ ".git2/config", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(gitpath_repository(rows[i].path),
			     rows[i].repository ? strlen(rows[i].repository) : 0, "%s",
			     rows[i].path);
}

Test(gitpath, knows_gits_own_data)
{
	static const char *const data[] = {
		".git/HEAD",
		".git/index",
		".git/objects/ab/cdef",
		".git/objects/pack/x",
		".git/refs/heads/main",
		".git/refs/heads/hooks/x",
		".git/logs/HEAD",
		".git/COMMIT_EDITMSG",
		".git/ORIG_HEAD",
		".git/packed-refs",
		"sub/.git/index",
		".git/modules/sub/HEAD",
		".git/worktrees/x/index",
		".git/modules/libs/sub/objects/ab/cdef",
	};
	static const char *const other[] = {
		".git",
		".git/config",
		".git/hooks/pre-push",
		".git/info/attributes",
		".git/commondir",
		".git/rebase-merge/git-rebase-todo",
		".git/modules/sub",
		".git/modules/libs/sub/config",
		".git/modules/sub/hooks/pre-push",
		".git/worktrees/x/gitdir",
		"index",
		"refs/heads/main",
	};

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		cr_assert(gitpath_is_data(data[i]), "%s", data[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		cr_assert_not(gitpath_is_data(other[i]), "%s", other[i]);
}
