/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/find.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/host/mounts.h"

#define MODULES "/node_modules/"
#define PNPM "/.pnpm/"

/* Directories of programs that PATH may lack, as patterns; below the home if they are relative. Of
 * several matches the last is mostly the newest version. The program's name follows. */
static const char *const folders[] = {
	".npm-global/bin",
	".local/bin",
	".nvm/versions/node/*/bin",
	".volta/tools/image/packages/*/bin",
	".bun/bin",
	".local/share/pnpm",
	".yarn/bin",
	".cargo/bin",
	".local/share/fnm/node-versions/*/installation/bin",
	".asdf/installs/nodejs/*/bin",
	".local/share/mise/installs/node/*/bin",
	"bin",
	"/usr/local/bin",
	"/usr/bin",
	"/opt/*/bin",
	"/opt/bin",
};

/* Small programs that start another one: what they start is elsewhere. */
static const char *const shims[] = { "volta-shim", "mise", "asdf" };

/* --- paths ------------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool is_there(const char *folder, const char *name)
{
	char path[IPC_PATH_MAX + 32];

	format_text(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

/* Cut the last part of a path off. False: only the root would be left. */
static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Every sandbox shows it at its own path. */
static bool is_shown(const char *path)
{
	return path_is_within(path, "/usr");
}

/* --- where it is ------------------------------------------------------------------------------ */

static bool is_shim(const char *real)
{
	for (size_t i = 0; i < sizeof(shims) / sizeof(shims[0]); i++) {
		if (strcmp(last_part(real), shims[i]) == 0)
			return true;
	}
	return false;
}

/* Take a program at a path, if there is one. */
static bool accept_path(const char *path, struct agent_program *ret)
{
	char real[PATH_MAX];

	if (path[0] != '/' || strlen(path) >= IPC_PATH_MAX || !is_program(path) ||
	    !realpath(path, real) || is_shim(real))
		return false;
	format_text(ret->found, sizeof(ret->found), "%s", path);
	format_text(ret->file, sizeof(ret->file), "%s", real);
	return true;
}

static bool search_path(const char *path, const char *name, struct agent_program *ret)
{
	char file[IPC_PATH_MAX + 128];

	while (path && *path) {
		const size_t size = strcspn(path, ":");

		format_text(file, sizeof(file), "%.*s/%s", (int)size, path, name);
		if (accept_path(file, ret))
			return true;
		path += size + (path[size] == ':');
	}
	return false;
}

static bool search_pattern(const char *pattern, struct agent_program *ret)
{
	bool is_found = false;
	glob_t list;

	if (glob(pattern, 0, NULL, &list) != 0)
		return false;
	for (size_t last = list.gl_pathc; last > 0 && !is_found; last--)
		is_found = accept_path(list.gl_pathv[last - 1], ret);
	globfree(&list);
	return is_found;
}

static bool search_folders(const char *home, const char *name, struct agent_program *ret)
{
	char pattern[2 * IPC_PATH_MAX];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const bool is_absolute = folders[i][0] == '/';

		if (!is_absolute && !home)
			continue;
		format_text(pattern, sizeof(pattern), "%s%s%s/%s", is_absolute ? "" : home,
			    is_absolute ? "" : "/", folders[i], name);
		if (search_pattern(pattern, ret))
			return true;
	}
	/* Installers of one program name their directory after it. */
	format_text(pattern, sizeof(pattern), "%s/.%s/bin/%s", home ? home : "", name, name);
	return home && accept_path(pattern, ret);
}

/* --- its interpreter -------------------------------------------------------------------------- */

/* Read the words of a first line "#!...". False: the file has none. */
static bool read_line(struct agent_program *program, char *words[AGENT_FLAGS_MAX + 2],
		      uint32_t *ret_count)
{
	int fd FD_OWNED = open(program->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	const ssize_t got = fd < 0 ? -1 : read(fd, program->line, sizeof(program->line) - 1);
	char *rest;

	*ret_count = 0;
	if (got < 3 || memcmp(program->line, "#!", 2) != 0)
		return false;
	program->line[got] = '\0';
	program->line[strcspn(program->line, "\r\n")] = '\0';
	rest = program->line + 2;
	while (*(rest += strspn(rest, " \t")) != '\0' && *ret_count < AGENT_FLAGS_MAX + 2) {
		words[(*ret_count)++] = rest;
		rest += strcspn(rest, " \t");
		if (*rest)
			*rest++ = '\0';
	}
	return *ret_count > 0;
}

/* Find an interpreter that is named without a directory: beside the program first, because an
 * installer of packages has that one. */
static bool find_named(const char *name, const struct agent_places *places,
		       const struct agent_program *program, struct agent_program *ret)
{
	char path[IPC_PATH_MAX + 128];

	format_text(path, sizeof(path), "%s", program->found);
	if (strchr(name, '/') || !cut_last(path))
		return accept_path(name, ret);
	format_append(path, sizeof(path), "/%s", name);
	return accept_path(path, ret) || search_path(places->path, name, ret) ||
	       search_folders(places->home, name, ret);
}

/* Leave the words of `env` out: -S, and variables that it would set. */
static uint32_t skip_env(char *words[], uint32_t count)
{
	uint32_t first = 0;

	if (strcmp(last_part(words[0]), "env") != 0)
		return 0;
	for (first = 1; first < count && (words[first][0] == '-' || strchr(words[first], '='));
	     first++) {
		if (strncmp(words[first], "-S", 2) == 0 && words[first][2] != '\0') {
			words[first] += 2;
			break;
		}
	}
	return first;
}

/* Resolve the directory of a program, and not the program: a virtual environment's python knows its
 * environment by the path that it is called by. */
static bool resolve_folder(const char *file, char ret[IPC_PATH_MAX])
{
	char folder[IPC_PATH_MAX], real[PATH_MAX];

	format_text(folder, sizeof(folder), "%s", file);
	if (!cut_last(folder) || !realpath(folder, real))
		return false;
	format_text(ret, IPC_PATH_MAX, "%s/%s", real, last_part(file));
	return true;
}

/* Find the interpreter. False: it is named, and not there. */
static bool find_interpreter(const struct agent_places *places, struct agent_program *program)
{
	static struct agent_program found;
	char *words[AGENT_FLAGS_MAX + 2];
	uint32_t count, first;

	if (!read_line(program, words, &count))
		return true;
	first = skip_env(words, count);
	if (first == count || !find_named(words[first], places, program, &found)) {
		if (first < count)
			memmove(program->line, words[first], strlen(words[first]) + 1);
		return false;
	}
	if (words[first][0] != '/')
		format_text(program->interpreter, sizeof(program->interpreter), "%s", found.file);
	else if (!resolve_folder(words[first], program->interpreter))
		return false;
	while (++first < count && program->flag_count < AGENT_FLAGS_MAX)
		program->flags[program->flag_count++] = words[first];
	return true;
}

/* --- what it needs ---------------------------------------------------------------------------- */

static void add_bind(struct agent_program *program, const char *path)
{
	if (is_shown(path) || program->bind_count == AGENT_BINDS_MAX)
		return;
	for (uint32_t i = 0; i < program->bind_count; i++) {
		if (path_is_within(path, program->binds[i]))
			return;
		if (path_is_within(program->binds[i], path)) {
			format_text(program->binds[i], IPC_PATH_MAX, "%s", path);
			return;
		}
	}
	format_text(program->binds[program->bind_count++], IPC_PATH_MAX, "%s", path);
}

/* Cut a path behind the store of pnpm, in which packages find one another by links. */
static bool cut_store(char *path)
{
	char *store = strstr(path, PNPM);

	if (store)
		store[sizeof(PNPM) - 2] = '\0';
	return store != NULL;
}

/* Cut a path behind its last node_modules, if the directory around is a package: what the program
 * needs lies beside it there. */
static bool cut_modules(char *path)
{
	char folder[IPC_PATH_MAX];
	char *last = NULL;

	for (char *at = path; (at = strstr(at, MODULES)); at++)
		last = at;
	if (!last)
		return false;
	format_text(folder, sizeof(folder), "%.*s", (int)(last - path), path);
	if (!is_there(folder, "package.json"))
		return false;
	last[sizeof(MODULES) - 2] = '\0';
	return true;
}

/* Cut a path to the deepest directory around with this file. False: there is none. */
static bool cut_package(char *path, const char *mark)
{
	while (cut_last(path)) {
		if (is_there(path, mark))
			return true;
	}
	return false;
}

/* Write the directory that holds all of the program: its package, or the file alone. */
static void find_package(const char *file, const char *home, char ret[IPC_PATH_MAX])
{
	char path[IPC_PATH_MAX];

	format_text(ret, IPC_PATH_MAX, "%s", file);
	if (cut_store(ret) || cut_modules(ret))
		return;
	format_text(path, sizeof(path), "%s", file);
	if (!cut_package(path, "package.json")) {
		format_text(path, sizeof(path), "%s", file);
		if (!cut_package(path, "pyvenv.cfg"))
			return;
	}
	if (!home || !path_is_within(home, path)) /* the home itself is no package */
		format_text(ret, IPC_PATH_MAX, "%s", path);
}

/* Is the directory one that many programs share? Then it is not shown as a whole. */
static bool is_shared(const char *folder, const char *home)
{
	char local[IPC_PATH_MAX];

	format_text(local, sizeof(local), "%s/.local", home ? home : "");
	return strcmp(folder, "/opt") == 0 || (home && path_is_within(home, folder)) ||
	       (home && strcmp(folder, local) == 0) || strcmp(folder, "") == 0;
}

/* Write the prefix of an interpreter, the directory around "bin", or the file alone. */
static void find_prefix(const char *file, const char *home, char ret[IPC_PATH_MAX])
{
	char path[IPC_PATH_MAX];

	format_text(ret, IPC_PATH_MAX, "%s", file);
	format_text(path, sizeof(path), "%s", file);
	if (cut_last(path) && strcmp(last_part(path), "bin") == 0 && cut_last(path) &&
	    !is_shared(path, home))
		format_text(ret, IPC_PATH_MAX, "%s", path);
}

/* Show the interpreter, and its real file where a virtual environment links to it. */
static void bind_interpreter(struct agent_program *program, const char *home)
{
	char path[IPC_PATH_MAX], real[PATH_MAX];

	find_prefix(program->interpreter, home, path);
	add_bind(program, path);
	if (realpath(program->interpreter, real) && strcmp(real, program->interpreter) != 0) {
		find_prefix(real, home, path);
		add_bind(program, path);
	}
	format_text(program->path, sizeof(program->path), "%s", program->interpreter);
	(void)cut_last(program->path);
}

static void collect_binds(struct agent_program *program, const char *home)
{
	char path[IPC_PATH_MAX];

	find_package(program->file, home, path);
	add_bind(program, path);
	if (program->interpreter[0] && !is_shown(program->interpreter))
		bind_interpreter(program, home);
}

enum agent_search agent_find(const struct agent_row *row, const struct agent_places *places,
			     struct agent_program *ret)
{
	bool is_found = false;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t i = 0; i < row->programs.count && !is_found; i++)
		is_found = search_path(places->path, row->programs.list[i], ret) ||
			   search_folders(places->home, row->programs.list[i], ret);
	if (!is_found)
		return AGENT_NOT_FOUND;
	if (!find_interpreter(places, ret))
		return AGENT_NO_INTERPRETER;
	collect_binds(ret, places->home);
	return AGENT_FOUND;
}
