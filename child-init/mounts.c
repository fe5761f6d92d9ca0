/* SPDX-License-Identifier: Apache-2.0 */
#include "mounts.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/names.h"
#include "identity.h"
#include "common/text.h"
#include "tree.h"

#define EMPTY_DIRECTORY "/var/empty"
#define RESOLVE_TREE (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)

/* The staging root and each base tree hold a few dozen small files. */
#define STAGING_BYTES (4U << 20)
#define STAGING_INODES 1024U

/* One tree under construction. */
struct tree {
	const struct plan *plan;
	int root; /* O_PATH of the tree's root */
	int host; /* O_PATH of the host's root; -1 in a sandbox */
};

static int make_symlink(const struct tree *tree, const struct plan_mount *mount)
{
	const char *name;
	int parent = tree_parent(tree->root, plan_string(tree->plan, mount->target), &name);
	int error = 0;

	if (parent < 0)
		return parent;
	if (symlinkat(plan_string(tree->plan, mount->source), parent, name) != 0)
		error = -errno;
	fd_close(&parent);
	return error;
}

static int make_directory(const struct tree *tree, const struct plan_mount *mount)
{
	int fd = tree_make_directory(tree->root, plan_string(tree->plan, mount->target),
				     mount->mode);

	if (fd < 0)
		return fd;
	fd_close(&fd);
	return 0;
}

static int make_file(const struct tree *tree, const struct plan_mount *mount)
{
	const char *text = plan_string(tree->plan, mount->source);
	const char *name;
	int parent = tree_parent(tree->root, plan_string(tree->plan, mount->target), &name);
	int error;
	int fd;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    mount->mode);
	error = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
	fd_close(&fd);
	fd_close(&parent);
	return error;
}

/* Attach a detached mount over the target, which is made when it does not exist. */
static int attach(const struct tree *tree, int mount, const char *target)
{
	struct stat status;
	int error = 0;
	int at;

	if (fstat(mount, &status) != 0)
		return -errno;
	at = S_ISDIR(status.st_mode) ? tree_make_directory(tree->root, target, 0755)
				     : tree_make_file(tree->root, target);
	if (at < 0)
		return at;
	if (kernel_move_mount(mount, at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		error = -errno;
	fd_close(&at);
	return error;
}

/* A detached private copy of what `source` names, with `attributes` set on all of it. */
static int clone_tree(int source, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	int copy = kernel_open_tree(source, "",
				    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					    AT_RECURSIVE);

	if (copy < 0)
		return -errno;
	if (syscall(SYS_mount_setattr, copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		    sizeof(attr)) != 0) {
		const int error = errno;

		fd_close(&copy);
		return -error;
	}
	return copy;
}

static int bind_host(const struct tree *tree, const struct plan_mount *mount)
{
	const bool is_device = mount->kind == PLAN_DEVICE;
	const uint64_t attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				    (is_device ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
	struct stat status;
	int error = 0;
	int copy = -1;
	int source = kernel_openat2(tree->host, plan_string(tree->plan, mount->source) + 1,
				    O_PATH | O_CLOEXEC, RESOLVE_TREE);

	if (source < 0)
		return errno == ENOENT && (mount->flags & PLAN_OPTIONAL) ? 0 : -errno;
	if (is_device) { /* not whatever lies under that name */
		if (fstat(source, &status) != 0)
			error = -errno;
		else if (!S_ISCHR(status.st_mode) || status.st_rdev != mount->device)
			error = -ENODEV;
	}
	if (!error) {
		copy = clone_tree(source, attributes);
		error = copy < 0 ? copy
				 : attach(tree, copy, plan_string(tree->plan, mount->target));
	}
	fd_close(&copy);
	fd_close(&source);
	return error;
}

struct option {
	const char *key;
	const char *value;
};

/* A detached new file system, or -errno. */
static int new_filesystem(const char *type, const struct option *options, uint64_t attributes)
{
	int error = 0;
	int mount = -1;
	int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);

	if (context < 0)
		return -errno;
	for (; options->key && !error; options++) {
		if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, options->key,
			    options->value, 0) != 0)
			error = -errno;
	}
	if (!error && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		error = -errno;
	if (!error) {
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
		error = mount < 0 ? -errno : 0;
	}
	fd_close(&context);
	return error ? error : mount;
}

static int new_tmpfs(uint64_t bytes, uint64_t inodes, uint32_t mode, uint64_t attributes)
{
	struct text size = { .used = 0 };
	struct text count = { .used = 0 };
	char octal[] = { '0', (char)('0' + (mode >> 9 & 7)), (char)('0' + (mode >> 6 & 7)),
			 (char)('0' + (mode >> 3 & 7)), (char)('0' + (mode & 7)), '\0' };
	const struct option options[] = { { "size", size.bytes },
					  { "nr_inodes", count.bytes },
					  { "mode", octal },
					  { NULL, NULL } };

	text_add_number(&size, bytes);
	text_add_number(&count, inodes);
	return new_filesystem("tmpfs", options, attributes);
}

static int attach_new(const struct tree *tree, const struct plan_mount *mount, int filesystem)
{
	int error;

	if (filesystem < 0)
		return filesystem;
	error = attach(tree, filesystem, plan_string(tree->plan, mount->target));
	fd_close(&filesystem);
	return error;
}

static int mount_tmpfs(const struct tree *tree, const struct plan_mount *mount)
{
	const uint64_t attributes =
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
		(mount->flags & PLAN_NOEXEC ? (uint64_t)MOUNT_ATTR_NOEXEC : 0);

	return attach_new(tree, mount,
			  new_tmpfs(mount->size_bytes, mount->inodes, mount->mode, attributes));
}

static int mount_proc(const struct tree *tree, const struct plan_mount *mount)
{
	static const struct option options[] = { { "hidepid", "invisible" }, { NULL, NULL } };
	const int proc = new_filesystem("proc", options,
					MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	struct statfs status;

	if (proc >= 0 && (fstatfs(proc, &status) != 0 || status.f_type != PROC_SUPER_MAGIC))
		return -ENODEV; /* the process ends: proc need not be closed */
	return attach_new(tree, mount, proc);
}

static int mount_devpts(const struct tree *tree, const struct plan_mount *mount)
{
	static const struct option options[] = { { "mode", "0600" },
						 { "ptmxmode", "0666" },
						 { NULL, NULL } };

	return attach_new(tree, mount,
			  new_filesystem("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
}

/* Nothing can be read where a mask lies: the tree's own /dev/null or an empty directory. */
static int mask(const struct tree *tree, const struct plan_mount *mount)
{
	struct stat status;
	int source = -1;
	int copy = -1;
	int error = 0;
	int at = tree_open(tree->root, plan_string(tree->plan, mount->target));

	if (at < 0)
		return at == -ENOENT && (mount->flags & PLAN_OPTIONAL) ? 0 : at;
	if (fstat(at, &status) != 0)
		error = -errno;
	if (!error) {
		source = tree_open(tree->root,
				   S_ISDIR(status.st_mode) ? EMPTY_DIRECTORY : "/dev/null");
		copy = source < 0 ? source : clone_tree(source, MOUNT_ATTR_RDONLY);
		error = copy < 0 ? copy : 0;
	}
	if (!error && kernel_move_mount(copy, at, "",
					MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		error = -errno;
	fd_close(&copy);
	fd_close(&source);
	fd_close(&at);
	return error;
}

static int (*const appliers[PLAN_MOUNT_KIND_COUNT])(const struct tree *,
						    const struct plan_mount *) = {
	[PLAN_DIRECTORY] = make_directory, [PLAN_SYMLINK] = make_symlink,
	[PLAN_FILE] = make_file,	   [PLAN_BIND] = bind_host,
	[PLAN_DEVICE] = bind_host,	   [PLAN_TMPFS] = mount_tmpfs,
	[PLAN_PROC] = mount_proc,	   [PLAN_DEVPTS] = mount_devpts,
	[PLAN_MASK] = mask,
};

static int apply_phase(const struct tree *tree, const struct plan_profile *profile, uint32_t phase)
{
	const struct plan_mount *mounts = plan_mounts(tree->plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].phase != phase)
			continue;
		const int error = appliers[mounts[i].kind](tree, &mounts[i]);
		if (error)
			return error;
	}
	return 0;
}

/* Mount points of phase SANDBOX must exist before the base tree becomes read-only. */
static int make_mount_points(const struct tree *tree, const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(tree->plan, profile);
	int fd = tree_make_directory(tree->root, EMPTY_DIRECTORY, 0555);

	for (uint32_t i = 0; i < profile->mount_count && fd >= 0; i++) {
		if (mounts[i].phase != PLAN_PHASE_SANDBOX || mounts[i].kind == PLAN_MASK)
			continue;
		fd_close(&fd);
		fd = tree_make_directory(tree->root, plan_string(tree->plan, mounts[i].target),
					 0755);
	}
	if (fd < 0)
		return fd;
	fd_close(&fd);
	return 0;
}

/* Does the path lie in a tree that each sandbox mounts for itself? */
static bool is_in_sandbox_mount(const struct plan *plan, const struct plan_profile *profile,
				const char *path)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const char *target = plan_string(plan, mounts[i].target);
		const size_t size = strlen(target);

		if (mounts[i].phase == PLAN_PHASE_SANDBOX && mounts[i].kind == PLAN_TMPFS &&
		    strncmp(path, target, size) == 0 && path[size] == '/')
			return true;
	}
	return false;
}

/* The launcher opened the bind's path once and checked it. That descriptor's mount belongs to
 * another namespace and cannot be cloned from here, so the path is resolved again, without any
 * symlink, and must be the same inode. */
static int bind_operator(const struct tree *tree, const struct bind *bind)
{
	struct stat meant;
	struct stat found;
	int error = 0;
	int copy = -1;
	int source = kernel_openat2(tree->host, bind->host_path + 1, O_PATH | O_CLOEXEC,
				    RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);

	if (source < 0)
		return -errno;
	if (fstat(bind->fd, &meant) != 0 || fstat(source, &found) != 0)
		error = -errno;
	else if (meant.st_dev != found.st_dev || meant.st_ino != found.st_ino)
		error = -ESTALE;
	if (!error) {
		copy = clone_tree(source,
				  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
		error = copy < 0 ? copy : attach(tree, copy, bind->inside_path);
	}
	fd_close(&copy);
	fd_close(&source);
	return error;
}

static int apply_binds(const struct tree *tree, const struct plan_profile *profile,
		       const struct bind *binds, uint32_t count, bool in_sandbox)
{
	for (uint32_t i = 0; i < count; i++) {
		if (is_in_sandbox_mount(tree->plan, profile, binds[i].inside_path) != in_sandbox)
			continue;
		const int error = bind_operator(tree, &binds[i]);
		if (error)
			return error;
	}
	return 0;
}

int mounts_stage(void)
{
	int root = -1;
	int host;
	int staging;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return -errno;
	staging = new_tmpfs(STAGING_BYTES, STAGING_INODES, 0755,
			    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (staging < 0)
		return staging;
	/* /usr is a directory that every host has; the pivot uncovers it again. */
	if (kernel_move_mount(staging, AT_FDCWD, "/usr", MOVE_MOUNT_F_EMPTY_PATH) != 0 ||
	    fchdir(staging) != 0 || mkdir(STAGING_HOST, 0700) != 0 ||
	    mkdir(STAGING_BASE, 0755) != 0 ||
	    syscall(SYS_pivot_root, ".", STAGING_HOST) != 0 || chdir("/") != 0)
		return -errno;
	root = open("/", O_PATH | O_CLOEXEC);
	host = root < 0 ? -1 : openat(root, STAGING_HOST, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (host < 0)
		return -errno;
	fd_close(&root);
	fd_close(&staging);
	return host;
}

static void base_path(struct text *path, uint32_t index)
{
	text_add(path, "/" STAGING_BASE "/");
	text_add_number(path, index);
}

/* Read-only as a mount and as a file system: it is shared by every sandbox of the profile. */
static int make_read_only(int root)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int error = 0;
	int context = (int)syscall(SYS_fspick, root, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);

	if (context < 0)
		return -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "ro", NULL, 0) != 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) != 0 ||
	    syscall(SYS_mount_setattr, root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) != 0)
		error = -errno;
	fd_close(&context);
	return error;
}

int mounts_build_base(const struct plan *plan, uint32_t index, int host, const struct bind *binds,
		      uint32_t bind_count, uint32_t *ret_stage)
{
	const struct plan_profile *profile = plan_profile(plan, index);
	struct tree tree = { .plan = plan, .root = -1, .host = host };
	struct text path = { .used = 0 };
	int error = 0;

	*ret_stage = STAGE_BASE;
	base_path(&path, index);
	tree.root = new_tmpfs(STAGING_BYTES, STAGING_INODES, 0755,
			      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (tree.root < 0)
		return tree.root;
	if (mkdir(path.bytes, 0755) != 0 ||
	    kernel_move_mount(tree.root, AT_FDCWD, path.bytes, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		error = -errno;
	if (!error)
		error = apply_phase(&tree, profile, PLAN_PHASE_BASE);
	if (!error)
		error = make_mount_points(&tree, profile);
	if (!error) {
		error = apply_binds(&tree, profile, binds, bind_count, false);
		if (error)
			*ret_stage = STAGE_BIND;
	}
	if (!error)
		error = make_read_only(tree.root);
	fd_close(&tree.root);
	return error;
}

static int change_root(int root)
{
	if (fchdir(root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 ||
	    umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		return -errno;
	return 0;
}

/* The copy must be attached somewhere before anything can be mounted in it (before Linux 6.15)
 * and before pivot_root; /base serves, since the copy was taken before it is covered. */
static int take_base(uint32_t index)
{
	struct text path = { .used = 0 };
	int root;

	base_path(&path, index);
	root = kernel_open_tree(AT_FDCWD, path.bytes,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (root < 0)
		return -errno;
	if (kernel_move_mount(root, AT_FDCWD, "/" STAGING_BASE, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return -errno;
	return root;
}

int mounts_enter(const struct plan *plan, uint32_t index, const struct bind *binds,
		 uint32_t bind_count, uint32_t *ret_stage)
{
	const struct plan_profile *profile = plan_profile(plan, index);
	struct tree tree = { .plan = plan, .root = take_base(index), .host = -1 };
	int error;

	*ret_stage = STAGE_MOUNTS;
	if (tree.root < 0)
		return tree.root;
	tree.host = open("/" STAGING_HOST, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree.host < 0)
		return -errno;
	error = apply_phase(&tree, profile, PLAN_PHASE_SANDBOX);
	if (!error) {
		error = apply_binds(&tree, profile, binds, bind_count, true);
		if (error)
			*ret_stage = STAGE_BIND;
	}
	if (!error) {
		error = change_root(tree.root);
		if (error)
			*ret_stage = STAGE_ROOT;
	}
	fd_close(&tree.host);
	fd_close(&tree.root);
	return error;
}
