/* SPDX-License-Identifier: Apache-2.0 */
#include "show/missing_program.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "frontend/utf8.h"
#include "launcher/host/account.h"
#include "launcher/host/bind.h"
#include "launcher/host/mounts.h"
#include "launcher/host/protected.h"
#include "launcher/host/shown.h"

#define BIN "/bin"

/* Directories of small programs that start another one of the same name, and the places of that
 * one, below the home. */
static const char *const shims[][2] = {
	{ ".asdf/shims", ".asdf/installs/*/*" },
	{ ".cargo/bin", ".rustup/toolchains/*" },
	{ ".local/share/mise/shims", ".local/share/mise/installs/*/*" },
	{ ".pyenv/shims", ".pyenv/versions/*" },
	{ ".rbenv/shims", ".rbenv/versions/*" },
	{ ".volta/bin", ".volta/tools/image/*/*" },
};

/* One search. */
struct search {
	const struct plan *plan;
	const struct plan_profile *profile;
	const char *name;
	char found[IPC_PATH_MAX];  /* the program */
	char folder[IPC_PATH_MAX]; /* to be shown; empty: none may be */
};

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

/* Does the profile show the host's path in its own place? */
static bool is_shown(const struct search *search, const char *path)
{
	const struct plan_mount *mounts = plan_mounts(search->plan, search->profile);

	for (uint32_t i = 0; i < search->profile->mount_count; i++) {
		const char *target = plan_string(search->plan, mounts[i].target);

		if ((mounts[i].kind == PLAN_BIND || mounts[i].kind == PLAN_OVERLAY) &&
		    path_is_within(path, target) &&
		    strcmp(plan_string(search->plan, mounts[i].source), target) == 0)
			return true;
	}
	return false;
}

/* Would --ro accept it? */
static bool is_accepted(const struct search *search, const char *folder)
{
	const struct protected_set set = protected_set_of(search->plan);
	int fd FD_OWNED = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char problem[SHOWN_TEXT_MAX];
	struct mounts mounts;
	bool result;

	if (fd < 0 || bind_check_inside(folder) || mounts_read(&mounts) != 0)
		return false;
	result = shown_check(fd, folder, PROTECTED_READ, &mounts, &set, problem) == 0;
	mounts_done(&mounts);
	return result;
}

/* Have the folder of a program, the one around "bin", if it may be shown. False: it may not. */
static bool try_program(struct search *search, const char *program)
{
	char folder[IPC_PATH_MAX];
	char *slash;

	format_text(folder, sizeof(folder), "%s", program);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return false;
	*slash = '\0';
	slash = strrchr(folder, '/');
	if (slash && slash != folder && strcmp(slash, BIN) == 0)
		*slash = '\0';
	if (!is_accepted(search, folder))
		return false;
	format_text(search->folder, sizeof(search->folder), "%s", folder);
	format_text(search->found, sizeof(search->found), "%s", program);
	return true;
}

/* Look where a shim finds its program; the last match is mostly the newest version. */
static void try_shims(struct search *search, const char *folder)
{
	const char *home = account_home();
	char path[2 * IPC_PATH_MAX];
	glob_t list;

	for (size_t i = 0; home && i < sizeof(shims) / sizeof(shims[0]); i++) {
		format_text(path, sizeof(path), "%s/%s", home, shims[i][0]);
		if (strcmp(path, folder) != 0)
			continue;
		format_text(path, sizeof(path), "%s/%s" BIN "/%s", home, shims[i][1], search->name);
		if (glob(path, 0, NULL, &list) != 0)
			continue;
		for (size_t last = list.gl_pathc; last > 0; last--) {
			if (is_program(list.gl_pathv[last - 1]) &&
			    try_program(search, list.gl_pathv[last - 1]))
				break;
		}
		globfree(&list);
	}
}

/* Look in one directory of PATH. False: the program is not there. */
static bool try_folder(struct search *search, const char *folder)
{
	char path[IPC_PATH_MAX + IPC_NAME_MAX], real[PATH_MAX], file[PATH_MAX];

	format_text(path, sizeof(path), "%s/%s", folder, search->name);
	if (folder[0] != '/' || !is_program(path) || !realpath(folder, real) ||
	    !realpath(path, file))
		return false;
	format_text(search->found, sizeof(search->found), "%s", path);
	format_text(path, sizeof(path), "%s/%s", real, search->name);
	if (!is_shown(search, path) && !try_program(search, path)) {
		try_shims(search, real);
		if (!search->folder[0])
			(void)try_program(search, file);
	}
	return true;
}

static bool search_path(struct search *search)
{
	const char *path = getenv("PATH");
	char folder[IPC_PATH_MAX];

	for (; path && *path; path += path[strcspn(path, ":")] == ':' ? strcspn(path, ":") + 1
								      : strcspn(path, ":")) {
		format_text(folder, sizeof(folder), "%.*s", (int)strcspn(path, ":"), path);
		if (try_folder(search, folder))
			return true;
	}
	return false;
}

static void print_search(struct search *search, char text[MISSING_PROGRAM_TEXT_MAX])
{
	char bin[IPC_PATH_MAX];

	utf8_make_line(search->found);
	utf8_make_line(search->folder);
	format_text(bin, sizeof(bin), "%s", search->found);
	*strrchr(bin, '/') = '\0';
	if (is_shown(search, search->found))
		format_text(text, MISSING_PROGRAM_TEXT_MAX,
			    "command not found: %s is at %.500s, also in this sandbox, but not on "
			    "its PATH: --env=PATH=%.500s:/usr/bin:/bin, or 'toolchain: [%.500s]' "
			    "in a profile",
			    search->name, search->found, bin, bin);
	else if (search->folder[0])
		format_text(text, MISSING_PROGRAM_TEXT_MAX,
			    "command not found: %s is at %.400s on this machine, which this "
			    "sandbox does not show: --ro=%.400s --env=PATH=%.400s:/usr/bin:/bin, "
			    "or 'toolchain: [%.400s]' in a profile",
			    search->name, search->found, search->folder, bin, search->folder);
	else
		format_text(text, MISSING_PROGRAM_TEXT_MAX,
			    "command not found: %s is at %.500s on this machine, where no sandbox "
			    "may look: install it below /usr/local, or in a folder that --ro can "
			    "show",
			    search->name, search->found);
}

bool missing_program_describe(const struct plan *plan, const char *profile, const char *name,
			      char text[MISSING_PROGRAM_TEXT_MAX])
{
	static struct search search;

	search = (struct search){ .plan = plan,
				  .profile = profile_find(plan, profile),
				  .name = name };
	if (!search.profile || profile_has_image(plan, profile) || strchr(name, '/') ||
	    name[0] == '\0' || strlen(name) >= IPC_NAME_MAX || strpbrk(name, "*?[\\") ||
	    !search_path(&search))
		return false;
	print_search(&search, text);
	return true;
}

/* Find the end of the name, before one of these phrases at the end of a line. */
static const char *find_phrase(const char *line, size_t size)
{
	static const char *const phrases[] = { ": command not found", ": not found" };

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		const size_t length = strlen(phrases[i]);

		if (size > length && memcmp(line + size - length, phrases[i], length) == 0)
			return line + size - length;
	}
	return NULL;
}

bool missing_program_read(const char *tail, size_t size, char *ret, size_t room)
{
	bool is_found = false;

	while (size > 0) {
		const char *line_end = memchr(tail, '\n', size);
		const size_t line = line_end ? (size_t)(line_end - tail) : size;
		const char *end = find_phrase(tail, line - (line > 0 && tail[line - 1] == '\r'));
		const char *begin = end;

		while (begin && begin > tail && begin[-1] != ' ')
			begin--;
		if (begin && begin < end && (size_t)(end - begin) < room) {
			format_text(ret, room, "%.*s", (int)(end - begin), begin);
			is_found = true;
		}
		size -= line + (line_end != NULL);
		tail += line + (line_end != NULL);
	}
	return is_found;
}
