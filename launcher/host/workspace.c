/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/utf8.h"
#include "launcher/host/mounts.h"
#include "launcher/host/protected.h"
#include "launcher/host/shown.h"

/* As many as a file can name, and the client's own. */
#define OPEN_MAX 64

/* A path in a command line of a message, and the reason in one. */
#define WORD_MAX 200
#define REASON_MAX 320

/* One question. */
struct question {
	const char *path;
	const struct plan *plan;
	const struct workspaces *workspaces;
	bool is_person;
	char *text;
};

static int refuse_path(const struct question *question, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse_path(const struct question *question, const char *format, ...)
{
	va_list arguments;
	char rule[WORKSPACE_TEXT_MAX];

	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(rule, sizeof(rule), format, arguments);
	va_end(arguments);
	format_text(question->text, WORKSPACE_TEXT_MAX, "'%.300s' is refused: %s", question->path,
		    rule);
	utf8_make_line(question->text); /* a path may hold anything */
	return -1;
}

const char *workspace_set_word(void *member, const char *value)
{
	struct workspace_words *words = member;

	if (value[0] == '\0' || strlen(value) >= IPC_PATH_MAX)
		return "a directory, such as ~/projects";
	if (words->count == CLIENT_WORKSPACES_MAX)
		return "one of at most 8: name a directory that holds several";
	words->words[words->count++] = value;
	return NULL;
}

static int open_directory(const char *path)
{
	return kernel_openat2(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC,
			      RESOLVE_NO_MAGICLINKS);
}

int workspaces_open(const struct workspace_words *words, struct workspaces *ret,
		    char text[WORKSPACE_TEXT_MAX])
{
	*ret = (struct workspaces){ .count = 0 };
	if (words->count == 0) {
		ret->list[0] = open_directory(".");
		ret->is_start = true;
		ret->count = ret->list[0] >= 0 ? 1 : 0;
		return 0;
	}
	for (uint32_t i = 0; i < words->count; i++) {
		ret->list[i] = open_directory(words->words[i]);
		if (ret->list[i] < 0) {
			format_text(text, WORKSPACE_TEXT_MAX,
				    "--workspace: '%.300s' cannot be opened: %s. It must be an "
				    "existing directory",
				    words->words[i], errno_text(errno));
			workspaces_close(ret);
			return -1;
		}
		ret->count++;
	}
	return 0;
}

void workspaces_close(struct workspaces *workspaces)
{
	fd_close_all(workspaces->list, workspaces->count);
	workspaces->count = 0;
}

/* The kernel's name for it, as well as it can be told. */
static void name_of(int fd, char ret[IPC_PATH_MAX])
{
	if (shown_real_path(fd, ret) != 0)
		format_text(ret, IPC_PATH_MAX, "a directory that is gone");
}

static int check_shown(int fd, const char *path, const struct plan *plan, char text[SHOWN_TEXT_MAX])
{
	const struct protected_set set = protected_set_of(plan);
	struct mounts mounts;
	int result = mounts_read(&mounts);

	if (result)
		return format_fail(
			-1, text, SHOWN_TEXT_MAX,
			"'%.300s' is refused: the mount table cannot be read "
			"(/proc/self/mountinfo: %s), so nothing can be compared with the "
			"protected paths",
			path, errno_text(-result));
	result = shown_check(fd, path, PROTECTED_WRITTEN, &mounts, &set, text);
	mounts_done(&mounts);
	return result;
}

int workspaces_check(const struct workspaces *workspaces, const struct plan *plan,
		     char text[WORKSPACE_TEXT_MAX])
{
	char problem[SHOWN_TEXT_MAX];
	char path[IPC_PATH_MAX];

	for (uint32_t i = 0; i < workspaces->count; i++) {
		name_of(workspaces->list[i], path);
		if (check_shown(workspaces->list[i], path, plan, problem) != 0)
			return format_fail(-1, text, WORKSPACE_TEXT_MAX, "--workspace: %.1000s",
					   problem);
	}
	return 0;
}

/* --- what is open to requests ----------------------------------------------------------------- */

/* The `workspaces` of the operator's file that are there. */
static size_t open_policys(const struct plan *plan, int ret[OPEN_MAX])
{
	const struct plan_header *header = plan_header(plan);
	const char *path = plan_string(plan, header->workspaces);
	const char *end = path + header->workspaces_size;
	size_t count = 0;

	for (; path < end && count < OPEN_MAX; path += strlen(path) + 1) {
		ret[count] = open_directory(path);
		count += ret[count] >= 0;
	}
	return count;
}

static void list_workspaces(const struct workspaces *workspaces, char *ret, size_t room)
{
	char path[IPC_PATH_MAX];

	ret[0] = '\0';
	for (uint32_t i = 0; i < workspaces->count; i++) {
		name_of(workspaces->list[i], path);
		format_append(ret, room, "%s%.200s", i > 0 ? ", " : "", path);
	}
}

static void list_policys(const struct plan *plan, char *ret, size_t room)
{
	const struct plan_header *header = plan_header(plan);
	const char *path = plan_string(plan, header->workspaces);
	const char *end = path + header->workspaces_size;

	ret[0] = '\0';
	for (const char *at = path; at < end; at += strlen(at) + 1)
		format_append(ret, room, "%s%.200s", at == path ? "" : ", ", at);
}

/* Return the word for a command line to open the path: itself if a shell takes it as it is, and if
 * msp would open it: not the root or what it holds, a home, or a hidden directory. A model may have
 * chosen it. */
static const char *word_of(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+@";
	const size_t size = strspn(path, plain);
	const char *home = getenv("HOME");

	return size <= WORD_MAX && path[size] == '\0' && path[size - 1] != '/' &&
			       strchr(path + 1, '/') && !strstr(path, "/.") &&
			       !(home && path_is_within(home, path))
		       ? path
		       : "DIR";
}

/* Refuse: no directory was named, and the one that msp was started in is none for this. */
static int refuse_start(const struct question *question)
{
	const struct workspaces *workspaces = question->workspaces;
	const char *word = word_of(question->path);
	char problem[SHOWN_TEXT_MAX];
	char path[IPC_PATH_MAX];
	char reason[REASON_MAX] = "";

	if (workspaces->count > 0) {
		name_of(workspaces->list[0], path);
		if (check_shown(workspaces->list[0], path, question->plan, problem) == 0)
			return 0;
		format_text(reason, sizeof(reason),
			    ", since none was named and '%.200s', where msp was started, is or "
			    "holds what no sandbox may see",
			    path);
	}
	return refuse_path(question,
			   "no directory of the host is open to requests%s; the operator can open "
			   "it: 'msp client-config --workspace %s CLIENT', 'msp serve --workspace "
			   "%s', or 'workspaces' in the configuration",
			   reason, word, word);
}

/* `fd` is what the path leads to, or what is nearest above it. */
static int check_open(const struct question *question, int fd)
{
	const struct workspaces *workspaces = question->workspaces;
	const bool has_policys = plan_header(question->plan)->workspaces_size > 0;
	const bool has_own = workspaces->count > 0 && !(workspaces->is_start && has_policys);
	int policys[OPEN_MAX];
	char list[512];
	size_t count;
	bool is_inside;

	if (question->is_person)
		return 0;
	if (!has_policys && (workspaces->count == 0 || workspaces->is_start) &&
	    refuse_start(question) != 0)
		return -1;
	if (has_policys) {
		count = open_policys(question->plan, policys);
		is_inside = protected_lies_in(fd, policys, count);
		fd_close_all(policys, count);
		list_policys(question->plan, list, sizeof(list));
		if (!is_inside)
			return refuse_path(
				question,
				"it lies in none of the workspaces that the operator's file "
				"names (%s): name a directory in one of them",
				list);
	}
	if (!has_own || protected_lies_in(fd, workspaces->list, workspaces->count))
		return 0;
	list_workspaces(workspaces, list, sizeof(list));
	if (workspaces->is_start)
		return refuse_path(
			question,
			"it does not lie in %s, where msp was started: name a directory in "
			"there; the operator can open another one with 'msp serve "
			"--workspace DIR'",
			list);
	return refuse_path(question,
			   "it lies in none of the directories that 'msp serve --workspace' opened "
			   "(%s): name a directory in one of them",
			   list);
}

/* --- one path --------------------------------------------------------------------------------- */

static int check_form(const struct question *question)
{
	if (question->path[0] == '\0')
		return refuse_path(question,
				   "it is empty: name a directory of the host by its absolute "
				   "path");
	if (question->path[0] != '/')
		return refuse_path(question,
				   "it is no absolute path: name the directory from / on");
	if (strlen(question->path) >= IPC_PATH_MAX)
		return refuse_path(question, "it is longer than %d bytes", IPC_PATH_MAX - 1);
	return 0;
}

static bool is_link(int directory, const char *path)
{
	char name[NAME_MAX + 1];
	struct stat status;

	path += strspn(path, "/");
	format_text(name, sizeof(name), "%.*s", (int)strcspn(path, "/"), path);
	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(status.st_mode);
}

/* Open the existing part of a path; -1 where a link leads on from there, whose end is not known. */
static int open_nearest(const char *path)
{
	char part[IPC_PATH_MAX];
	size_t size = strlen(path);
	int fd = -1;

	while (fd < 0 && size > 0) {
		while (size > 0 && path[size - 1] == '/')
			size--;
		while (size > 0 && path[size - 1] != '/')
			size--;
		format_text(part, sizeof(part), "%.*s", (int)size, path);
		fd = open_directory(part);
	}
	if (fd >= 0 && is_link(fd, path + size))
		fd_close(&fd);
	return fd;
}

static int explain_error(const struct question *question, int error)
{
	const char *text =
		error == ENOENT    ? "there is no such directory: make it, or name another one"
		: error == ENOTDIR ? "it is no directory: name the directory that holds it"
		: error == ELOOP ? "a link of /proc, or one that leads back to itself, is part of "
				   "it: write the path that it leads to"
				 : NULL;

	if (error == EACCES)
		return refuse_path(question,
				   "the user that msp runs as (%u) cannot reach it: change its "
				   "mode or that of a directory above it, or name another one",
				   geteuid());
	return text ? refuse_path(question, "%s", text)
		    : refuse_path(question, "it cannot be opened: %s", errno_text(error));
}

/* O_PATH of it, or -1 with the line. Whether it is open to the request is asked before anything is
 * said of what is there. */
static int open_asked(const struct question *question)
{
	int fd = open_directory(question->path);
	const int error = fd < 0 ? errno : 0;
	int nearest = fd < 0 ? open_nearest(question->path) : -1;
	const int result = check_open(question, fd < 0 ? nearest : fd);

	fd_close(&nearest);
	if (result != 0)
		fd_close(&fd);
	else if (error)
		(void)explain_error(question, error);
	return fd;
}

static int check_asked(const struct question *question, int fd, char ret[IPC_PATH_MAX])
{
	char problem[SHOWN_TEXT_MAX];
	const int error = shown_real_path(fd, ret);

	if (error == -ENAMETOOLONG)
		return refuse_path(question, "the path that it leads to is longer than %d bytes",
				   IPC_PATH_MAX - 1);
	if (error)
		return refuse_path(question, "it has no path of its own any more: %s",
				   errno_text(-error));
	if (check_shown(fd, ret, question->plan, problem) != 0) {
		format_text(question->text, WORKSPACE_TEXT_MAX, "%s", problem);
		utf8_make_line(question->text);
		return -1;
	}
	if (faccessat(fd, ".", R_OK | X_OK, 0) != 0)
		return refuse_path(question,
				   "the user that msp runs as (%u) cannot read it (%s): change its "
				   "mode, or name another directory",
				   geteuid(), errno_text(errno));
	return 0;
}

int workspace_open(const char *path, bool is_person, const struct plan *plan,
		   const struct workspaces *workspaces, char ret[IPC_PATH_MAX],
		   /* NOLINTNEXTLINE(readability-non-const-parameter): written through `question` */
		   char text[WORKSPACE_TEXT_MAX])
{
	const struct question question = { path, plan, workspaces, is_person, text };
	int fd = check_form(&question) == 0 ? open_asked(&question) : -1;

	if (fd >= 0 && check_asked(&question, fd, ret) != 0)
		fd_close(&fd);
	return fd;
}
