/* SPDX-License-Identifier: Apache-2.0
 *
 * The classes of a change in the order of its danger: obeyed by the host by itself, a way out of
 * the project, executed by a tool that somebody starts. Ignored files are not asked about, with the
 * exceptions of ignored.h; files that the operator or the host names always are.
 */
#include "held.h"

#include <string.h>

#include "common/changes.h"
#include "held_links.h"
#include "ignored/ignored.h"

/* The operator's word for all of held_tools.def, among his patterns. */
#define TOOLS_WORD "@tools"

/* Directories in one another; what lies deeper is held, as no project needs it. */
#define DEPTH_MAX 64

enum {
	BY_ITSELF = 1,
	BY_TOOL = 2,
	WAY_OUT = 4,
};

static const char *const tools[] = {
#define TOOL(pattern, reason) pattern,
#include "held_tools.def"
#undef TOOL
};

static const char *patterns_of(const struct job *job)
{
	return (const char *)job->ask->held;
}

static bool holds_tools(const struct job *job)
{
	const char *pattern = patterns_of(job);
	const char *end = pattern + job->ask->held_size;

	while (pattern < end && strcmp(pattern, TOOLS_WORD) != 0)
		pattern += strlen(pattern) + 1;
	return pattern < end;
}

static bool is_tool(const char *path, bool is_below)
{
	char folded[IPC_PATH_MAX];

	held_fold(path, folded);
	return held_matches_any(tools, sizeof(tools) / sizeof(tools[0]), folded, is_below);
}

/* In a tree that is ignored, and no name above or at that tree is held itself. */
static bool is_lifted(const struct job *job, const char *path)
{
	const size_t size = ignored_tree(job, path);
	char tree[IPC_PATH_MAX];

	memcpy(tree, path, size);
	tree[size] = '\0';
	return size > 0 && !held_is_path(tree, "", 0);
}

/* The time to judge a path grows with the names in it, and a workload makes as many as it likes. */
static bool is_too_deep(const char *path)
{
	unsigned depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth > DEPTH_MAX;
}

static unsigned judge_path(const struct job *job, const char *path)
{
	if (is_too_deep(path) || held_links_lead_to(job, path) ||
	    held_is_operators(path, patterns_of(job), job->ask->held_size) ||
	    (held_is_path(path, "", 0) && !is_lifted(job, path)))
		return BY_ITSELF;
	return is_tool(path, false) && !ignored_is(job, path, false) ? BY_TOOL : 0;
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
	    held_is_above(path, patterns_of(job), job->ask->held_size))
		return BY_ITSELF;
	return is_tool(path, true) && !ignored_is(job, path, false) ? BY_TOOL : 0;
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
	return found | judge_path(job, end);
}

static uint32_t flags_of(const struct job *job, unsigned found)
{
	const bool is_held = (found & (BY_ITSELF | WAY_OUT)) || (found && holds_tools(job));

	return (is_held ? CHANGE_IS_HELD : 0) | (found & WAY_OUT ? CHANGE_LEADS_OUT : 0) |
	       (found == BY_TOOL ? CHANGE_IS_TOOL : 0);
}

uint32_t held_entry_flags(const struct job *job, const char *path, const char *target)
{
	return flags_of(job, judge_path(job, path) | (target ? judge_link(job, path, target) : 0));
}

uint32_t held_flags(const struct job *job, const struct difference *difference)
{
	unsigned found = judge_path(job, difference->path);
	char target[IPC_PATH_MAX];

	if (difference->old_path[0])
		found |= judge_path(job, difference->old_path);
	if (S_ISLNK(difference->now.st_mode))
		found |= tree_link(&job->directories, difference, false, target) < 0
				 ? WAY_OUT
				 : judge_link(job, difference->path, target);
	return flags_of(job, found);
}

bool held_is(const struct job *job, const struct difference *difference)
{
	return held_flags(job, difference) & CHANGE_IS_HELD;
}
