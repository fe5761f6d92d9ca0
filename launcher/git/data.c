/* SPDX-License-Identifier: Apache-2.0
 *
 * gitrepository-layout(5). The data names a workspace in `worktrees/NAME/gitdir`, which `git
 * worktree` keeps, or in `msp.workspace` of its configuration, which its owner has written. Both
 * lie in what would be shown: whoever could write them could do more before.
 */
#include "launcher/git/data.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/git/config.h"
#include "launcher/git/home.h"
#include "launcher/host/directory.h"

#define FILE_BYTES_MAX ((off_t)1 << 20)

struct data {
	const char *workspace;
	char shown[PATH_MAX];
	char pointer[GIT_DATA_POINTER_MAX];
	bool is_named, is_submodule;
};

/* The text of a regular file, which is the caller's; NULL: there is none. */
static char *read_text(const char *path)
{
	int fd FD_OWNED = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char *text = NULL;
	ssize_t size = -1;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size <= FILE_BYTES_MAX)
		text = malloc((size_t)status.st_size + 1);
	if (text)
		size = read(fd, text, (size_t)status.st_size);
	if (size < 0) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	return text;
}

/* Read the path in the file's first line, relative to `directory`, as what it leads to. */
static bool follow_line(const char *file, const char *prefix, const char *directory,
			char ret[PATH_MAX])
{
	char *text = read_text(file), whole[PATH_MAX];
	const size_t size = strlen(prefix);
	bool is_found = false;

	if (text && strncmp(text, prefix, size) == 0) {
		const char *line = text + size + strspn(text + size, " ");

		text[(size_t)(line - text) + strcspn(line, "\r\n")] = '\0';
		is_found = line[0] && path_join(whole, directory, line) && realpath(whole, ret);
	}
	free(text);
	return is_found;
}

static bool lies_in(const char *directory, const char *path)
{
	const size_t size = strlen(directory);

	return strncmp(path, directory, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

/* It travels in a record, and in a line for a person. */
static bool is_clean(const char *path)
{
	for (const char *at = path; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == '\x7f')
			return false;
	}
	return strlen(path) < IPC_PATH_MAX;
}

/* Is it a repository of the user's, as git wants it? */
static bool is_repository(const char *directory)
{
	static const char *const names[] = { "HEAD", "objects", "refs" };
	struct stat status;
	char path[PATH_MAX];

	if (stat(directory, &status) != 0 || status.st_uid != geteuid())
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!path_join(path, directory, names[i]) || lstat(path, &status) != 0 ||
		    status.st_uid != geteuid())
			return false;
	}
	return true;
}

static bool has_alternates(const char *directory)
{
	char path[PATH_MAX];

	return !path_join(path, directory, "objects/info/alternates") || access(path, F_OK) == 0;
}

static void find_name(void *context, enum git_key kind, const char *subsection, const char *value)
{
	struct data *data = context;
	char path[PATH_MAX];

	data->is_submodule |= kind == GIT_KEY_WORKTREE;
	if (kind == GIT_KEY_SHOWN && subsection[0] == '\0' && value[0] == '/')
		data->is_named |= realpath(value, path) && strcmp(path, data->workspace) == 0;
}

static void read_names(struct data *data, const char *repository)
{
	char path[PATH_MAX];
	char *text = path_join(path, repository, "config") ? read_text(path) : NULL;

	if (text && !git_config_read(text, strlen(text), find_name, data))
		data->is_named = false;
	free(text);
}

/* Is it a worktree of the repository that names the workspace's .git? */
static bool is_worktree(struct data *data, const char *own)
{
	char path[PATH_MAX], named[PATH_MAX], expected[PATH_MAX];
	const char *name = own + strlen(data->shown);

	if (!lies_in(data->shown, own) || strncmp(name, "/worktrees/", 11) != 0 ||
	    name[11] == '\0' || strchr(name + 11, '/') || strlen(name) >= sizeof(data->pointer))
		return false;
	format_text(data->pointer, sizeof(data->pointer), "%s", name + 1);
	if (path_join(path, own, "gitdir") && path_join(expected, data->workspace, ".git") &&
	    follow_line(path, "", own, named))
		data->is_named = strcmp(named, expected) == 0;
	return true;
}

/* `own` is what the workspace's .git stands for. False: the layout is none that can be shown. */
static bool look_at_data(struct data *data, const char *own)
{
	char path[PATH_MAX];

	format_text(data->shown, sizeof(data->shown), "%s", own);
	if (path_join(path, own, "commondir") && access(path, F_OK) == 0) {
		if (!follow_line(path, "", own, data->shown) || !is_worktree(data, own))
			return false;
	} else {
		read_names(data, own);
	}
	return is_repository(data->shown) && !has_alternates(data->shown) && !data->is_submodule;
}

/* `objects` is what the workspace's repository borrows from. */
static bool look_at_objects(struct data *data, const char *objects)
{
	char repository[PATH_MAX];
	char *end;

	format_text(repository, sizeof(repository), "%s", objects);
	end = strrchr(repository, '/');
	format_text(data->shown, sizeof(data->shown), "%s", objects);
	format_text(data->pointer, sizeof(data->pointer), GIT_DATA_ALTERNATES);
	if (strcmp(end, "/objects") != 0)
		return false;
	*end = '\0';
	read_names(data, repository);
	return is_repository(repository) && !has_alternates(repository);
}

static bool write_record(const struct data *data, char state, char ret[GIT_DATA_RECORD_MAX])
{
	if (!is_clean(data->shown) || !is_clean(data->pointer))
		return false;
	format_text(ret, GIT_DATA_RECORD_MAX, GIT_DATA_MARK "%c%s\n%s", state, data->pointer,
		    data->shown);
	return true;
}

static bool is_home(const char *path)
{
	const char *const homes[] = { getenv("HOME"), home_listed(NULL) };
	char home[PATH_MAX];

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		if (homes[i] && realpath(homes[i], home) && strcmp(home, path) == 0)
			return true;
	}
	return false;
}

/* The nearest repository above, which the workspace is only a part of. No workspace is a home. */
static bool find_above(struct data *data)
{
	char path[PATH_MAX];
	struct stat status;

	format_text(data->shown, sizeof(data->shown), "%s", data->workspace);
	if (is_repository(data->shown))
		return false;
	while (data->shown[0] && !is_home(data->shown)) {
		if (path_join(path, data->shown, ".git") && lstat(path, &status) == 0)
			return status.st_uid == geteuid();
		*strrchr(data->shown, '/') = '\0';
	}
	return false;
}

bool git_data_record(const char *workspace, char ret[GIT_DATA_RECORD_MAX])
{
	struct data data = { .workspace = workspace };
	char git[PATH_MAX], path[PATH_MAX], own[PATH_MAX];
	struct stat status;
	bool is_fit;

	if (!path_join(git, workspace, ".git"))
		return false;
	if (lstat(git, &status) != 0)
		return find_above(&data) && write_record(&data, GIT_DATA_ABOVE, ret);
	if (S_ISDIR(status.st_mode)) {
		if (!path_join(path, git, "objects/info/alternates") ||
		    !path_join(own, git, "objects") || !follow_line(path, "", own, own) ||
		    lies_in(workspace, own))
			return false;
		is_fit = look_at_objects(&data, own);
	} else {
		if (S_ISLNK(status.st_mode) ? !realpath(git, own) || !directory_is_at(own)
					    : !follow_line(git, "gitdir:", workspace, own))
			return false;
		if (lies_in(workspace, own))
			return false;
		is_fit = look_at_data(&data, own);
	}
	/* A person is told of the repository whose configuration can name the workspace. */
	if (S_ISDIR(status.st_mode) && is_fit && !data.is_named)
		*strrchr(data.shown, '/') = '\0';
	return write_record(&data,
			    !is_fit         ? GIT_DATA_UNFIT
			    : data.is_named ? GIT_DATA_SHOWN
					    : GIT_DATA_UNNAMED,
			    ret);
}
