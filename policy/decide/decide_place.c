/* SPDX-License-Identifier: Apache-2.0
 *
 * Follow a path in the tree that a plan describes, and find the Landlock rules on the way.
 *
 * A mount hides older mounts below its target, so a name is looked up among the mounts that are
 * newer than the mount around it; then, in the base alone, among the files that records make there.
 * Landlock walks up the mounts to the root and compares inodes: a rule on a directory of the host
 * counts wherever that directory is shown.
 */
#include "policy/decide/decide_parts.h"

#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/kernel.h"

#define DEPTH_MAX 512U
#define LINKS_MAX 40U /* linux/namei.h: MAXSYMLINKS */

/* A directory on the way, or the end of the path. */
struct level {
	const struct plan_mount *cover;
	const struct plan_mount *record;
	uint32_t order; /* the cover's; 0: the base */
	uint32_t length;
	bool is_optional;
};

struct walk {
	const struct question *question;
	enum place_state state;
	uint32_t links;
	uint32_t depth; /* the current level's; 0: the root */
	struct level levels[DEPTH_MAX];
	char path[PLACE_PATH_MAX];
	char left[PLACE_PATH_MAX]; /* the rest of the path */
};

static const char *const kind_names[PLAN_MOUNT_KIND_COUNT] = {
	[PLAN_DIRECTORY] = "directory",
	[PLAN_SYMLINK] = "symlink",
	[PLAN_FILE] = "file",
	[PLAN_COPY] = "copy",
	[PLAN_BIND] = "bind",
	[PLAN_DEVICE] = "device",
	[PLAN_TMPFS] = "tmpfs",
	[PLAN_PROC] = "proc",
	[PLAN_DEVPTS] = "devpts",
	[PLAN_MASK] = "mask",
	[PLAN_OVERLAY] = "copy-on-write bind",
	[PLAN_IMAGE] = "image",
};

static const struct right {
	const char *word;
	uint64_t bit;
} rights[] = {
	{ "list", LANDLOCK_ACCESS_FS_READ_DIR },   { "read", LANDLOCK_ACCESS_FS_READ_FILE },
	{ "execute", LANDLOCK_ACCESS_FS_EXECUTE }, { "write", LANDLOCK_ACCESS_FS_WRITE_FILE },
	{ "create", LANDLOCK_ACCESS_FS_MAKE_REG }, { "ioctl", LANDLOCK_ACCESS_FS_IOCTL_DEV },
};

const char *mount_kind_name(const struct plan_mount *mount)
{
	return kind_names[mount->kind];
}

bool mount_is_host(const struct plan_mount *mount)
{
	return mount->kind == PLAN_BIND || mount->kind == PLAN_OVERLAY || mount->kind == PLAN_IMAGE;
}

/* Return whether the record mounts something; the others make a file in an existing tree. */
static bool is_mounted(const struct plan_mount *mount)
{
	return mount->kind >= PLAN_BIND;
}

static bool is_file(const struct plan_mount *mount)
{
	return mount->kind == PLAN_FILE || mount->kind == PLAN_COPY || mount->kind == PLAN_DEVICE;
}

/* Return the position in the order in which mounts are made, from 1. */
static uint32_t order_of(const struct plan_mount *mount, uint32_t index)
{
	return 1 + mount->phase * PLAN_MOUNTS_MAX + index;
}

/* Set `level` to the record of the current path. False: no record makes it. */
static bool find_record(const struct walk *walk, struct level *level)
{
	const struct plan_mount *mounts =
		plan_mounts(walk->question->plan, walk->question->profile);
	const uint32_t outer = level->order;
	bool is_found = false;

	for (uint32_t i = 0; i < walk->question->profile->mount_count; i++) {
		const struct plan_mount *mount = &mounts[i];
		const uint32_t order = order_of(mount, i);

		if (strcmp(plan_string(walk->question->plan, mount->target), walk->path) != 0)
			continue;
		if (is_mounted(mount) && order > level->order) {
			level->cover = level->record = mount;
			level->order = order;
			is_found = true;
		} else if (!is_mounted(mount) && outer == 0 && level->order == 0) {
			level->record = mount;
			is_found = true;
		}
	}
	return is_found;
}

/* Check whether the walk can go on below the current level. */
static enum place_state check_level(const struct walk *walk)
{
	const struct level *level = &walk->levels[walk->depth];
	const struct plan_mount *record = level->record;

	if (walk->state == PLACE_ABSENT)
		return PLACE_LOST;
	if (record == NULL)
		return PLACE_THERE;
	if (is_file(record))
		return PLACE_NOT_DIRECTORY;
	if ((record->kind == PLAN_DIRECTORY || record->kind == PLAN_TMPFS) &&
	    (record->mode & S_IXUSR) == 0)
		return PLACE_CLOSED;
	return PLACE_THERE;
}

/* Go down to a name of `length` bytes. */
static enum place_state descend_to(struct walk *walk, const char *name, size_t length)
{
	struct level level = walk->levels[walk->depth];
	const size_t used = level.length;

	if (walk->depth + 1 == DEPTH_MAX || used + length + 2 > sizeof(walk->path))
		return PLACE_LOOP;
	walk->path[used] = '/';
	memcpy(walk->path + used + 1, name, length);
	walk->path[used + 1 + length] = '\0';
	level.length = (uint32_t)(used + 1 + length);
	level.record = NULL;
	walk->state = PLACE_THERE;
	if (!find_record(walk, &level))
		walk->state = level.cover == NULL || level.cover->kind == PLAN_MASK ? PLACE_ABSENT
										    : PLACE_INSIDE;
	else if ((level.record->flags & PLAN_OPTIONAL) != 0)
		level.is_optional = true;
	walk->levels[++walk->depth] = level;
	return walk->state;
}

static void ascend_level(struct walk *walk)
{
	if (walk->depth > 0)
		walk->depth--;
	walk->path[walk->levels[walk->depth].length] = '\0';
	walk->state = walk->levels[walk->depth].record == NULL && walk->depth > 0 ? PLACE_INSIDE
										  : PLACE_THERE;
}

/* Replace the link at the current level by its target, in front of the rest. */
static enum place_state follow_link(struct walk *walk)
{
	const char *text =
		plan_string(walk->question->plan, walk->levels[walk->depth].record->source);
	const size_t left = strlen(walk->left), length = strlen(text);

	if (++walk->links > LINKS_MAX || length + left + 2 > sizeof(walk->left))
		return PLACE_LOOP;
	memmove(walk->left + length + 1, walk->left, left + 1);
	memcpy(walk->left, text, length);
	walk->left[length] = '/';
	ascend_level(walk);
	while (text[0] == '/' && walk->depth > 0)
		ascend_level(walk);
	return PLACE_THERE;
}

static bool is_link(const struct walk *walk)
{
	const struct plan_mount *record = walk->levels[walk->depth].record;

	return record != NULL && record->kind == PLAN_SYMLINK;
}

/* Take the next name, and the slashes behind it, from the rest of the path. */
static enum place_state take_step(struct walk *walk, bool follow)
{
	const size_t length = strcspn(walk->left, "/");
	const char *rest = walk->left + length + strspn(walk->left + length, "/");
	char name[PLACE_PATH_MAX];
	enum place_state state = check_level(walk);
	bool is_last;

	memcpy(name, walk->left, length);
	is_last = rest[0] == '\0';
	memmove(walk->left, rest, strlen(rest) + 1);
	if (state != PLACE_THERE || length == 0 || (length == 1 && name[0] == '.'))
		return state;
	if (length == 2 && name[0] == '.' && name[1] == '.') {
		ascend_level(walk);
		return walk->state;
	}
	state = descend_to(walk, name, length);
	if (state == PLACE_THERE && is_link(walk) && (follow || !is_last))
		return follow_link(walk);
	return state;
}

static bool is_end(enum place_state state)
{
	return state > PLACE_ABSENT;
}

/* Return the record of the image that is below all others; NULL: the root has only records. */
static const struct plan_mount *find_image(const struct question *question)
{
	return question->profile->layers_size > 0 ? plan_mounts(question->plan, question->profile)
						  : NULL;
}

static void walk_path(struct walk *walk, const struct question *question, const char *path,
		      bool follow)
{
	const char *start = path + strspn(path, "/");
	enum place_state state = PLACE_THERE;

	walk->question = question;
	walk->state = PLACE_THERE;
	walk->links = walk->depth = 0;
	walk->levels[0] = (struct level){ .cover = find_image(question) };
	walk->path[0] = '\0';
	(void)snprintf(walk->left, sizeof(walk->left), "%s", start); /* see the callers' bounds */
	while (walk->left[0] != '\0' && !is_end(state))
		state = take_step(walk, follow);
	if (is_end(state))
		walk->state = state;
}

void place_find(const struct question *question, const char *path, bool follow, struct place *ret)
{
	struct walk walk;
	const struct level *level, *outer;

	walk_path(&walk, question, path, follow);
	level = &walk.levels[walk.depth];
	outer = &walk.levels[walk.depth > 0 ? walk.depth - 1 : 0];
	*ret = (struct place){
		.state = walk.state,
		.is_optional = level->is_optional,
		.cover = level->cover,
		.parent = outer->cover,
		.record = level->record,
		.directory = outer->record,
	};
	memcpy(ret->path, walk.path[0] != '\0' ? walk.path : "/",
	       walk.path[0] != '\0' ? strlen(walk.path) + 1 : 2);
}

/* Print a name for the inode: its path on the host, or ':' and its path in the sandbox if the inode
 * is the sandbox's own; no path of the host begins with ':'. Copy-on-write mounts have inodes of
 * their own. */
static void print_inode(const struct walk *walk, const struct level *level,
			char name[2 * PLACE_PATH_MAX])
{
	const char *source = ":", *target = "";

	if (level->cover != NULL &&
	    (level->cover->kind == PLAN_BIND || level->cover->kind == PLAN_DEVICE)) {
		source = plan_string(walk->question->plan, level->cover->source);
		target = plan_string(walk->question->plan, level->cover->target);
	}
	(void)snprintf(name, 2 * (size_t)PLACE_PATH_MAX, "%s%.*s", source,
		       (int)(level->length - strlen(target)), walk->path + strlen(target));
}

/* Return whether the rule exists: rules are made while the sandbox's file systems are empty. */
static bool is_rule_made(const struct walk *rule)
{
	const struct plan_mount *cover = rule->levels[rule->depth].cover;

	return rule->state == PLACE_THERE ||
	       (rule->state == PLACE_INSIDE && cover->kind != PLAN_TMPFS);
}

/* Return the depth at which a rule lies on the way, or -1. */
static int depth_of(const struct walk *rule, const struct walk *way)
{
	char wanted[2 * PLACE_PATH_MAX], found[2 * PLACE_PATH_MAX];

	if (!is_rule_made(rule))
		return -1;
	print_inode(rule, &rule->levels[rule->depth], wanted);
	for (uint32_t depth = way->depth + 1; depth > 0; depth--) {
		print_inode(way, &way->levels[depth - 1], found);
		if (strcmp(wanted, found) == 0)
			return (int)depth - 1;
	}
	return -1;
}

uint64_t place_rights(const struct question *question, const char *path,
		      const struct plan_rule **ret_nearest)
{
	const struct plan_rule *rules = plan_rules(question->plan, question->profile);
	struct walk way, rule;
	uint64_t all = 0;
	int nearest = -1;

	*ret_nearest = NULL;
	walk_path(&way, question, path, false);
	for (uint32_t i = 0; i < question->profile->rule_count; i++) {
		int depth;

		walk_path(&rule, question, plan_string(question->plan, rules[i].path), true);
		depth = depth_of(&rule, &way);
		if (depth < 0)
			continue;
		all |= rules[i].rights;
		if (depth >= nearest) {
			nearest = depth;
			*ret_nearest = &rules[i];
		}
	}
	return all;
}

void rights_print(uint64_t bits, char text[RIGHTS_TEXT_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		/* in profiles, the right to read files includes the right to list directories */
		const bool is_said = i == 0 && (bits & LANDLOCK_ACCESS_FS_READ_FILE) != 0;

		if ((bits & rights[i].bit) == 0 || is_said)
			continue;
		used += (size_t)snprintf(text + used, RIGHTS_TEXT_MAX - used, "%s%s",
					 used > 0 ? ", " : "", rights[i].word);
	}
}
