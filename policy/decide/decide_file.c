/* SPDX-License-Identifier: Apache-2.0
 *
 * Acts on files. The checks follow the kernel's order, which decides the errno that a workload
 * sees: the system call filter, the way to the file, the kind of the file, read-only and noexec
 * mounts, Landlock, and last the checks of the file itself. (fs/namei.c, fs/open.c; opening a file
 * for writing asks for write access to the mount before Landlock.)
 */
#include "policy/decide/decide_parts.h"

#include <errno.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/kernel.h"

#define RIGHTS_READ LANDLOCK_ACCESS_FS_READ_FILE
#define RIGHTS_LIST LANDLOCK_ACCESS_FS_READ_DIR
#define RIGHTS_WRITE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define RIGHTS_MAKE LANDLOCK_ACCESS_FS_MAKE_REG
#define RIGHTS_REMOVE (LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR)

/* One act on one place. */
struct act {
	const struct question *question;
	const struct act_kind *kind;
	struct place place;
};

struct act_kind {
	const char *call;
	bool follow;       /* a link at the end of the path */
	bool is_of_parent; /* it changes the directory */
	bool (*check)(const struct act *act);
	uint64_t rights;
	const char *word; /* the word of a rule that allows it */
};

static const char *text_of(const struct act *act, uint32_t offset)
{
	return plan_string(act->question->plan, offset);
}

/* Return the record of the mount; NULL: the base. */
static const struct plan_mount *mount_of(const struct act *act)
{
	return act->kind->is_of_parent ? act->place.parent : act->place.cover;
}

static bool is_read_only(const struct plan_mount *mount)
{
	return mount == NULL || (mount->attributes & MOUNT_ATTR_RDONLY) != 0 ||
	       (mount->kind == PLAN_IMAGE && mount->phase == PLAN_PHASE_BASE);
}

static bool is_noexec(const struct plan_mount *mount)
{
	return mount == NULL || (mount->attributes & MOUNT_ATTR_NOEXEC) != 0;
}

static bool is_directory(const struct plan_mount *record)
{
	return record->kind == PLAN_DIRECTORY || record->kind == PLAN_TMPFS ||
	       record->kind == PLAN_PROC || record->kind == PLAN_DEVPTS ||
	       record->kind == PLAN_OVERLAY || record->kind == PLAN_IMAGE;
}

/* Return whether the place is the root or a directory that a record makes. */
static bool is_known_directory(const struct place *place)
{
	return place->state == PLACE_THERE &&
	       (place->record == NULL || is_directory(place->record));
}

static bool is_known_file(const struct place *place)
{
	return place->state == PLACE_THERE && place->record != NULL &&
	       (place->record->kind == PLAN_FILE || place->record->kind == PLAN_COPY);
}

static bool is_device(const struct place *place)
{
	return place->state == PLACE_THERE && place->record != NULL &&
	       place->record->kind == PLAN_DEVICE;
}

/* Name the record that causes the problem. */
static void cite_record(const struct act *act, const struct plan_mount *record, const char *problem)
{
	struct decision *ret = act->question->ret;

	if (record == NULL) {
		DECISION_SAY(ret->rule, "files: outside of their entries the tree is read-only "
					"and cannot be executed");
		return;
	}
	ret->origin = record->origin;
	DECISION_SAY(ret->rule, "files: %s, %s%s%s", text_of(act, record->target),
		     mount_kind_name(record), problem[0] != '\0' ? ", " : "", problem);
}

/* Name the entry around the place: the mount, or in the base the record that made it. */
static void cite_around(const struct act *act, const char *problem)
{
	const struct plan_mount *mount = mount_of(act);
	const struct plan_mount *record =
		act->kind->is_of_parent ? act->place.directory : act->place.record;

	cite_record(act, mount != NULL ? mount : record, problem);
}

static bool refuse_mount(const struct act *act, int error)
{
	decision_refuse(act->question->ret, "mounts", error);
	return true;
}

/* Copy the path of the place's directory, which is canonical. */
static void parent_path(const struct act *act, char parent[PLACE_PATH_MAX])
{
	char *slash;

	memcpy(parent, act->place.path, strlen(act->place.path) + 1);
	slash = strrchr(parent, '/');
	if (slash != NULL)
		slash[slash == parent] = '\0';
}

/* Return whether an entry is in the directory: then no file system can be mounted over it. */
static bool has_entries(const struct act *act, const char *directory)
{
	const struct question *question = act->question;
	const struct plan_mount *mounts = plan_mounts(question->plan, question->profile);
	const size_t length = strlen(directory);

	for (uint32_t i = 0; i < question->profile->mount_count; i++) {
		const char *target = text_of(act, mounts[i].target);

		if (strncmp(target, directory, length) == 0 && target[length] == '/')
			return true;
	}
	return strcmp(directory, "/") == 0;
}

/* Advise a file with a text of the operator's, and the right to read it. */
static void advise_text(const struct act *act)
{
	const struct question *question = act->question;
	const struct plan_rule *nearest;
	const char *path = act->place.path;
	const bool is_readable = (place_rights(question, path, &nearest) & RIGHTS_READ) != 0;

	DECISION_SAY(question->ret->remedy,
		     OPERATORS "files: [{at: %s, kind: file, text: ...}]%s%s%s", path,
		     is_readable ? "" : " and landlock: [{path: ", is_readable ? "" : path,
		     is_readable ? "" : ", rights: [read]}]");
}

static void advise_base(const struct act *act)
{
	struct decision *ret = act->question->ret;
	char parent[PLACE_PATH_MAX];

	parent_path(act, parent);
	if (act->question->operation->kind == OPERATION_DELETE)
		DECISION_SAY(ret->remedy, "none: a profile's entries stay");
	else if (is_known_file(&act->place) || has_entries(act, parent))
		advise_text(act);
	else
		DECISION_SAY(ret->remedy,
			     OPERATORS
			     "files: [{at: %s, kind: tmpfs, size: 16M, inodes: 1K, "
			     "mode: 0755}] and landlock: [{path: %s, rights: [read, write, "
			     "create]}]",
			     parent, parent);
}

static bool refuse_read_only(const struct act *act)
{
	struct decision *ret = act->question->ret;
	const struct plan_mount *mount = mount_of(act);

	cite_around(act, "read-only");
	if (mount == NULL)
		advise_base(act);
	else if (mount->kind == PLAN_IMAGE)
		DECISION_SAY(ret->remedy, OPERATORS "root: writable");
	else if (mount->kind == PLAN_BIND && decide_can_be_written(text_of(act, mount->source)))
		DECISION_SAY(ret->remedy,
			     OPERATORS
			     "files: [{at: %s, kind: bind, access: writable}] and landlock: "
			     "[{path: %s, rights: [read, write, create]}]",
			     text_of(act, mount->target), text_of(act, mount->target));
	else
		DECISION_SAY(ret->remedy, "none: no profile can allow it");
	return refuse_mount(act, EROFS);
}

static void advise_absent(const struct act *act)
{
	struct decision *ret = act->question->ret;
	const char *path = act->question->operation->target;

	if (act->kind->is_of_parent || !decide_can_be_shown(path, act->place.path))
		DECISION_SAY(ret->remedy, "none: no profile can show it");
	else
		DECISION_SAY(ret->remedy,
			     OPERATORS
			     "files: [{at: %s, kind: bind, optional: true}] and landlock: "
			     "[{path: %s, rights: [%s]}]",
			     path, path, act->kind->word);
}

static bool refuse_absent(const struct act *act)
{
	struct decision *ret = act->question->ret;

	if (act->place.cover != NULL && act->place.cover->kind == PLAN_MASK) {
		cite_record(act, act->place.cover, "");
		DECISION_SAY(ret->remedy, "none: no profile can take a mask away that it inherits");
	} else {
		DECISION_SAY(ret->rule, "files: no entry makes %s", act->place.path);
		advise_absent(act);
	}
	return refuse_mount(act, ENOENT);
}

/* Refuse if the way to the place is closed, or the place does not exist. */
static bool refuse_way(const struct act *act)
{
	struct decision *ret = act->question->ret;

	switch (act->place.state) {
	case PLACE_LOST:
		return refuse_absent(act);
	case PLACE_ABSENT:
		return act->kind->is_of_parent ? false : refuse_absent(act);
	case PLACE_NOT_DIRECTORY:
		cite_record(act, act->place.record, "");
		return refuse_mount(act, ENOTDIR);
	case PLACE_CLOSED:
		cite_record(act, act->place.record, "its mode lets nobody through");
		DECISION_SAY(ret->remedy, OPERATORS "the mode 0755 for its entry");
		return refuse_mount(act, EACCES);
	case PLACE_LOOP:
		DECISION_SAY(ret->rule,
			     "files: the links on the way lead in a circle, or too deep");
		return refuse_mount(act, ELOOP);
	default:
		return false;
	}
}

static bool refuse_kind(const struct act *act, int error)
{
	if (act->place.record == NULL)
		DECISION_SAY(act->question->ret->rule, "files: the root of the sandbox");
	else
		cite_record(act, act->place.record, "");
	return refuse_mount(act, error);
}

/* Refuse if a mode in the plan keeps its owner out, who is the workload. */
static bool refuse_mode(const struct act *act, const struct plan_mount *record, uint32_t bit)
{
	struct decision *ret = act->question->ret;

	if (record == NULL || (record->mode & bit) != 0 ||
	    (record->kind != PLAN_FILE && record->kind != PLAN_COPY &&
	     record->kind != PLAN_DIRECTORY && record->kind != PLAN_TMPFS))
		return false;
	cite_record(act, record, "its mode does not let it");
	DECISION_SAY(ret->remedy, OPERATORS "another mode for its entry");
	return refuse_mount(act, EACCES);
}

static bool check_read(const struct act *act)
{
	return refuse_mode(act, act->place.record, S_IRUSR);
}

static bool check_list(const struct act *act)
{
	if (is_known_file(&act->place) || is_device(&act->place))
		return refuse_kind(act, ENOTDIR);
	return refuse_mode(act, act->place.record, S_IRUSR);
}

static bool check_write(const struct act *act)
{
	const struct place *place = &act->place;

	if (is_known_directory(place))
		return refuse_kind(act, EISDIR);
	/* writing to a device does not write to the mount that shows it */
	if (is_device(place) || (place->record != NULL && place->record->kind == PLAN_MASK))
		return false;
	if (!is_read_only(place->cover))
		return false;
	(void)refuse_read_only(act);
	/* the plan does not know whether a bind shows a file or a directory: EROFS or EISDIR */
	if (place->record != NULL && mount_is_host(place->record))
		act->question->ret->error = 0;
	return true;
}

/* Return whether only the kernel makes files in the mount (procfs, devpts), whatever the rights. */
static bool is_kernels(const struct plan_mount *mount)
{
	return mount != NULL && (mount->kind == PLAN_PROC || mount->kind == PLAN_DEVPTS);
}

static bool refuse_kernels(const struct act *act)
{
	cite_around(act, "");
	DECISION_SAY(act->question->ret->remedy, "none: what is there is made by the kernel");
	return refuse_mount(act, 0);
}

static bool check_create(const struct act *act)
{
	/* a name that procfs lacks is ENOENT before Landlock is asked */
	if (act->place.parent != NULL && act->place.parent->kind == PLAN_PROC)
		return refuse_kernels(act);
	if (act->place.state == PLACE_THERE && !act->place.is_optional)
		return refuse_kind(act, EEXIST);
	return is_read_only(act->place.parent) && refuse_read_only(act);
}

static bool check_delete(const struct act *act)
{
	if (strcmp(act->place.path, "/") == 0)
		return refuse_kind(act, EBUSY);
	return is_read_only(act->place.parent) && refuse_read_only(act);
}

static bool check_exec(const struct act *act)
{
	struct decision *ret = act->question->ret;
	const struct plan_mount *cover = act->place.cover;

	if (is_known_directory(&act->place) || is_device(&act->place))
		return refuse_kind(act, EACCES);
	if (!is_noexec(cover))
		return false;
	cite_around(act, "noexec");
	if (cover != NULL && (cover->kind == PLAN_TMPFS || mount_is_host(cover)))
		DECISION_SAY(ret->remedy,
			     OPERATORS "its entry without noexec, and execute in its Landlock "
				       "rule");
	else
		DECISION_SAY(ret->remedy, "none: no profile can allow it");
	return refuse_mount(act, EACCES);
}

static const struct act_kind kinds[] = {
	[OPERATION_READ] = { "openat", true, false, check_read, RIGHTS_READ, "read" },
	[OPERATION_WRITE] = { "openat", true, false, check_write, RIGHTS_WRITE, "write" },
	[OPERATION_CREATE] = { "openat", false, true, check_create, RIGHTS_MAKE, "create" },
	[OPERATION_DELETE] = { "unlinkat", false, true, check_delete, RIGHTS_REMOVE, "create" },
	[OPERATION_LIST] = { "openat", true, false, check_list, RIGHTS_LIST, "list" },
	[OPERATION_EXEC] = { "execve", true, false, check_exec, LANDLOCK_ACCESS_FS_EXECUTE,
			     "execute" },
};

/* Return the Landlock rights that the act needs; the kernel drops the rights that do not apply. */
static uint64_t rights_needed(const struct act *act)
{
	const struct plan_mount *record = act->place.record;

	if (act->question->operation->kind == OPERATION_READ && is_known_directory(&act->place))
		return RIGHTS_LIST;
	if (act->question->operation->kind == OPERATION_WRITE && record != NULL &&
	    (record->kind == PLAN_DEVICE || record->kind == PLAN_MASK))
		return LANDLOCK_ACCESS_FS_WRITE_FILE;
	return act->kind->rights;
}

static void advise_landlock(const struct act *act, const struct plan_rule *nearest, uint64_t bits)
{
	struct decision *ret = act->question->ret;
	const struct plan_mount *mount = mount_of(act);
	char words[RIGHTS_TEXT_MAX];
	const char *path = act->place.path;

	if (is_kernels(mount) && act->kind->is_of_parent) {
		DECISION_SAY(ret->remedy, "none: what is there is made by the kernel");
		return;
	}
	if (mount != NULL)
		path = text_of(act, mount->target);
	if (nearest != NULL && strcmp(text_of(act, nearest->path), path) == 0)
		bits |= nearest->rights;
	rights_print(bits, words);
	DECISION_SAY(ret->remedy, OPERATORS "landlock: [{path: %s, rights: [%s]}]", path, words);
}

static bool refuse_landlock_at(const struct act *act, const char *path, uint64_t bits,
			       const char *word)
{
	const struct question *question = act->question;
	const struct plan_rule *nearest;
	const uint64_t handled = question->profile->landlock_fs;
	const uint64_t held = place_rights(question, path, &nearest);
	char words[RIGHTS_TEXT_MAX];

	if ((bits & handled & ~held) == 0)
		return false;
	if (nearest != NULL) {
		rights_print(held, words);
		question->ret->origin = nearest->origin;
		DECISION_SAY(question->ret->rule, "landlock: at %s there is %s, but not %s",
			     text_of(act, nearest->path), words[0] != '\0' ? words : "nothing",
			     word);
	} else {
		question->ret->origin = question->profile->origin;
		DECISION_SAY(question->ret->rule, "landlock: no rule gives %s there", word);
	}
	advise_landlock(act, nearest, bits);
	decision_refuse(question->ret, "landlock", EACCES);
	if (act->place.state == PLACE_INSIDE && act->place.cover->kind == PLAN_PROC)
		DECISION_SAY(question->ret->condition, "if the kernel has it as such");
	return true;
}

static bool refuse_landlock(const struct act *act)
{
	char parent[PLACE_PATH_MAX];

	if (!act->kind->is_of_parent)
		return refuse_landlock_at(act, act->place.path, rights_needed(act),
					  act->kind->word);
	parent_path(act, parent);
	if (refuse_landlock_at(act, parent, act->kind->rights, act->kind->word))
		return true;
	/* the new file is opened for writing */
	return act->question->operation->kind == OPERATION_CREATE &&
	       refuse_landlock_at(act, parent, LANDLOCK_ACCESS_FS_WRITE_FILE, "write");
}

/* Refuse for reasons of the file itself. */
static bool refuse_file(const struct act *act)
{
	const struct place *place = &act->place;
	const enum operation_kind kind = act->question->operation->kind;

	if (kind == OPERATION_READ && is_known_directory(place))
		return refuse_kind(act, EISDIR);
	if (kind == OPERATION_DELETE && place->record != NULL)
		return refuse_kind(act, EBUSY);
	if (act->kind->is_of_parent && is_kernels(place->parent))
		return refuse_kernels(act);
	return act->kind->is_of_parent && refuse_mode(act, place->directory, S_IWUSR);
}

static bool is_terminal(const struct place *place)
{
	return is_device(place) && place->record->device == makedev(5, 0);
}

static bool is_process_one(const struct act *act)
{
	const struct plan_mount *cover = act->place.cover;
	const char *inside;

	if (cover == NULL || cover->kind != PLAN_PROC)
		return false;
	inside = act->place.path + strlen(text_of(act, cover->target));
	return strcmp(inside, "/1") == 0 || strncmp(inside, "/1/", 3) == 0;
}

/* Return whether the name is a link of procfs to an open file or directory of a process. */
static bool is_magic(const char *name, size_t length, const char *before, size_t before_length)
{
	static const char *const links[] = { "exe", "cwd", "root" };
	static const char *const directories[] = { "fd", "map_files" };

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (length == strlen(links[i]) && strncmp(name, links[i], length) == 0)
			return true;
	}
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		if (before_length == strlen(directories[i]) &&
		    strncmp(before, directories[i], before_length) == 0)
			return true;
	}
	return false;
}

/* Return whether the way goes through a magic link, whose target no plan knows. */
static bool leads_away(const struct act *act)
{
	const struct place *place = &act->place;
	const char *name, *before;
	size_t length, before_length;

	if (place->state != PLACE_INSIDE || place->cover->kind != PLAN_PROC)
		return false;
	before = place->path + strlen(text_of(act, place->cover->target)) + 1;
	before_length = strcspn(before, "/");
	for (name = before + before_length; name[0] == '/'; name += length) {
		name++;
		length = strcspn(name, "/");
		if (is_magic(name, length, before, before_length))
			return name[length] == '/' || act->kind->follow;
		before = name;
		before_length = length;
	}
	return false;
}

static void allow_away(const struct act *act)
{
	cite_record(act, act->place.cover, "a link of a process");
	DECISION_SAY(act->question->ret->condition, "if it is allowed where the link leads");
	decision_allow(act->question->ret, "mounts");
}

static const char *condition_of(const struct act *act)
{
	const struct place *place = &act->place;
	const struct plan_mount *mount = mount_of(act);

	if (place->record != NULL && place->record->kind == PLAN_MASK)
		return "if the kernel has it: an empty file or an empty directory is shown";
	if (is_terminal(place))
		return "if the execution has a terminal";
	if (mount != NULL && mount->kind == PLAN_PROC && place->state == PLACE_INSIDE)
		return "if the kernel has it and lets this user";
	if (mount != NULL && mount->kind == PLAN_DEVPTS && place->state == PLACE_INSIDE)
		return "if the terminal is there";
	if (mount != NULL && mount_is_host(mount) && act->kind->is_of_parent)
		return "if its directory lets this user";
	if (mount != NULL && mount_is_host(mount))
		return act->question->operation->kind == OPERATION_EXEC
			       ? "if the host has it as a program that this user may execute"
			       : "if the host has it and its mode lets this user";
	return place->is_optional ? "if the host has it" : "";
}

static void allow_act(const struct act *act)
{
	const struct plan_mount *record =
		act->place.record != NULL && !act->kind->is_of_parent ? act->place.record : NULL;

	DECISION_SAY(act->question->ret->condition, "%s", condition_of(act));
	if (record == NULL && mount_of(act) == NULL)
		DECISION_SAY(act->question->ret->rule, "files: the root of the sandbox");
	else
		cite_record(act, record != NULL ? record : mount_of(act), "");
	decision_allow(act->question->ret, "mounts");
}

void decide_file(const struct question *question)
{
	struct act act = { .question = question, .kind = &kinds[question->operation->kind] };

	if (decide_refused_call(question, act.kind->call))
		return;
	place_find(question, question->operation->target, act.kind->follow, &act.place);
	if (refuse_way(&act))
		return;
	if (is_process_one(&act)) {
		cite_record(&act, act.place.cover,
			    "without the processes of others, such as the init");
		DECISION_SAY(question->ret->remedy, "none: no profile can allow it");
		(void)refuse_mount(&act, ENOENT);
	} else if (leads_away(&act)) {
		allow_away(&act);
	} else if (!act.kind->check(&act) && !refuse_landlock(&act) && !refuse_file(&act)) {
		allow_act(&act);
	}
}
