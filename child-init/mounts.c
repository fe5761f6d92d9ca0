/* SPDX-License-Identifier: Apache-2.0 */
#include "mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>

#include "common/confine/mount.h"
#include "common/fd.h"
#include "common/ipc/layer_role.h"
#include "common/kernel.h"
#include "common/text/names.h"
#include "common/text/text.h"
#include "layers.h"
#include "probe.h"
#include "tree.h"

/* In every base tree; what masks a directory and a file. */
#define EMPTY_DIRECTORY "var/empty"
#define NULL_DEVICE "dev/null"

/* One tree under construction. */
struct tree {
	const struct plan *plan;
	uint32_t profile;
	int root; /* O_PATH of the tree's root */
	struct tree_parent parent;
	int host; /* O_PATH of the host's root */
	const struct shown *shown;
	const struct places *places;
	/* Mounts that workloads may write through. Nothing can until the tree is complete: a mount
	 * point that is missing there must not come to be on the host. */
	int writable[PLAN_MOUNTS_MAX];
	uint32_t writable_count;
	/* The record under work, and the roles of its place; 0: it has none, or keeps nothing in
	 * this sandbox. */
	uint32_t index, roles;
};

static void begin_record(struct tree *tree, uint32_t index)
{
	tree->index = index;
	tree->roles = tree->places ? places_roles(tree->places, index) : 0;
}

/* The host's file that a record names, or the tree's that it masks; -ENOENT: there is none. */
static int open_source(const struct tree *tree, const struct plan_mount *mount, uint64_t flags)
{
	const char *path = plan_string(tree->plan, mount->source);

	if (mount->kind == PLAN_MASK)
		return tree_open(tree->root, plan_string(tree->plan, mount->target), O_PATH);
	for (uint32_t i = 0; i < tree->shown->pin_counts[tree->plan->slot]; i++) {
		const struct pin *pin = &tree->shown->pins[tree->plan->slot][i];

		if (pin->is.profile == tree->profile && pin->is.mount == tree->index)
			return tree_open_meant(tree->host, path, flags, &pin->meant);
	}
	return mount->flags & PLAN_PINNED ? -ENOENT : tree_open(tree->host, path, flags);
}

/* Make what lies in the tree itself. A small file of the host costs less as a copy than as one more
 * mount in every sandbox. A directory that exists keeps its mode; nothing else may exist, but what
 * an image has there, in place of which it is made. */
static int make_entry(struct tree *tree, const struct plan_mount *mount, int source)
{
	const char *text = plan_string(tree->plan, mount->source);
	const char *name;
	const int parent =
		tree_parent(&tree->parent, plan_string(tree->plan, mount->target), &name);
	int error, fd;

	if (parent < 0)
		return parent;
	if (mount->kind == PLAN_DIRECTORY)
		return mkdirat(parent, name, mount->mode) == 0 || errno == EEXIST ? 0 : -errno;
	if (plan_profile(tree->plan, tree->profile)->layers_size > 0)
		(void)unlinkat(parent, name, 0); /* a directory stays: EEXIST follows */
	if (mount->kind == PLAN_SYMLINK)
		return symlinkat(text, parent, name) == 0 ? 0 : -errno;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    mount->mode);
	if (fd < 0)
		return -errno;
	error = source < 0 ? fd_write_all(fd, text, strlen(text)) : fd_copy(source, fd);
	fd_close(&fd);
	return error;
}

/* Attach a detached mount over the target, which is made when it does not exist. It lies below the
 * parent that is kept, so it covers none. */
static int attach_mount(struct tree *tree, int mount, const char *target)
{
	const char *name;
	const int parent = tree_parent(&tree->parent, target, &name);
	struct stat status;

	if (parent < 0 || fstat(mount, &status) != 0)
		return parent < 0 ? parent : -errno;
	const int made = S_ISDIR(status.st_mode) ? mkdirat(parent, name, 0755)
						 : mknodat(parent, name, S_IFREG | 0444, 0);
	return (made == 0 || errno == EEXIST) &&
			       kernel_move_mount(mount, parent, name, MOVE_MOUNT_F_EMPTY_PATH) == 0
		       ? 0
		       : -errno;
}

/* Attach a new mount, which is the target's from then on. Make a writable one writable only when
 * the tree is complete. */
static int attach_own(struct tree *tree, int mount, const char *target, bool is_later)
{
	const int error = mount < 0 ? mount : attach_mount(tree, mount, target);

	if (!error && is_later)
		tree->writable[tree->writable_count++] = mount;
	else
		fd_close(&mount);
	return error;
}

/* A device's name must still mean what the plan meant. */
static int bind_host(struct tree *tree, const struct plan_mount *mount, int source)
{
	const bool is_device = mount->kind == PLAN_DEVICE;
	const bool may_write = !is_device && !(mount->attributes & MOUNT_ATTR_RDONLY);
	struct stat status;

	if (is_device && (fstat(source, &status) != 0 || !S_ISCHR(status.st_mode) ||
			  status.st_rdev != mount->device))
		return -ENODEV;
	return attach_own(tree, mount_clone(source, LAYER_BIND(mount->attributes)),
			  plan_string(tree->plan, mount->target), may_write);
}

/* Attach a detached mount over a path of this mount namespace. */
static int attach_at(int mount, const char *path)
{
	return mount < 0                                                                ? mount
	       : kernel_move_mount(mount, AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0 ? 0
											: -errno;
}

static int attach_new(struct tree *tree, const struct plan_mount *mount, int source)
{
	return attach_own(tree,
			  mount_new(plan_string(tree->plan, mount->source),
				    plan_string(tree->plan, mount->options), mount->options_size,
				    mount->attributes),
			  plan_string(tree->plan, mount->target), false);
}

/* Mount an overlay over `path`, of which the first two layers are made: in its place, or else on a
 * tmpfs that hangs in the host's tree and goes with it: the sandbox has no name for it. */
static int mount_over(const struct tree *tree, const struct plan_mount *mount, const char *path,
		      int *layers, uint32_t count)
{
	const uint64_t attributes = (mount->attributes & ~(uint64_t)MOUNT_ATTR_RDONLY) |
				    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	return tree->roles != 0 ? places_mount(tree->places, tree->index,
					       plan_string(tree->plan, mount->place), attributes,
					       tree->host, path, layers + 2, count - 2)
				: mount_overlay(layers, count, tree->host, path,
						plan_string(tree->plan, mount->options),
						mount->options_size, attributes);
}

/* Attach a persistent mount, or another overlay, above `source`; -1: above nothing. The directories
 * of its frame are the user's, where those of the source are foreign. */
static int attach_layers(struct tree *tree, const struct plan_mount *mount, int source)
{
	/* settle_descriptors() closes the frame. */
	const int frame =
		mount->frame ? tree_open(tree->host, plan_string(tree->plan, mount->frame), O_PATH)
			     : source;
	int layers[] = { -1, -1, frame, source };
	const uint32_t count = 2U + (mount->frame != 0) + (source != -1);

	return attach_own(tree, mount_over(tree, mount, "/" STAGING_HOST, layers, count),
			  plan_string(tree->plan, mount->target),
			  tree->roles == PLACE_ROLE(LAYER_WRITE));
}

/* A small tmpfs that only the set-up writes to. */
static int new_small_tmpfs(void)
{
	/* \000 where a digit follows. */
	static const char options[] = "size\0004m\0nr_inodes\0001024\0mode\0000755";

	return mount_new("tmpfs", options, sizeof(options),
			 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* The record of the image that makes the root in this phase; NULL: none does. */
static const struct plan_mount *image_of(const struct tree *tree, uint32_t phase)
{
	const struct plan_mount *first =
		plan_mounts(tree->plan, plan_profile(tree->plan, tree->profile));

	return first->kind == PLAN_IMAGE && first->phase == phase ? first : NULL;
}

/* Mount the image over `path`. */
static int new_image(const struct tree *tree, const struct plan_mount *image, const char *path)
{
	const struct plan_profile *profile = plan_profile(tree->plan, tree->profile);
	const char *name = plan_string(tree->plan, profile->layers);
	const char *end = name + profile->layers_size;
	int layers[2 + PLAN_LAYERS_MAX];
	uint32_t count = 2;

	for (; name < end; name += strlen(name) + 1)
		layers[count++] = tree_open(tree->host, name, O_PATH);
	const int result = mount_over(tree, image, path, layers, count);
	while (count > 2)
		fd_close(&layers[--count]);
	return result;
}

/* Begin a tree at `path`, with the sealed file, which is a mount of its own in a root that may be
 * written. */
static int begin_tree(struct tree *tree, uint32_t phase, const char *path)
{
	const struct plan_mount *image = image_of(tree, phase);

	begin_record(tree, 0);
	tree->root = image ? new_image(tree, image, path) : new_small_tmpfs();
	tree->parent = TREE_PARENT(tree->root);
	int error = image && tree->root >= 0 ? 0 : attach_at(tree->root, path);
	/* A place has it from the time before. Without it no probe passes. */
	(void)mknodat(tree->root, &PLAN_SEALED_FILE[1], S_IFREG | 0444, 0);
	if (error || phase == PLAN_PHASE_BASE)
		return error;
	int sealed = tree_open(tree->root, PLAN_SEALED_FILE, O_PATH);
	error = attach_own(tree, mount_clone(sealed, LAYER_READ_ONLY), PLAN_SEALED_FILE, false);
	fd_close(&sealed);
	return error;
}

/* Mask a path: cover it with the tree's own /dev/null or an empty directory, both read-only in the
 * base. */
static int mask_path(struct tree *tree, const struct plan_mount *mount, int masked)
{
	struct stat status;
	int error = 0, copy = -1;

	fd_close(&tree->parent.fd);
	if (fstat(masked, &status) == 0)
		copy = kernel_open_tree(tree->root,
					S_ISDIR(status.st_mode) ? EMPTY_DIRECTORY : NULL_DEVICE,
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (copy < 0 || kernel_move_mount(copy, masked, "",
					  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		error = -errno;
	fd_close(&copy);
	return error;
}

/* How each kind of record is applied, and how the file is opened that it is about; 0: none. */
static const struct {
	int (*apply)(struct tree *, const struct plan_mount *, int source);
	uint64_t source;
} kinds[PLAN_MOUNT_KIND_COUNT] = {
	[PLAN_DIRECTORY] = { make_entry, 0 },
	[PLAN_SYMLINK] = { make_entry, 0 },
	[PLAN_FILE] = { make_entry, 0 },
	[PLAN_COPY] = { make_entry, O_RDONLY | O_NONBLOCK },
	[PLAN_BIND] = { bind_host, O_PATH },
	[PLAN_DEVICE] = { bind_host, O_PATH },
	[PLAN_TMPFS] = { attach_new, 0 },
	[PLAN_PROC] = { attach_new, 0 },
	[PLAN_DEVPTS] = { attach_new, 0 },
	[PLAN_MASK] = { mask_path, O_PATH },
	[PLAN_OVERLAY] = { attach_layers, O_PATH | O_DIRECTORY },
};

/* Leave out a file that is not there, if that is no error. */
static int apply_record(struct tree *tree, const struct plan_mount *mount)
{
	const uint64_t flags = kinds[mount->kind].source;
	int source = flags ? open_source(tree, mount, flags) : -1;

	if (flags && source < 0)
		return source == -ENOENT && (mount->flags & PLAN_OPTIONAL) ? 0 : source;
	const int error = tree->roles != 0 ? attach_layers(tree, mount, source)
					   : kinds[mount->kind].apply(tree, mount, source);
	fd_close(&source);
	return error;
}

/* Build the records of a phase, in their order; that of an image is the root. */
static int build_tree(struct tree *tree, uint32_t phase, uint32_t *ret_stage)
{
	const struct plan_profile *profile = plan_profile(tree->plan, tree->profile);
	const struct plan_mount *mounts = plan_mounts(tree->plan, profile);
	int error = 0;

	for (uint32_t i = profile->layers_size > 0; i < profile->mount_count && !error; i++) {
		begin_record(tree, i);
		if (mounts[i].phase == phase || tree->roles != 0)
			error = apply_record(tree, &mounts[i]);
		if (error && (mounts[i].flags & PLAN_PINNED))
			*ret_stage = STAGE_BIND;
	}
	return error;
}

/* The tree is complete, or given up. */
static int open_writable(struct tree *tree, int error)
{
	fd_close(&tree->parent.fd);
	for (uint32_t i = 0; i < tree->writable_count; i++) {
		if (!error)
			error = mount_make_writable(tree->writable[i]);
		fd_close(&tree->writable[i]);
	}
	return error;
}

int mounts_stage(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return -errno;
	int staging = new_small_tmpfs();
	if (staging < 0)
		return staging;
	/* /usr is a directory that every host has; the pivot uncovers it again. */
	if (kernel_move_mount(staging, AT_FDCWD, "/usr", MOVE_MOUNT_F_EMPTY_PATH) != 0 ||
	    fchdir(staging) != 0 || mkdir(STAGING_HOST, 0700) != 0 ||
	    mkdir(STAGING_BASE, 0755) != 0 || syscall(SYS_pivot_root, ".", STAGING_HOST) != 0 ||
	    chdir("/") != 0)
		return -errno;
	fd_close(&staging);
	const int host = open("/" STAGING_HOST, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return host < 0 ? -errno : host;
}

static void base_path(struct text *path, const struct plan *plan, uint32_t index)
{
	text_add(path, "/" STAGING_BASE "/");
	text_add_number(path, plan->slot * PLAN_PROFILES_MAX + index);
}

int mounts_build_base(const struct plan *plan, uint32_t index, int host, const struct shown *shown,
		      uint32_t *ret_stage)
{
	struct tree tree = { .plan = plan, .profile = index, .host = host, .shown = shown };
	struct text path = { .used = 0 };

	*ret_stage = STAGE_BASE;
	base_path(&path, plan, index);
	const int made = mkdir(path.bytes, 0755);
	int error = made == 0 ? begin_tree(&tree, PLAN_PHASE_BASE, path.bytes) : -errno;
	if (!error)
		error = build_tree(&tree, PLAN_PHASE_BASE, ret_stage);
	/* It is shared by every sandbox of the profile, in whose namespaces this is locked. */
	if (!error)
		error = mount_set_attributes(tree.root, LAYER_READ_ONLY);
	error = open_writable(&tree, error);
	fd_close(&tree.root);
	if (error && made == 0) /* the next sandbox of the profile tries it anew */
		mounts_forget_base(plan, index);
	return error;
}

void mounts_forget_base(const struct plan *plan, uint32_t index)
{
	struct text path = { .used = 0 };

	base_path(&path, plan, index);
	/* An image covers what it is written to. If it stays, only room is lost. */
	while (umount2(path.bytes, MNT_DETACH) == 0)
		;
	(void)rmdir(path.bytes);
}

static int change_root(int root)
{
	const bool is_done = fchdir(root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
			     LAYER_DETACH_OLD_ROOT() == 0 && chdir("/") == 0;

	return is_done ? 0 : -errno;
}

/* The copy must be attached somewhere before anything can be mounted in it (before Linux 6.15)
 * and before pivot_root; /base serves, since the copy was taken before it is covered. */
static int take_base(struct tree *tree)
{
	struct text path = { .used = 0 };

	base_path(&path, tree->plan, tree->profile);
	tree->root = kernel_open_tree(AT_FDCWD, path.bytes,
				      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	tree->parent = TREE_PARENT(tree->root);
	return tree->root < 0 ? -errno : attach_at(tree->root, "/" STAGING_BASE);
}

int mounts_enter(const struct plan *plan, uint32_t index, const struct shown *shown,
		 const struct places *places, uint32_t *ret_stage)
{
	struct tree tree = { .plan = plan,
			     .profile = index,
			     .host = open("/" STAGING_HOST, O_PATH | O_DIRECTORY | O_CLOEXEC),
			     .shown = shown,
			     .places = places };
	int error = tree.host < 0 ? -errno : 0;

	*ret_stage = STAGE_MOUNTS;
	if (!error)
		error = image_of(&tree, PLAN_PHASE_SANDBOX)
				? begin_tree(&tree, PLAN_PHASE_SANDBOX, "/" STAGING_BASE)
				: take_base(&tree);
	if (!error)
		error = build_tree(&tree, PLAN_PHASE_SANDBOX, ret_stage);
	error = open_writable(&tree, error);
	if (!error) {
		*ret_stage = STAGE_ROOT;
		error = change_root(tree.root);
	}
	fd_close(&tree.host);
	fd_close(&tree.root);
	return error;
}
