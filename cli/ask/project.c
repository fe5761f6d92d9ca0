/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/project.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/repository.h"
#include "common/text/format.h"
#include "launcher/host/account.h"

/* Is there a repository in the directory, or the file of a worktree or submodule that leads to one?
 * An empty `.git` is none for git. */
static bool has_git(const char *directory)
{
	char path[IPC_PATH_MAX + sizeof("/.git/HEAD")];
	struct stat is;

	format_text(path, sizeof(path), "%s/.git", directory);
	if (lstat(path, &is) != 0)
		return false;
	if (S_ISREG(is.st_mode))
		return true;
	format_append(path, sizeof(path), "/HEAD");
	return lstat(path, &is) == 0;
}

/* The home may be a repository of its owner's settings: what is in it are projects still. */
static bool is_home(const char *directory)
{
	const char *home = account_home();
	struct stat one;
	struct stat other;

	return home && stat(home, &one) == 0 && stat(directory, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* Find the root of the repository that has the directory. False: none has, and `ret` is the
 * directory itself. */
static bool find_root(const char *directory, char ret[IPC_PATH_MAX])
{
	char *slash;

	format_text(ret, IPC_PATH_MAX, "%s", directory);
	while ((slash = strrchr(ret, '/')) && slash[1] != '\0') {
		if (has_git(ret) && !is_home(ret))
			return true;
		*slash = '\0';
	}
	format_text(ret, IPC_PATH_MAX, "%s", directory);
	return false;
}

void project_find(struct project *ret)
{
	const char *inside;

	memset(ret, 0, sizeof(*ret));
	if (!getcwd(ret->here, sizeof(ret->here)) || ret->here[0] != '/')
		ret->here[0] = '\0';
	else
		ret->is_repository = find_root(ret->here, ret->root);
	if (!repository_find(ret->shown, &inside))
		ret->shown[0] = '\0';
}

bool project_has(const struct project *project, const char *directory)
{
	const size_t size = strlen(directory);
	char root[IPC_PATH_MAX];
	const bool is_repository = find_root(directory, root);

	if (directory[0] != '/' || project->here[0] == '\0')
		return false;
	if (strcmp(root, project->root) == 0 || strcmp(directory, project->shown) == 0)
		return true;
	/* Without a repository a workspace is all that is in it. */
	return !is_repository && !project->is_repository &&
	       strncmp(project->here, directory, size) == 0 && project->here[size] == '/';
}

bool project_is_here(const char *directory)
{
	static struct project project;

	project_find(&project);
	return project_has(&project, directory);
}
