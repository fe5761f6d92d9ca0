/* SPDX-License-Identifier: Apache-2.0
 *
 * A path is walked name by name in its absolute form, so that ".." is what the kernel takes it for
 * and a way that leaves the workspace may come back. Links outside of the workspace are out of
 * sight: a way out that has the workspace's own name in it is taken to come back there.
 */
#include "layers/base/held_links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "layers/base/beneath.h"
#include "layers/base/held.h"
#include "lib/heap/grow.h"

/* Links in one path that the kernel follows: MAXSYMLINKS of include/linux/namei.h. */
#define FOLLOWED_MAX 40

/* Directories and links in held directories, and bytes of the paths that links lead to: a second of
 * work, and 10,000 links of a hundred bytes. Beyond them all is held. */
#define NAMES_MAX (1U << 18)
#define TARGETS_MAX (1U << 20)

/* The workspace's name in the sandbox, where it has none on the host. */
#define NO_WORKSPACE "/workspace"

/* Stores of other version control systems: hundreds of thousands of files, none executed. */
static const char *const stores[] = { ".git/objects", ".hg/store", ".svn/pristine" };

/* Paths with a NUL after each. */
struct list {
	char *bytes;
	size_t size, room;
};

static struct {
	bool is_read;
	bool is_lost; /* for want of memory, or beyond a bound */
	size_t names;
	struct list targets;     /* folded */
	struct list directories; /* still to be searched */
} links;

struct way {
	const struct job *job;
	bool keeps; /* each passed path is a target */
	unsigned followed;
	char at[IPC_PATH_MAX]; /* absolute, no link in it that can be seen; empty: the root */
	char rest[2 * IPC_PATH_MAX];
};

/* --- lists ------------------------------------------------------------------------------------ */

/* The search cannot be told to be whole. */
static bool is_lack(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

static void append_path(struct list *list, const char *path)
{
	links.is_lost |=
		!grow_bytes(&list->bytes, &list->room, &list->size, path, strlen(path) + 1);
}

/* Is one of the list's paths this one, or above it? */
static bool has_above(const struct list *list, const char *path)
{
	for (size_t at = 0; at < list->size; at += strlen(list->bytes + at) + 1) {
		const char *above = list->bytes + at;
		const size_t size = strlen(above);

		if (strncmp(path, above, size) == 0 && (path[size] == '\0' || path[size] == '/'))
			return true;
	}
	return false;
}

static bool is_target(const char *path)
{
	char folded[IPC_PATH_MAX];

	held_fold(path, folded);
	return has_above(&links.targets, folded);
}

static void add_target(const char *path)
{
	char folded[IPC_PATH_MAX];

	if (is_target(path))
		return;
	/* To the workspace itself: then any name in it may be the hook. */
	if (!path[0] || links.targets.size > TARGETS_MAX)
		links.is_lost = true;
	if (links.is_lost)
		return;
	held_fold(path, folded);
	append_path(&links.targets, folded);
	append_path(&links.directories, path);
}

/* --- one way ---------------------------------------------------------------------------------- */

static const char *workspace_of(const struct job *job)
{
	return job->ask->workspace[0] ? job->ask->workspace : NO_WORKSPACE;
}

/* The part of an absolute path beneath the workspace; NULL: it lies elsewhere. */
static const char *find_inside(const struct job *job, const char *at)
{
	const char *workspace = workspace_of(job);
	const size_t size = strlen(workspace);

	if (strncmp(at, workspace, size) != 0 || (at[size] != '\0' && at[size] != '/'))
		return NULL;
	return at + size + (at[size] == '/');
}

static void leave_name(struct way *way)
{
	char *slash = strrchr(way->at, '/');

	if (slash)
		*slash = '\0';
}

/* Replace the last name by where it leads, if it is a link. */
static int follow_link(struct way *way)
{
	const char *inside = find_inside(way->job, way->at);
	char target[IPC_PATH_MAX], rest[sizeof(way->rest)];
	int size;

	if (!inside || !*inside || way->job->directories.host < 0)
		return 0;
	size = beneath_link(way->job->directories.host, inside, target);
	if (is_lack(size) || size == -ENAMETOOLONG)
		return size;
	if (size <= 0)
		return 0; /* no link, or out of the reach of the host's user, too */
	if (way->keeps)
		add_target(inside);
	if (++way->followed > FOLLOWED_MAX)
		return -ELOOP;
	size = snprintf(rest, sizeof(rest), "%s/%s", target, way->rest);
	if (size < 0 || (size_t)size >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(way->rest, rest, (size_t)size + 1);
	if (target[0] == '/')
		way->at[0] = '\0';
	else
		leave_name(way);
	return 0;
}

/* 0 with the end in `at`; -ELOOP, -ENAMETOOLONG, or what the system lacks. */
static int walk_way(struct way *way)
{
	int error = 0;

	while (error == 0 && way->rest[0]) {
		char name[256];
		const size_t size = strcspn(way->rest, "/");
		const size_t used = strlen(way->at);

		if (size >= sizeof(name) || used + size + 2 > sizeof(way->at))
			return -ENAMETOOLONG;
		memcpy(name, way->rest, size);
		name[size] = '\0';
		memmove(way->rest, way->rest + size + (way->rest[size] == '/'),
			strlen(way->rest + size + (way->rest[size] == '/')) + 1);
		if (strcmp(name, "..") == 0) {
			leave_name(way);
		} else if (size > 0 && strcmp(name, ".") != 0) {
			(void)snprintf(way->at + used, sizeof(way->at) - used, "/%s", name);
			error = follow_link(way);
		}
	}
	return error;
}

static int walk_link(struct way *way, const char *path, const char *target)
{
	const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
	const int size = snprintf(way->rest, sizeof(way->rest), "%.*s/%s",
				  slash ? (int)(slash - path) : 0, path, target);

	if (size < 0 || (size_t)size >= sizeof(way->rest))
		return -ENAMETOOLONG;
	if (target[0] != '/')
		(void)snprintf(way->at, sizeof(way->at), "%s", workspace_of(way->job));
	return walk_way(way);
}

bool held_links_follow(const struct job *job, const char *path, const char *target,
		       char ret[IPC_PATH_MAX])
{
	struct way way = { .job = job };
	const int error = walk_link(&way, path, target);
	const char *inside = error ? NULL : find_inside(job, way.at);

	if (inside)
		(void)snprintf(ret, IPC_PATH_MAX, "%s", inside);
	return inside != NULL;
}

/* --- the host's links ------------------------------------------------------------------------- */

/* The workspace under another name, through a link or a mount outside of it. */
static void add_aliases(const struct job *job, const char *at)
{
	const char *name = strrchr(workspace_of(job), '/') + 1;
	const size_t size = strlen(name);

	for (; at; at = strchr(at + 1, '/')) {
		if (*at == '/' && strncmp(at + 1, name, size) == 0 && at[1 + size] == '/')
			add_target(at + 1 + size + 1);
	}
}

static void add_link(const struct job *job, const char *path)
{
	struct way way = { .job = job, .keeps = true };
	/* The link itself is walked, too, so that it is one of those that are passed. */
	const int error = walk_link(&way, "", path);
	const char *inside = find_inside(job, way.at);

	if (error && error != -ELOOP)
		links.is_lost = true;
	else if (!error && inside)
		add_target(inside);
	else if (!error)
		add_aliases(job, way.at);
}

static bool is_in_zone(const struct job *job, const char *path)
{
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		if (strcmp(path, stores[i]) == 0)
			return false;
	}
	return held_is_path(path, (const char *)job->ask->held, job->ask->held_size, false) ||
	       is_target(path);
}

static void search_name(const struct job *job, const char *directory, const char *name)
{
	char path[IPC_PATH_MAX];
	struct stat status = { 0 };
	const int size =
		snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "", name);

	if (size < 0 || (size_t)size >= sizeof(path) || ++links.names > NAMES_MAX ||
	    (is_in_zone(job, path) && is_lack(beneath_look(job->directories.host, path, &status))))
		links.is_lost = true;
	if (S_ISLNK(status.st_mode))
		add_link(job, path);
	else if (S_ISDIR(status.st_mode))
		append_path(&links.directories, path);
}

/* A target that is no directory has no names. */
static void search_directory(const struct job *job, const char *path)
{
	struct beneath_names names = { 0 };
	int directory = beneath_directory(job->directories.host, path);

	if (directory >= 0 && beneath_names_add(&names, directory, false) == 0 &&
	    beneath_names_sort(&names) == 0) {
		for (size_t i = 0; i < names.count && !links.is_lost; i++)
			search_name(job, path, names.names[i]);
	} else if (directory >= 0 || is_lack(directory)) {
		links.is_lost = true;
	}
	beneath_names_free(&names);
	fd_close(&directory);
}

static void search_links(const struct job *job)
{
	char path[IPC_PATH_MAX];

	search_directory(job, "");
	for (size_t at = 0; at < links.directories.size && !links.is_lost;) {
		const size_t size = strlen(links.directories.bytes + at) + 1;

		memcpy(path, links.directories.bytes + at, size); /* the list moves as it grows */
		search_directory(job, path);
		at += size;
	}
}

/* Follow a name in git's configuration like a link. */
static void add_named(const struct job *job)
{
	for (size_t at = 0; at < job->named_size; at += strlen(job->named + at) + 1) {
		struct way way = { .job = job, .keeps = true };
		const int error = walk_link(&way, "", job->named + at);
		const char *inside = error ? NULL : find_inside(job, way.at);

		if (inside)
			add_target(inside);
		links.is_lost |= is_lack(error);
	}
}

static void read_once(const struct job *job)
{
	if (!links.is_read && job->directories.host >= 0) {
		add_named(job);
		search_links(job);
	}
	links.is_read = true;
}

bool held_links_lead_to(const struct job *job, const char *path)
{
	read_once(job);
	return links.is_lost || is_target(path);
}

bool held_links_lead_below(const struct job *job, const char *path)
{
	char folded[IPC_PATH_MAX];
	size_t size;

	read_once(job);
	held_fold(path, folded);
	size = strlen(folded);
	for (size_t at = 0; at < links.targets.size; at += strlen(links.targets.bytes + at) + 1) {
		if (strncmp(links.targets.bytes + at, folded, size) == 0 &&
		    links.targets.bytes[at + size] == '/')
			return true;
	}
	return links.is_lost;
}
