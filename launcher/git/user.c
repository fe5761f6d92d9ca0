/* SPDX-License-Identifier: Apache-2.0
 *
 * git-config(1), "FILES" and "CONDITIONAL INCLUDES". The files are the user's own. No git is
 * started: msp starts no process of the host. The last value in git's order counts.
 */
#include "launcher/git/user.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/git/config.h"
#include "launcher/git/home.h"
#include "launcher/host/directory.h"
#include "lib/heap/path_match.h"

#define FILE_BYTES_MAX (1U << 20)

/* As in git. */
#define INCLUDES_DEEP_MAX 10

/* Names compared for one condition. */
#define LOOKS_MAX 10000

struct finding {
	enum git_key kind;
	const char *repository; /* empty: there is none */
	const char *file;       /* that is being read */
	int depth;
	bool is_unsure; /* git alone can tell */
	char found[GIT_USER_MAX];
};

static void read_file(struct finding *finding, const char *path);

/* --- paths ------------------------------------------------------------------------------------ */

static const char *home_path(void)
{
	const char *home = getenv("HOME");

	if (!home || home[0] != '/')
		home = home_listed(NULL);
	return home ? home : "";
}

static const char *skip_slashes(const char *path)
{
	return path + strspn(path, "/");
}

/* --- conditions ------------------------------------------------------------------------------- */

static int match_directory(const char *pattern, const char *file, const char *repository, int flags)
{
	char whole[PATH_MAX], ended[PATH_MAX];
	bool is_whole;

	if (strncmp(pattern, "~/", 2) == 0)
		is_whole = path_join(whole, home_path(), skip_slashes(pattern + 1));
	else if (strncmp(pattern, "./", 2) == 0)
		is_whole = path_join_beside(whole, file, skip_slashes(pattern + 1));
	else
		is_whole = path_join(whole, "/**", pattern);
	if (!is_whole || strlen(whole) + 3 > sizeof(ended))
		return -1;
	format_text(ended, sizeof(ended), "%s%s", whole,
		    whole[strlen(whole) - 1] == '/' ? "**" : "");
	return repository[0] && path_match(ended, repository, flags, LOOKS_MAX);
}

int git_user_condition(const char *condition, const char *file, const char *repository)
{
	if (strncmp(condition, "gitdir:", 7) == 0)
		return match_directory(condition + 7, file, repository, 0);
	if (strncmp(condition, "gitdir/i:", 9) == 0)
		return match_directory(condition + 9, file, repository, FNM_CASEFOLD);
	/* A branch is another one tomorrow; the addresses of remotes need the whole of git. */
	return strncmp(condition, "onbranch:", 9) == 0 || strncmp(condition, "hasconfig:", 10) == 0
		       ? -1
		       : 0;
}

/* --- files ------------------------------------------------------------------------------------ */

static bool is_clean(const char *value)
{
	for (const char *at = value; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == '\x7f')
			return false;
	}
	/* It travels among paths. */
	return value[0] != '\0' && strlen(value) < GIT_USER_MAX && !strstr(value, "/..");
}

/* Does an include that may hold say anything about the value? */
static void doubt_file(struct finding *finding, const char *path)
{
	struct finding inner = { .kind = finding->kind,
				 .repository = finding->repository,
				 .depth = finding->depth };

	read_file(&inner, path);
	finding->is_unsure |= inner.is_unsure || inner.found[0];
}

static void include_file(struct finding *finding, const char *condition, const char *value)
{
	const char *file = finding->file;
	const int holds =
		condition[0] ? git_user_condition(condition, file, finding->repository) : 1;
	char path[PATH_MAX];
	bool is_whole;

	if (holds == 0)
		return;
	if (strncmp(value, "~/", 2) == 0)
		is_whole = path_join(path, home_path(), skip_slashes(value + 1));
	else
		is_whole = value[0] != '~' && path_join_beside(path, file, value);
	if (!is_whole || finding->depth == INCLUDES_DEEP_MAX) {
		finding->is_unsure = true;
		return;
	}
	finding->depth++;
	if (holds > 0)
		read_file(finding, path);
	else
		doubt_file(finding, path);
	finding->depth--;
}

static void take_value(void *context, enum git_key kind, const char *subsection, const char *value)
{
	struct finding *finding = context;

	if (kind == GIT_KEY_INCLUDE) {
		include_file(finding, subsection, value);
	} else if (kind == finding->kind && subsection[0] == '\0') {
		finding->found[0] = '\0';
		if (is_clean(value))
			format_text(finding->found, sizeof(finding->found), "%s", value);
	}
}

static void read_file(struct finding *finding, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *outer = finding->file;
	struct stat status;
	char *text = NULL;
	ssize_t size = -1;

	if (fd < 0)
		return; /* git passes over it, too */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_BYTES_MAX)
		text = malloc((size_t)status.st_size + 1);
	if (text)
		size = read(fd, text, (size_t)status.st_size);
	fd_close(&fd);
	finding->file = path;
	finding->is_unsure |= size < 0 || !git_config_read(text, (size_t)size, take_value, finding);
	finding->file = outer;
	free(text);
}

/* The .git of the nearest repository. A file stands for a directory elsewhere, which is not looked
 * for: a condition then does not hold. */
static void find_repository(const char *workspace, char ret[PATH_MAX])
{
	char directory[PATH_MAX];

	format_text(directory, sizeof(directory), "%s", workspace);
	for (;;) {
		if (!path_join(ret, directory, ".git"))
			break;
		if (directory_is_at(ret))
			return;
		if (directory[0] == '\0')
			break;
		*strrchr(directory, '/') = '\0';
	}
	ret[0] = '\0';
}

static void read_all(struct finding *finding)
{
	const char *global = getenv("GIT_CONFIG_GLOBAL"), *system = getenv("GIT_CONFIG_SYSTEM");
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char path[PATH_MAX];

	if (!getenv("GIT_CONFIG_NOSYSTEM"))
		read_file(finding, system ? system : "/etc/gitconfig");
	if (global) {
		read_file(finding, global);
		return;
	}
	if (xdg && xdg[0] ? path_join(path, xdg, "git/config")
			  : path_join(path, home_path(), ".config/git/config"))
		read_file(finding, path);
	if (path_join(path, home_path(), ".gitconfig"))
		read_file(finding, path);
}

bool git_user_read(const char *workspace, enum git_user_value value, char ret[GIT_USER_MAX])
{
	char repository[PATH_MAX];
	struct finding finding = { .kind = value == GIT_USER_NAME ? GIT_KEY_NAME : GIT_KEY_EMAIL,
				   .repository = repository };

	find_repository(workspace, repository);
	read_all(&finding);
	format_text(ret, GIT_USER_MAX, "%s", finding.found);
	return !finding.is_unsure && ret[0];
}

bool git_user_record(const char *workspace, enum git_user_value value,
		     char ret[GIT_USER_RECORD_MAX])
{
	char text[GIT_USER_MAX];

	if (!git_user_read(workspace, value, text))
		return false;
	format_text(ret, GIT_USER_RECORD_MAX, "%s%s",
		    value == GIT_USER_NAME ? GIT_USER_NAME_MARK : GIT_USER_EMAIL_MARK, text);
	return true;
}
