/* SPDX-License-Identifier: Apache-2.0
 *
 * A candidate lies inside a protected path when the candidate's walk (protected_walk.h) meets it,
 * and contains it when the protected path's walk meets the candidate. Walks start from every name
 * that a file has through bind mounts.
 */
#include "launcher/host/protected.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/protected_walk.h"
#include "launcher/host/state_place.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The paths that a rule refuses, beside the protected one itself. */
static const struct {
	bool is_inside_free;
	bool is_around_free; /* a path that contains it may be shown */
	bool is_for_writing; /* not for paths that are only read */
	const char *why;
} rules[] = {
	[PROTECTED_SECRET] = { .why = "which holds what no sandbox may see (keys, tokens, "
				      "histories, the system's own state). Name a folder that "
				      "keeps "
				      "clear of it, or copy what is needed into one" },
	[PROTECTED_HOME] = { .is_inside_free = true,
			     .why = "which holds what no sandbox may see (keys, tokens, "
				    "histories). Name a folder in it that is not hidden" },
	[PROTECTED_SHARED] = { .is_inside_free = true,
			       .why = "which all programs share. Make a folder in it, and name "
				      "that" },
	[PROTECTED_HIDDEN] = { .why = "and hidden files of a home are settings, credentials and "
				      "what starts by itself. Copy what is needed into another "
				      "folder, or name this one under 'unprotect' in the "
				      "configuration" },
	[PROTECTED_STARTED] = { .is_for_writing = true,
				.why = "from where this machine starts programs. Work on another "
				       "folder, and install from there" },
	[PROTECTED_SEARCHED] = { .is_around_free = true,
				 .is_for_writing = true,
				 .why = "where this machine looks for programs (PATH). Work on "
					"another folder, and install from there" },
};

struct place {
	const char *path;
	enum protected_rule rule;
};

static const struct place system_places[] = {
#define SYSTEM(path, rule) { path, PROTECTED_##rule },
#include "common/plan/protected.def"
};

static const struct place home_places[] = {
#define HOME(path, rule) { path, PROTECTED_##rule },
#include "common/plan/protected.def"
};

static const char *const readable[] = {
#define READABLE(path) path,
#include "common/plan/protected.def"
};

/* Directories of settings and data that need not be in a home, as the XDG base directory
 * specification and systemd name them. */
static const char *const variables[PROTECTED_HIDDEN_MAX] = {
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
};

struct candidate {
	int fd;
	enum protected_use use;
	const struct mounts *mounts;
	struct identity identity;
	struct walk above; /* it and every folder above it, by all of its names */
	size_t own_steps;  /* the steps of the name in the request */
	bool is_opened;    /* an exception holds for it: hidden files are as others */
};

static int compare_path(const struct candidate *candidate, const char *path,
			enum protected_rule rule, enum protected_verdict *ret)
{
	static struct walk walk; /* too large for the stack; one thread */
	char nearest[4096];
	struct identity identity = { 0 };
	bool is_exact;
	int fd FD_OWNED = walk_open_nearest(path, nearest, &is_exact);
	int error;

	*ret = PROTECTED_FREE;
	if (fd < 0)
		return fd;
	error = walk_identify(fd, &identity);
	if (error)
		return error;
	if (is_exact && walk_is_same(&identity, &candidate->identity))
		*ret = PROTECTED_IS;
	else if (is_exact && !rules[rule].is_inside_free &&
		 walk_meets(&candidate->above, &identity))
		*ret = PROTECTED_INSIDE;
	if (*ret != PROTECTED_FREE || rules[rule].is_around_free)
		return 0;
	walk.count = 0;
	error = walk_real_name(fd, nearest);
	if (!error)
		error = walk_from(fd, nearest, &walk);
	if (!error)
		error = walk_from_others(fd, nearest, candidate->mounts, &walk);
	if (!error && walk_meets(&walk, &candidate->identity))
		*ret = PROTECTED_CONTAINS;
	return error;
}

/* Compare with one path and put what is found into the answer; false ends the search. */
static bool compare_into(const struct candidate *candidate, const char *path,
			 enum protected_rule rule, struct protected_answer *answer)
{
	int error;

	if (rules[rule].is_for_writing && candidate->use != PROTECTED_WRITTEN)
		return true;
	error = compare_path(candidate, path, rule, &answer->verdict);
	if (error) {
		answer->verdict = PROTECTED_ERROR;
		answer->error = -error;
	}
	answer->rule = rule;
	format_text(answer->path, sizeof(answer->path), "%s", path);
	return answer->verdict == PROTECTED_FREE;
}

static bool compare_places(const struct candidate *candidate, const char *home,
			   const struct place *places, size_t count, bool is_secret,
			   struct protected_answer *answer)
{
	for (size_t i = 0; i < count; i++) {
		char path[4096];

		if ((places[i].rule == PROTECTED_SECRET) != is_secret)
			continue;
		format_text(path, sizeof(path), "%s%s%s", home, home[0] ? "/" : "", places[i].path);
		if (!compare_into(candidate, path, places[i].rule, answer))
			return false;
	}
	return true;
}

/* The path after this one in a list. */
static const char *next_path(const char *path)
{
	return path + strlen(path) + 1;
}

static bool compare_list(const struct candidate *candidate, const struct protected_set *set,
			 struct protected_answer *answer)
{
	const char *end = set->protect + set->protect_size;

	for (const char *path = set->protect; path < end; path = next_path(path)) {
		if (!compare_into(candidate, path, PROTECTED_SECRET, answer))
			return false;
	}
	return true;
}

/* Return whether something is there, and what. */
static bool identify_path(const char *path, struct identity *ret)
{
	int fd FD_OWNED = kernel_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS);

	return fd >= 0 && walk_identify(fd, ret) == 0;
}

/* --- hidden files ----------------------------------------------------------------------------- */

/* Is it this path or inside, by its own name alone? That another mount leads there does not make it
 * a part of that. A path that cannot be opened holds nothing. */
static bool is_in(const struct candidate *candidate, const char *path)
{
	struct identity identity = { 0 };

	return identify_path(path, &identity) &&
	       walk_steps_meet(&candidate->above, candidate->own_steps, &identity);
}

static bool is_in_any(const struct candidate *candidate, const char *list, uint32_t size)
{
	for (const char *path = list; path < list + size; path = next_path(path)) {
		if (is_in(candidate, path))
			return true;
	}
	return false;
}

static bool is_in_home(const struct candidate *candidate, const struct protected_set *set,
		       const char *name)
{
	for (size_t i = 0; i < PROTECTED_HOMES_MAX; i++) {
		char path[4096];

		format_text(path, sizeof(path), "%s/%s", set->homes[i] ? set->homes[i] : "", name);
		if (set->homes[i] && is_in(candidate, path))
			return true;
	}
	return false;
}

static bool is_readable(const struct candidate *candidate, const struct protected_set *set)
{
	for (size_t i = 0; i < COUNT(readable); i++) {
		if (readable[i][0] == '/' ? is_in(candidate, readable[i])
					  : is_in_home(candidate, set, readable[i]))
			return true;
	}
	return false;
}

/* A home whose names we may not read: what lies in it may be hidden. */
static bool fail_unlisted(const struct candidate *candidate, const char *home, int error,
			  struct protected_answer *answer)
{
	struct identity identity = { 0 };

	if (!identify_path(home, &identity) || !walk_meets(&candidate->above, &identity))
		return true;
	answer->verdict = PROTECTED_ERROR;
	answer->error = error;
	format_text(answer->path, sizeof(answer->path), "%s", home);
	return false;
}

/* Is it a file or folder of this directory: no link, and nothing that is mounted there? */
static bool identify_own(int directory, const char *name, struct identity *ret)
{
	int fd FD_OWNED =
		kernel_openat2(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_NO_XDEV);
	struct stat status;
	const bool is_own = fd >= 0 && fstat(fd, &status) == 0 && !S_ISLNK(status.st_mode);

	if (is_own)
		*ret = (struct identity){ status.st_dev, status.st_ino };
	return is_own;
}

/* Compare with an entry of a home. What contains the home's own contains the home, which has been
 * compared with. */
static bool compare_entry(const struct candidate *candidate, const char *home, int directory,
			  const char *name, struct protected_answer *answer)
{
	struct identity identity = { 0 };
	char path[4096];

	format_text(path, sizeof(path), "%s/%s", home, name);
	if (!identify_own(directory, name, &identity))
		return compare_into(candidate, path, PROTECTED_HIDDEN, answer);
	if (!walk_meets(&candidate->above, &identity))
		return true;
	answer->verdict =
		walk_is_same(&identity, &candidate->identity) ? PROTECTED_IS : PROTECTED_INSIDE;
	answer->rule = PROTECTED_HIDDEN;
	format_text(answer->path, sizeof(answer->path), "%s", path);
	return false;
}

/* Each entry counts as what it leads to, so that a link makes that hidden, too. */
static bool compare_hidden(const struct candidate *candidate, const char *home,
			   struct protected_answer *answer)
{
	DIR *directory = opendir(home);
	const struct dirent *entry;
	bool is_free = true;

	if (!directory)
		return fail_unlisted(candidate, home, errno, answer);
	for (errno = 0; is_free && (entry = readdir(directory)); errno = 0) {
		const char *name = entry->d_name;

		if (name[0] == '.' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
			is_free = compare_entry(candidate, home, dirfd(directory), name, answer);
	}
	if (is_free && errno)
		is_free = fail_unlisted(candidate, home, errno, answer);
	(void)closedir(directory);
	return is_free;
}

static bool compare_all_hidden(const struct candidate *candidate, const struct protected_set *set,
			       struct protected_answer *answer)
{
	if (candidate->is_opened)
		return true;
	for (size_t i = 0; i < PROTECTED_HOMES_MAX; i++) {
		if (set->homes[i] && !compare_hidden(candidate, set->homes[i], answer))
			return false;
	}
	for (size_t i = 0; i < PROTECTED_HIDDEN_MAX; i++) {
		if (set->hidden[i] &&
		    !compare_into(candidate, set->hidden[i], PROTECTED_HIDDEN, answer))
			return false;
	}
	return true;
}

/* --- the whole set ---------------------------------------------------------------------------- */

/* "/a:/b"; what is not absolute is wherever a program is. */
static bool compare_searched(const struct candidate *candidate, const char *search,
			     struct protected_answer *answer)
{
	while (search && *search) {
		const size_t size = strcspn(search, ":");
		char path[4096];

		format_text(path, sizeof(path), "%.*s", (int)size, search);
		if (path[0] == '/' && !compare_into(candidate, path, PROTECTED_SEARCHED, answer))
			return false;
		search += size + (search[size] == ':');
	}
	return true;
}

/* With `is_secret` what no exception opens, and which is the better reason where both hold. */
static bool compare_fixed(const struct candidate *candidate, const struct protected_set *set,
			  bool is_secret, struct protected_answer *answer)
{
	for (size_t i = 0; i < PROTECTED_HOMES_MAX; i++) {
		const char *home = set->homes[i];

		if (!home)
			continue;
		if ((is_secret && !compare_into(candidate, home, PROTECTED_HOME, answer)) ||
		    !compare_places(candidate, home, home_places, COUNT(home_places), is_secret,
				    answer))
			return false;
	}
	return compare_places(candidate, "", system_places, COUNT(system_places), is_secret,
			      answer);
}

static int begin_candidate(struct candidate *candidate, const char *path)
{
	int error = walk_identify(candidate->fd, &candidate->identity);

	candidate->above.count = 0;
	if (!error)
		error = walk_from(candidate->fd, path, &candidate->above);
	candidate->own_steps = candidate->above.count;
	if (!error)
		error = walk_from_others(candidate->fd, path, candidate->mounts, &candidate->above);
	return error;
}

struct protected_answer protected_check(int fd, const char *path, enum protected_use use,
					const struct mounts *mounts,
					const struct protected_set *set)
{
	static struct candidate candidate; /* too large for the stack; one thread */
	struct protected_answer answer = { .verdict = PROTECTED_FREE };
	int error;

	candidate.fd = fd;
	candidate.use = use;
	candidate.mounts = mounts;
	error = begin_candidate(&candidate, path);
	if (error) {
		answer.verdict = PROTECTED_ERROR;
		answer.error = -error;
		format_text(answer.path, sizeof(answer.path), "/");
		return answer;
	}
	candidate.is_opened = is_in_any(&candidate, set->unprotect, set->unprotect_size) ||
			      (use == PROTECTED_READ && is_readable(&candidate, set));
	if (!compare_fixed(&candidate, set, true, &answer) ||
	    !compare_list(&candidate, set, &answer) ||
	    (set->state && !compare_into(&candidate, set->state, PROTECTED_SECRET, &answer)) ||
	    !compare_fixed(&candidate, set, false, &answer) ||
	    (set->temporary &&
	     !compare_into(&candidate, set->temporary, PROTECTED_SHARED, &answer)) ||
	    !compare_searched(&candidate, set->search, &answer) ||
	    !compare_all_hidden(&candidate, set, &answer))
		return answer;
	if (set->workspaces_size > 0 &&
	    !is_in_any(&candidate, set->workspaces, set->workspaces_size))
		answer.verdict = PROTECTED_OUTSIDE;
	return answer;
}

bool protected_lies_in(int fd, const int *directories, size_t count)
{
	static struct walk walk; /* too large for the stack; one thread */
	struct identity identity = { 0 };
	char path[4096];

	walk.count = 0;
	if (walk_real_name(fd, path) != 0 || walk_from(fd, path, &walk) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (walk_identify(directories[i], &identity) == 0 && walk_meets(&walk, &identity))
			return true;
	}
	return false;
}

/* "/a, /b", as much as fits. */
static void join_list(const char *list, uint32_t size, char *text, size_t room)
{
	text[0] = '\0';
	for (const char *path = list; path < list + size; path = next_path(path))
		format_append(text, room, "%s%s", path == list ? "" : ", ", path);
}

void protected_describe(const struct protected_answer *answer, const char *path,
			const struct protected_set *set, char text[PROTECTED_TEXT_MAX])
{
	static const char *const relations[] = {
		[PROTECTED_IS] = "is",
		[PROTECTED_INSIDE] = "lies inside",
		[PROTECTED_CONTAINS] = "contains",
	};
	char workspaces[256];

	if (answer->verdict == PROTECTED_ERROR) {
		format_text(text, PROTECTED_TEXT_MAX,
			    "'%.300s' is refused: it could not be compared with the protected "
			    "path %.300s: %s",
			    path, answer->path, errno_text(answer->error));
	} else if (answer->verdict == PROTECTED_OUTSIDE) {
		join_list(set->workspaces, set->workspaces_size, workspaces, sizeof(workspaces));
		format_text(text, PROTECTED_TEXT_MAX,
			    "'%.300s' is refused: it lies in none of the workspaces that the "
			    "operator's file names (%s). Name a folder in one of them, or add "
			    "this one to 'workspaces'",
			    path, workspaces);
	} else {
		format_text(text, PROTECTED_TEXT_MAX, "'%.300s' is refused: it %s %.300s, %s", path,
			    relations[answer->verdict], answer->path, rules[answer->rule].why);
	}
}

static const char *absolute_variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] == '/' ? value : NULL;
}

struct protected_set protected_set_of(const struct plan *plan)
{
	static char state[IPC_PATH_MAX];
	char problem[STATE_PLACE_TEXT_MAX];
	const struct plan_header *header = plan_header(plan);
	struct protected_set set = {
		.protect = plan_string(plan, header->protect),
		.protect_size = header->protect_size,
		.workspaces = plan_string(plan, header->workspaces),
		.workspaces_size = header->workspaces_size,
		.unprotect = plan_string(plan, header->unprotect),
		.unprotect_size = header->unprotect_size,
		.search = getenv("PATH"),
		.temporary = absolute_variable("TMPDIR"),
	};
	const char *sudo_user = getenv("SUDO_USER");
	const char *const homes[] = { getenv("HOME"), account_listed_home(NULL),
				      sudo_user ? account_listed_home(sudo_user) : NULL };
	size_t count = 0;

	for (size_t i = 0; i < PROTECTED_HIDDEN_MAX; i++)
		set.hidden[i] = absolute_variable(variables[i]);
	set.state = state_place_find(STATE_PLACE_ALL, state, problem) ? state : NULL;
	for (size_t i = 0; i < COUNT(homes); i++) {
		if (homes[i] && homes[i][0] == '/' && homes[i][1] != '\0' &&
		    (i == 0 || !homes[i - 1] || strcmp(homes[i], homes[i - 1]) != 0))
			set.homes[count++] = homes[i];
	}
	return set;
}
