/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that are read belong to the user of the host, as git itself would read them for him; a
 * path is only looked at. More is named than git would execute: a word of a command is taken for a
 * path, from every directory that git may run it in, and each condition of an include for true.
 */
#include "launcher/git/named.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/text/format.h"
#include "launcher/git/config.h"
#include "launcher/git/data.h"
#include "launcher/git/home.h"
#include "launcher/git/user.h"
#include "launcher/host/directory.h"

/* Bytes of a file, and of a list. A repository with 200 submodules has 400 names of files, 30 kB,
 * and as many again of each relative path that its user's configuration has. */
#define FILE_BYTES_MAX (1U << 20)
#define PATHS_BYTES_MAX (1U << 20)

/* That the kernel follows in one path: MAXSYMLINKS of include/linux/namei.h. */
#define LINKS_MAX 40

/* A submodule's name may have "/" in it. */
#define MODULES_DEEP_MAX 12

/* Paths with a NUL after each. */
struct list {
	char *bytes;
	size_t size;
};

struct named {
	const char *workspace;
	struct list paths;  /* the answer */
	struct list files;  /* configuration files to be read */
	struct list bases;  /* directories that git may be in as it executes something */
	const char *file;   /* that is being read */
	char own[PATH_MAX]; /* the folder of its submodule's files; empty: it is of none */
	enum git_key kind;  /* the current value's */
	bool is_lost;       /* too much, or no memory */
};

/* --- paths ------------------------------------------------------------------------------------ */

static bool has_path(const struct list *list, const char *path)
{
	for (size_t at = 0; at < list->size; at += strlen(list->bytes + at) + 1) {
		if (strcmp(list->bytes + at, path) == 0)
			return true;
	}
	return false;
}

static void add_to(struct named *named, struct list *list, const char *path)
{
	const size_t size = strlen(path) + 1;
	char *grown;

	if (has_path(list, path))
		return;
	grown = list->size + size > PATHS_BYTES_MAX ? NULL
						    : realloc(list->bytes, list->size + size);
	if (!grown) {
		named->is_lost = true;
		return;
	}
	memcpy(grown + list->size, path, size);
	list->bytes = grown;
	list->size += size;
}

/* By its text: "a/../b" is "b". */
static void simplify_path(const char *path, char ret[PATH_MAX])
{
	size_t used = 0;

	while (*path) {
		const size_t size = strcspn(path, "/");

		if (size == 2 && strncmp(path, "..", 2) == 0) {
			while (used > 0 && ret[--used] != '/')
				;
		} else if (size > 0 && !(size == 1 && *path == '.')) {
			ret[used++] = '/';
			memcpy(ret + used, path, size);
			used += size;
		}
		path += size + (path[size] == '/');
	}
	ret[used] = '\0';
}

static bool is_in(const char *directory, const char *path)
{
	const size_t size = strlen(directory);

	return strncmp(path, directory, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static bool has_name(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return path_join(path, directory, name) && access(path, F_OK) == 0;
}

/* The part of a path that is there, without links, and where the rest begins. */
static const char *find_real(const char *path, char ret[PATH_MAX])
{
	char part[PATH_MAX];

	for (size_t size = strlen(path); size > 0; size--) {
		if (path[size] != '\0' && path[size] != '/')
			continue;
		format_text(part, sizeof(part), "%.*s", (int)size, path);
		if (realpath(part, ret))
			return path + size;
	}
	ret[0] = '\0';
	return path;
}

/* As realpath(), but what it leads to need not be there. */
static bool resolve_path(const char *path, char ret[PATH_MAX])
{
	char left[PATH_MAX], target[PATH_MAX], whole[PATH_MAX];

	format_text(left, sizeof(left), "%s", path);
	for (int followed = 0; followed < LINKS_MAX; followed++) {
		const char *rest = find_real(left, ret);
		const size_t size = *rest ? 1 + strcspn(rest + 1, "/") : 0;
		ssize_t length;

		format_text(whole, sizeof(whole), "%s%.*s", ret, (int)size, rest);
		length = readlink(whole, target, sizeof(target) - 1);
		if (length < 0) {
			format_text(whole, sizeof(whole), "%s%s", ret, rest);
			simplify_path(whole, ret);
			return true;
		}
		target[length] = '\0';
		if (!path_join(whole, ret, target) ||
		    strlen(whole) + strlen(rest + size) >= PATH_MAX)
			return false;
		format_text(left, sizeof(left), "%s%s", whole, rest + size);
	}
	return false;
}

/* Into the answer, if it lies in the workspace by its text. */
static bool add_text(struct named *named, const char *path)
{
	char simple[PATH_MAX];

	simplify_path(path, simple);
	if (!is_in(named->workspace, simple))
		return false;
	if (named->kind == GIT_KEY_HOOKS || strcmp(simple, named->workspace) != 0)
		add_to(named, &named->paths, path);
	return true;
}

/* Add its target, and each link on the way there. */
static void add_links(struct named *named, const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];

	if (resolve_path(path, link))
		(void)add_text(named, link);
	format_text(link, sizeof(link), "%s", path);
	for (int followed = 0; followed < LINKS_MAX; followed++) {
		const ssize_t size = readlink(link, target, sizeof(target) - 1);

		if (size < 0)
			return;
		target[size] = '\0';
		if (!path_join_beside(link, link, target))
			return;
		(void)add_text(named, link);
	}
}

/* Links in the workspace are followed by whoever reads the answer. */
static void add_path(struct named *named, const char *path)
{
	if (!add_text(named, path))
		add_links(named, path);
}

/* Hooks are often links. Those in the workspace lie in the answer as a directory; but where a link
 * leads through others outside, only the host can tell. */
static void add_hooks(struct named *named, const char *directory)
{
	char path[PATH_MAX];
	DIR *names = opendir(directory);
	const struct dirent *entry;

	if (!names)
		return;
	while ((entry = readdir(names)) != NULL) {
		if (entry->d_name[0] != '.' && entry->d_type != DT_REG &&
		    path_join(path, directory, entry->d_name))
			add_links(named, path);
	}
	(void)closedir(names);
}

/* "~/x" and "~name/x" are a home's; NULL: nobody's. */
static const char *expand_path(const char *path, char ret[PATH_MAX])
{
	const size_t size = strcspn(path, "/");
	const char *home = getenv("HOME");
	char name[64];

	if (path[0] != '~')
		return path;
	if (size > 1) {
		format_text(name, sizeof(name), "%.*s", (int)(size - 1), path + 1);
		home = home_listed(name);
	}
	return home && path_join(ret, home, path + size + (path[size] == '/')) ? ret : NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static void try_from(struct named *named, const char *base, const char *path)
{
	char whole[PATH_MAX];

	if (!path_join(whole, base, path))
		return;
	/* A word that a person's own command has for something to work on. */
	if (named->kind == GIT_KEY_ALIAS && directory_is_at(whole))
		return;
	add_path(named, whole);
	if (named->kind == GIT_KEY_HOOKS)
		add_hooks(named, whole);
}

static void try_path(void *context, const char *path)
{
	struct named *named = context;
	char home[PATH_MAX], whole[PATH_MAX];
	const char *expanded = expand_path(path, home);
	const char *relative;

	if (!expanded)
		return;
	if (expanded[0] == '/')
		try_from(named, "", expanded);
	/* Text behind a variable of the shell begins with a "/", too. */
	relative = expanded + strspn(expanded, "/");
	if (named->own[0]) {
		try_from(named, named->workspace, relative);
		try_from(named, named->own, relative);
	}
	for (size_t at = 0; at < named->bases.size && !named->own[0];
	     at += strlen(named->bases.bytes + at) + 1)
		try_from(named, named->bases.bytes + at, relative);
	if (expanded[0] != '/' && path_join_beside(whole, named->file, expanded))
		try_from(named, "", whole);
}

static void include_file(struct named *named, const char *value)
{
	char home[PATH_MAX], whole[PATH_MAX];
	const char *expanded = expand_path(value, home);

	if (expanded && path_join_beside(whole, named->file, expanded))
		add_to(named, &named->files, whole);
}

static void find_include(void *context, enum git_key kind, const char *subsection,
			 const char *value)
{
	(void)subsection; /* each condition counts as true */
	if (kind == GIT_KEY_INCLUDE)
		include_file(context, value);
}

static void find_worktree(void *context, enum git_key kind, const char *subsection,
			  const char *value)
{
	struct named *named = context;
	char whole[PATH_MAX];

	(void)subsection;
	if (kind != GIT_KEY_WORKTREE || !path_join_beside(whole, named->file, value))
		return;
	if (realpath(whole, named->own))
		add_to(named, &named->bases, named->own);
	else
		named->own[0] = '\0';
}

static void find_paths(void *context, enum git_key kind, const char *subsection, const char *value)
{
	struct named *named = context;

	(void)subsection;
	named->kind = kind;
	named->is_lost |= !git_config_paths(kind, value, try_path, named);
}

/* --- files ------------------------------------------------------------------------------------ */

/* The text of a regular file, which is the caller's; NULL: there is none. */
static char *read_text(struct named *named, const char *path, size_t *ret_size)
{
	int fd FD_OWNED = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char *text = NULL;
	ssize_t size = -1;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		if (status.st_size <= FILE_BYTES_MAX)
			text = malloc((size_t)status.st_size + 1);
		if (text)
			size = read(fd, text, (size_t)status.st_size);
		named->is_lost |= size < 0;
	}
	if (size < 0) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	*ret_size = (size_t)size;
	return text;
}

/* Each file of the list, which may grow meanwhile. */
static void read_files(struct named *named, git_config_found found)
{
	char path[PATH_MAX];

	for (size_t at = 0; at < named->files.size; at += strlen(path) + 1) {
		size_t size;
		char *text;

		format_text(path, sizeof(path), "%s", named->files.bytes + at);
		text = read_text(named, path, &size);
		named->file = path;
		named->kind = GIT_KEY_INCLUDE;
		if (text) {
			add_path(named, path);
			named->own[0] = '\0';
			named->is_lost |= !git_config_read(text, size, find_worktree, named) ||
					  !git_config_read(text, size, found, named);
		}
		free(text);
	}
	named->file = NULL;
}

static void add_file(struct named *named, const char *directory, const char *name)
{
	char path[PATH_MAX];

	if (directory && path_join(path, directory, name) && path[0] == '/')
		add_to(named, &named->files, path);
}

/* A repository's own, wherever it lies. */
static void add_repository(struct named *named, const char *directory)
{
	char hooks[PATH_MAX];

	add_file(named, directory, "config");
	add_file(named, directory, "config.worktree");
	named->kind = GIT_KEY_COMMAND;
	if (path_join(hooks, directory, "hooks"))
		add_hooks(named, hooks);
}

/* Repositories beneath one of the directories "modules" and "worktrees" of another. */
static void add_repositories(struct named *named, const char *directory, int depth)
{
	static const char *const inner[] = { "objects", "refs", "logs", "hooks", "info", "lfs" };
	DIR *names = opendir(directory);
	const struct dirent *entry;

	while (names && (entry = readdir(names)) != NULL) {
		char path[PATH_MAX];
		bool is_inner = entry->d_name[0] == '.' || entry->d_type == DT_REG;

		for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
			is_inner |= strcmp(entry->d_name, inner[i]) == 0;
		if (is_inner || !path_join(path, directory, entry->d_name) ||
		    !directory_is_at(path))
			continue;
		if (has_name(path, "HEAD"))
			add_repository(named, path);
		if (depth < MODULES_DEEP_MAX)
			add_repositories(named, path, depth + 1);
		else
			named->is_lost = true;
	}
	if (names)
		(void)closedir(names);
}

/* A line that says where something is, relative to the directory of its file. */
static bool follow_line(struct named *named, const char *file, const char *prefix,
			char ret[PATH_MAX])
{
	char whole[PATH_MAX];
	size_t size;
	char *text = read_text(named, file, &size);
	bool is_found = false;

	if (text && strncmp(text, prefix, strlen(prefix)) == 0) {
		const char *line = text + strlen(prefix) + strspn(text + strlen(prefix), " ");

		text[(size_t)(line - text) + strcspn(line, "\r\n")] = '\0';
		is_found = path_join_beside(whole, file, line) && realpath(whole, ret) != NULL;
	}
	free(text);
	return is_found;
}

/* `directory` holds a .git, or is a repository without one. */
static void add_all_of(struct named *named, const char *directory, const char *repository)
{
	char path[PATH_MAX], own[PATH_MAX], common[PATH_MAX];

	add_to(named, &named->bases, directory);
	format_text(own, sizeof(own), "%s", repository);
	if (!directory_is_at(repository) && !follow_line(named, repository, "gitdir:", own))
		return;
	add_repository(named, own);
	if (!path_join(path, own, "commondir") || !follow_line(named, path, "", common))
		format_text(common, sizeof(common), "%s", own);
	add_repository(named, common);
	if (path_join(path, common, "modules"))
		add_repositories(named, path, 0);
	if (path_join(path, common, "worktrees"))
		add_repositories(named, path, 0);
}

/* The nearest repository, as git finds it. */
static void find_repository(struct named *named)
{
	char directory[PATH_MAX], path[PATH_MAX];

	format_text(directory, sizeof(directory), "%s", named->workspace);
	if (has_name(directory, "objects") && has_name(directory, "HEAD"))
		add_all_of(named, directory, directory);
	while (directory[0]) {
		if (has_name(directory, ".git") && path_join(path, directory, ".git")) {
			add_all_of(named, directory, path);
			return;
		}
		*strrchr(directory, '/') = '\0';
	}
}

/* A service may have less of an environment than the user's shell. */
static void find_users(struct named *named)
{
	const char *const homes[] = { getenv("HOME"), home_listed(NULL) };
	const char *const files[] = { getenv("GIT_CONFIG_GLOBAL"), getenv("GIT_CONFIG_SYSTEM"),
				      "/etc/gitconfig", "/usr/local/etc/gitconfig" };

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		add_file(named, homes[i], ".gitconfig");
		add_file(named, homes[i], ".config/git/config");
	}
	add_file(named, getenv("XDG_CONFIG_HOME"), "git/config");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		add_file(named, files[i] ? "/" : NULL, files[i] ? files[i] : "");
}

/* The user's name and email follow the paths: see user.h. */
static void add_user(struct named *named)
{
	char record[GIT_USER_RECORD_MAX];

	for (int i = 0; i < GIT_USER_COUNT; i++) {
		if (git_user_record(named->workspace, (enum git_user_value)i, record))
			add_to(named, &named->paths, record);
	}
}

int git_named_write(const char *workspace, int fd)
{
	struct named named = { .workspace = workspace };
	char data[GIT_DATA_RECORD_MAX];
	int error;

	add_to(&named, &named.bases, workspace);
	find_repository(&named);
	find_users(&named);
	read_files(&named, find_include);
	read_files(&named, find_paths); /* now that all directories are known */
	if (named.is_lost) {
		named.paths.size = 0;
		named.is_lost = false;
		add_to(&named, &named.paths, workspace);
	}
	add_user(&named);
	error = named.is_lost ? -ENOMEM : 0;
	if (!error && git_data_record(workspace, data))
		error = fd_write_all(fd, data, strlen(data) + 1);
	if (!error)
		error = fd_write_all(fd, named.paths.bytes, named.paths.size);
	free(named.paths.bytes);
	free(named.files.bytes);
	free(named.bases.bytes);
	return error;
}
