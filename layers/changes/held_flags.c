/* SPDX-License-Identifier: Apache-2.0
 *
 * The classes of a change in the order of its danger: obeyed by the host by itself, a way out of
 * the project, rules about the asking itself, executed by a tool that somebody starts, unknown but
 * of a kind that tools execute. Ignored files are not asked about, with the exceptions of
 * ignored.h; files that the operator or the host names always are.
 */
#include "layers/base/held.h"

#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/held_links.h"
#include "layers/ignored/ignored.h"

/* The operator's words among his patterns: for all of held_tools.def, and for dot files. */
#define TOOLS_WORD "@tools"
#define DOTS_WORD "@dotfiles"

/* Directories in one another; what lies deeper is held, as no project needs it. */
#define DEPTH_MAX 64

enum {
	BY_ITSELF = 1,
	BY_TOOL = 2,
	WAY_OUT = 4,
	RULES = 8,
	DOT = 16,
	WORST = BY_ITSELF | WAY_OUT | RULES, /* held whatever the operator says */
};

static const char *const tools[] = {
#define TOOL(pattern, reason) pattern,
#include "layers/changes/held_tools.def"
#undef TOOL
};

/* Files that decide what is asked about. */
static const char *const rules[] = { ".mspignore" };

/* Dot files, and files in dot directories. */
static const char *const dots[] = { ".*" };

static const char *const places[] = {
#define PLACE(pattern) pattern,
#include "layers/changes/held_places.def"
#undef PLACE
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *patterns_of(const struct job *job)
{
	return (const char *)job->ask->held;
}

static bool holds_all(const struct job *job, const char *word)
{
	const char *pattern = patterns_of(job);
	const char *end = pattern + job->ask->held_size;

	while (pattern < end && strcmp(pattern, word) != 0)
		pattern += strlen(pattern) + 1;
	return pattern < end;
}

#define MATCHES(table, path, is_below) held_matches_any(table, COUNT(table), path, is_below)

/* Judge what no rule of a person's word ignores: a tool's file, and a dot file. */
static unsigned judge_by_word(const struct job *job, const char *path, bool is_directory,
			      bool is_below)
{
	const unsigned found = (MATCHES(tools, path, is_below) ? BY_TOOL : 0) |
			       (MATCHES(dots, path, false) ? DOT : 0);

	return found && !ignored_is(job, IGNORED_BY_WORD, path, is_directory) ? found : 0;
}

/* In a tree that is ignored, and no name above or at that tree is held itself. */
static bool is_lifted(const struct job *job, const char *path)
{
	const size_t size = ignored_tree(job, path);
	char tree[IPC_PATH_MAX];

	memcpy(tree, path, size);
	tree[size] = '\0';
	return size > 0 && !held_is_path(tree, "", 0, false);
}

/* The time to judge a path grows with the names in it, and a workload makes as many as it likes. */
static bool is_too_deep(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth > DEPTH_MAX;
}

static unsigned judge_path(const struct job *job, const char *path, bool is_directory)
{
	if (is_too_deep(path) || held_links_lead_to(job, path) ||
	    held_is_operators(path, patterns_of(job), job->ask->held_size, false) ||
	    (held_is_path(path, "", 0, false) && !is_lifted(job, path)))
		return BY_ITSELF;
	return MATCHES(rules, path, false) ? RULES : judge_by_word(job, path, is_directory, false);
}

/* To write to a link is to write to where it leads, and to read it is to read from there. Names on
 * its way may be links that the sandbox has changed: as long as no ".." comes after one, none of
 * them leads out that is not found to do so itself. */
static bool leads_back(const char *target)
{
	bool has_name = false;

	for (; *target; target += strcspn(target, "/"), target += *target == '/') {
		const size_t size = strcspn(target, "/");
		const bool is_up = size == 2 && strncmp(target, "..", 2) == 0;

		if (is_up && has_name)
			return true;
		has_name |= !is_up && size > 0 && !(size == 1 && *target == '.');
	}
	return false;
}

/* A link above a name that is obeyed puts another directory in its place, whose files have names
 * that nobody holds. One that the host has at that name keeps the link out; else it comes. */
static unsigned judge_above(const struct job *job, const char *path)
{
	if (held_links_lead_below(job, path) ||
	    held_is_path(path, patterns_of(job), job->ask->held_size, true))
		return BY_ITSELF;
	return judge_by_word(job, path, false, true);
}

/* Links in an ignored tree may lead out unasked, so one that leads there from elsewhere may, too.
 */
static unsigned judge_link(const struct job *job, const char *path, const char *target)
{
	unsigned found;
	char end[IPC_PATH_MAX];

	if (is_too_deep(path) || is_too_deep(target))
		return BY_ITSELF;
	found = judge_above(job, path);
	if (leads_back(target) || !held_links_follow(job, path, target, end))
		return found | (is_lifted(job, path) ? 0 : WAY_OUT);
	if (is_lifted(job, end) && !is_lifted(job, path))
		found |= WAY_OUT;
	return found | judge_path(job, end, false);
}

static uint32_t flags_of(const struct job *job, unsigned found)
{
	const bool is_tools = (found & BY_TOOL) && holds_all(job, TOOLS_WORD);
	const bool is_dots = (found & DOT) && holds_all(job, DOTS_WORD);
	const uint32_t held = (found & WORST) || is_tools || is_dots ? CHANGE_IS_HELD : 0;

	if (found & WAY_OUT)
		return held | CHANGE_LEADS_OUT;
	if (found & (BY_ITSELF | RULES))
		return held | (found & BY_ITSELF ? 0 : CHANGE_IS_RULES);
	return held | (found & BY_TOOL ? CHANGE_IS_TOOL : is_dots ? CHANGE_MAY_RUN : 0);
}

uint32_t held_entry_flags(const struct job *job, const char *path, const char *target)
{
	return flags_of(job, judge_path(job, path, false) |
				     (target ? judge_link(job, path, target) : 0));
}

/* Does a file begin as a script does? */
static bool has_interpreter(const struct job *job, const struct difference *difference)
{
	char bytes[2];
	int file = tree_open(&job->directories, difference, false);
	const bool ret = file >= 0 && pread(file, bytes, sizeof(bytes), 0) == sizeof(bytes) &&
			 memcmp(bytes, "#!", sizeof(bytes)) == 0;

	fd_close(&file);
	return ret;
}

/* Is it a file that the host has never had there, or not as a program, and of a kind that tools
 * execute? No table of names is whole, and this one needs none. */
static bool may_run(const struct job *job, const struct difference *difference)
{
	const mode_t mode = difference->now.st_mode, any = S_IXUSR | S_IXGRP | S_IXOTH;
	const bool is_file = S_ISREG(mode);
	const bool is_new = difference->old.st_mode == 0 || difference->kind == CHANGE_RENAMED ||
			    difference->kind == CHANGE_TYPE;

	if (!is_file && !S_ISLNK(mode))
		return false;
	return (is_file && (mode & any) && (is_new || !(difference->old.st_mode & any))) ||
	       (is_new && MATCHES(places, difference->path, false)) ||
	       (is_file && is_new && has_interpreter(job, difference));
}

uint32_t held_flags(const struct job *job, const struct difference *difference)
{
	const mode_t mode =
		difference->now.st_mode ? difference->now.st_mode : difference->old.st_mode;
	unsigned found = judge_path(job, difference->path, S_ISDIR(mode));
	char target[IPC_PATH_MAX];
	uint32_t flags;

	if (difference->old_path[0])
		found |= judge_path(job, difference->old_path, false);
	if (S_ISLNK(difference->now.st_mode))
		found |= tree_link(&job->directories, difference, false, target) < 0
				 ? WAY_OUT
				 : judge_link(job, difference->path, target);
	flags = flags_of(job, found);
	if (flags == 0 && may_run(job, difference) &&
	    !ignored_is(job, IGNORED_BY_WORD, difference->path, false))
		flags = CHANGE_MAY_RUN;
	return flags;
}

bool held_is(const struct job *job, const struct difference *difference)
{
	return held_flags(job, difference) & CHANGE_IS_HELD;
}
