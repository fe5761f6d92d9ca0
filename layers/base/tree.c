/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories to be looked at wait in a list with the sources that have something in them: there is
 * no recursion, and no descriptor stays open but those of one directory.
 */
#include "layers/base/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/items.h"
#include "layers/base/progress.h"
#include "layers/base/stack.h"

struct pending {
	struct pending *next;
	struct item *item; /* its own; NULL: it is alike on both sides, or the workspace itself */
	struct stack_set now, old;
	char path[];
};

struct walk {
	struct stack stack;
	struct items items;
	struct pending *pending;
	bool is_all;
	uint32_t umask;
	uint64_t compared;
	char path[IPC_PATH_MAX]; /* the current entry's */
};

static int add_pending(struct walk *walk, struct item *item, const struct stack_set *now,
		       const struct stack_set *old)
{
	const size_t size = strlen(walk->path) + 1;
	struct pending *pending = malloc(sizeof(*pending) + size);

	if (!pending)
		return -ENOMEM;
	pending->next = walk->pending;
	pending->item = item;
	pending->now = *now;
	pending->old = *old;
	memcpy(pending->path, walk->path, size);
	walk->pending = pending;
	return 0;
}

/* 1, 0, or -errno: the content cannot be told. */
static int is_same_file(const struct walk *walk, const struct stack_entry *old,
			const struct stack_entry *now)
{
	struct stat status;
	int left, right, ret;

	if (old->status.st_dev == now->status.st_dev && old->status.st_ino == now->status.st_ino)
		return 1;
	if (old->status.st_size != now->status.st_size)
		return 0;
	left = beneath_file(walk->stack.roots[old->source], walk->path, &status);
	right = beneath_file(walk->stack.roots[now->source], walk->path, &status);
	ret = left < 0 ? left : right < 0 ? right : beneath_same(left, right);
	fd_close(&left);
	fd_close(&right);
	return ret;
}

static int is_same_link(const struct walk *walk, const struct stack_entry *old,
			const struct stack_entry *now)
{
	char left[IPC_PATH_MAX], right[IPC_PATH_MAX];
	const int size = beneath_link(walk->stack.roots[old->source], walk->path, left);
	const int other = beneath_link(walk->stack.roots[now->source], walk->path, right);

	if (size < 0 || other < 0)
		return size < 0 ? size : other;
	return strcmp(left, right) == 0;
}

/* Judge an entry that both sides have, of the same type. */
static uint32_t judge_both(const struct walk *walk, const struct stack_entry *old,
			   const struct stack_entry *now, uint32_t *flags)
{
	const mode_t type = now->status.st_mode & S_IFMT;
	int is_same = 1;

	if (type == S_IFREG)
		is_same = is_same_file(walk, old, now);
	else if (type == S_IFLNK)
		is_same = is_same_link(walk, old, now);
	else if (type == S_IFCHR || type == S_IFBLK)
		is_same = old->status.st_rdev == now->status.st_rdev;
	if (is_same < 0) {
		*flags |= CHANGE_IS_UNREADABLE;
		is_same = 0;
	}
	if (!is_same && type == S_IFLNK)
		return CHANGE_SYMLINK;
	if (!is_same)
		return CHANGE_MODIFIED;
	if (type == S_IFLNK || old->status.st_mode == now->status.st_mode)
		return CHANGE_NONE;
	/* A change that only adds such bits is never applied, and would always be listed. */
	return old->status.st_mode == (now->status.st_mode & ~(mode_t)(S_ISUID | S_ISGID | S_ISVTX))
		       ? CHANGE_NONE
		       : CHANGE_MODE;
}

static uint32_t judge_entry(const struct walk *walk, const struct stack_entry *old,
			    const struct stack_entry *now, uint32_t *flags)
{
	if (now->status.st_mode == 0)
		return CHANGE_DELETED;
	if (old->status.st_mode == 0)
		return CHANGE_ADDED;
	if ((old->status.st_mode & S_IFMT) != (now->status.st_mode & S_IFMT))
		return CHANGE_TYPE;
	return judge_both(walk, old, now, flags);
}

/* Only a program can have capabilities that count. */
static bool has_capabilities(const struct walk *walk, const struct stack_entry *now)
{
	struct stat status;
	int file;
	bool ret;

	if (!(now->status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return false;
	file = beneath_file(walk->stack.roots[now->source], walk->path, &status);
	ret = file >= 0 && fgetxattr(file, "security.capability", NULL, 0) >= 0;
	fd_close(&file);
	return ret;
}

static bool is_device(mode_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

static uint32_t flags_of(const struct walk *walk, const struct stack_entry *old,
			 const struct stack_entry *now)
{
	const mode_t mode = now->status.st_mode ? now->status.st_mode : old->status.st_mode;
	const mode_t type = now->status.st_mode & S_IFMT;
	uint32_t flags = 0;

	if (S_ISDIR(mode))
		flags |= CHANGE_IS_DIRECTORY;
	if (now->is_unreadable || old->is_unreadable)
		flags |= CHANGE_IS_UNREADABLE;
	/* No undo could make a device of the host's again. */
	if (is_device(mode) || type == S_IFIFO || type == S_IFSOCK ||
	    is_device(old->status.st_mode))
		flags |= CHANGE_IS_REFUSED;
	if (type == S_IFREG &&
	    ((now->status.st_mode & (S_ISUID | S_ISGID)) || has_capabilities(walk, now)))
		flags |= CHANGE_IS_STRIPPED;
	return flags;
}

static int new_item(struct walk *walk, const struct stack_entry *old, const struct stack_entry *now,
		    struct item **ret)
{
	struct item *item = items_add(&walk->items, walk->path);

	*ret = item;
	if (!item)
		return -ENOMEM;
	item->layer = (int16_t)now->layer;
	item->old_layer = (int16_t)old->layer;
	item->now = now->status;
	item->old = old->status;
	return 0;
}

static int add_item(struct walk *walk, const struct stack_entry *old, const struct stack_entry *now,
		    struct item **ret)
{
	uint32_t flags = flags_of(walk, old, now);
	const uint32_t kind = judge_entry(walk, old, now, &flags);
	int error;

	*ret = NULL;
	if (kind == CHANGE_NONE && !(flags & CHANGE_IS_UNREADABLE))
		return 0;
	error = new_item(walk, old, now, ret);
	if (error)
		return error;
	/* A directory that cannot be read may be another: it is listed, and never taken over. */
	(*ret)->kind = kind == CHANGE_NONE ? CHANGE_MODE : kind;
	(*ret)->flags = flags;
	return 0;
}

static int compare_name(struct walk *walk, const struct pending *directory, const char *name)
{
	struct stack_entry old, now;
	struct item *item;
	int error = stack_find(&walk->stack, &walk->stack.now, &directory->now, name, &now);

	if (!error)
		error = stack_find(&walk->stack, &walk->stack.old, &directory->old, name, &old);
	if (error || (now.status.st_mode == 0 && old.status.st_mode == 0))
		return error;
	now.status.st_mode =
		files_applied_mode(walk->umask, old.status.st_mode, now.status.st_mode);
	error = walk->is_all ? new_item(walk, &old, &now, &item)
			     : add_item(walk, &old, &now, &item);
	if (error || now.is_unreadable || old.is_unreadable ||
	    stack_is_equal(&now.below, &old.below))
		return error;
	return add_pending(walk, item, &now.below, &old.below);
}

/* Does each of the names have a path of less than IPC_PATH_MAX bytes behind that many? */
static bool have_paths(const struct beneath_names *names, size_t start)
{
	for (size_t i = 0; i < names->count; i++) {
		if (start + strlen(names->names[i]) >= IPC_PATH_MAX)
			return false;
	}
	return true;
}

/* Its names, each with its path in `walk->path`. */
static int compare_entered(struct walk *walk, const struct pending *directory)
{
	struct beneath_names names = { 0 };
	const size_t size = strlen(directory->path);
	const size_t start = size > 0 ? size + 1 : 0;
	int error = stack_names(&walk->stack, &directory->now, &directory->old, &names);

	memcpy(walk->path, directory->path, size);
	if (size > 0)
		walk->path[size] = '/';
	if (!error && !have_paths(&names, start))
		error = -ENAMETOOLONG;
	for (size_t i = 0; i < names.count && !error; i++) {
		memcpy(walk->path + start, names.names[i], strlen(names.names[i]) + 1);
		error = compare_name(walk, directory, names.names[i]);
		progress_note(CHANGE_STAGE_COMPARE, ++walk->compared, 0);
	}
	beneath_names_free(&names);
	return error;
}

/* A directory that cannot be looked into, is another file system's, or has names whose paths are
 * too long, is told of itself; the rest is told as ever. */
static int mark_unreadable(struct walk *walk, const struct pending *directory, int error)
{
	struct item *item = directory->item;

	if (directory->path[0] == '\0' || (error != -EACCES && error != -EPERM && error != -EXDEV &&
					   error != -EIO && error != -ENAMETOOLONG))
		return error;
	if (!item)
		item = items_add(&walk->items, directory->path);
	if (!item)
		return -ENOMEM;
	if (item->kind == CHANGE_NONE && !walk->is_all)
		item->kind = CHANGE_MODE;
	item->flags |= CHANGE_IS_DIRECTORY | CHANGE_IS_UNREADABLE;
	return 0;
}

static int compare_directory(struct walk *walk, const struct pending *directory)
{
	int error = stack_enter(&walk->stack, directory->path, &directory->now, &directory->old);

	if (error)
		return mark_unreadable(walk, directory, error);
	error = compare_entered(walk, directory);
	stack_leave(&walk->stack);
	return error ? mark_unreadable(walk, directory, error) : 0;
}

static int collect_names(struct walk *walk, const struct job_directories *directories)
{
	struct stack_set now, old;
	int error = stack_open(&walk->stack, directories);

	if (error)
		return error;
	now = stack_all(&walk->stack.now);
	old = stack_all(&walk->stack.old);
	walk->path[0] = '\0';
	error = stack_is_equal(&now, &old) ? 0 : add_pending(walk, NULL, &now, &old);
	while (walk->pending) {
		struct pending *directory = walk->pending;

		walk->pending = directory->next;
		if (!error)
			error = compare_directory(walk, directory);
		free(directory);
	}
	stack_close(&walk->stack);
	items_sort(&walk->items);
	return error;
}

static int tell_difference(const struct walk *walk, tree_found found, void *context)
{
	struct difference difference;

	for (size_t i = 0; i < walk->items.count; i++) {
		int status;

		progress_note(CHANGE_STAGE_READ, i, walk->items.count);
		if (walk->items.all[i]->kind == CHANGE_NONE && !walk->is_all)
			continue;
		items_show(walk->items.all[i], &difference);
		status = found(context, &difference);
		if (status != 0)
			return status;
	}
	return 0;
}

static int run_walk(const struct job_directories *directories, bool is_all, tree_found found,
		    void *context)
{
	struct walk walk;
	int status;

	memset(&walk, 0, sizeof(walk));
	walk.is_all = is_all;
	walk.umask = is_all || directories->since_count > 0 ? 0 : directories->umask;
	status = collect_names(&walk, directories);
	if (status == 0 && !is_all)
		status = items_pair(&walk.items, directories);
	if (status == 0)
		status = tell_difference(&walk, found, context);
	items_free(&walk.items);
	return status;
}

int tree_compare(const struct job_directories *directories, tree_found found, void *context)
{
	return run_walk(directories, false, found, context);
}

int tree_walk(const struct job_directories *directories, tree_found found, void *context)
{
	return run_walk(directories, true, found, context);
}

/* The directory that has one side, to be closed by the caller. */
static int open_root(const struct job_directories *directories, const struct difference *difference,
		     bool is_old)
{
	const uint32_t count = is_old ? directories->since_count : directories->layer_count;
	const int *layers = is_old ? directories->since : directories->layers;
	const int layer = is_old ? difference->old_layer : difference->layer;

	if (layer < 0)
		return -ENOENT;
	return (uint32_t)layer < count ? beneath_directory(layers[layer], WORKSPACE_NAME)
				       : beneath_directory(directories->host, "");
}

static const char *path_of(const struct difference *difference, bool is_old)
{
	return is_old && difference->old_path[0] ? difference->old_path : difference->path;
}

int tree_open(const struct job_directories *directories, const struct difference *difference,
	      bool is_old)
{
	struct stat status;
	int root = open_root(directories, difference, is_old);
	const int file = root < 0 ? root : beneath_file(root, path_of(difference, is_old), &status);

	fd_close(&root);
	return file;
}

int tree_link(const struct job_directories *directories, const struct difference *difference,
	      bool is_old, char ret[IPC_PATH_MAX])
{
	int root = open_root(directories, difference, is_old);
	const int size = root < 0 ? root : beneath_link(root, path_of(difference, is_old), ret);

	fd_close(&root);
	return size;
}
