/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and clearing msp.<pid> (see cgroup.h for the picture).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "common/cgroup.h"
#include "common/fd.h"
#include "format.h"

#define PREFIX "msp."
#define LEAF "supervisor"

/* Names tried when msp.<pid> exists, and waits for killed processes to be gone. */
#define NAMES_MAX 16
#define WAITS_MAX 50
#define WAIT_NS 2000000

/* Folders below one that is removed: sandboxes have two levels. */
#define REMOVE_DEPTH 4

static int open_folder(int parent, const char *name)
{
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Remove the cgroups inside `folder` (taken), deepest first. Best effort: rmdir of the top says
 * whether it worked. */
static void empty_folder(int folder, int depth)
{
	DIR *list = fdopendir(folder);
	const struct dirent *entry;

	if (!list) {
		fd_close(&folder);
		return;
	}
	while ((entry = readdir(list))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		const int inner = depth > 0 ? open_folder(dirfd(list), entry->d_name) : -1;

		if (inner >= 0)
			empty_folder(inner, depth - 1);
		(void)unlinkat(dirfd(list), entry->d_name, AT_REMOVEDIR); /* the top one tells */
	}
	(void)closedir(list);
}

/* Kill what is in `name` and remove it; false when something stayed. */
static bool remove_tree(int parent, const char *name, int folder)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };

	(void)cgroup_write(folder, "cgroup.kill", "1"); /* rmdir below tells whether it helped */
	for (int i = 0; i < WAITS_MAX; i++) {
		const int list = open_folder(parent, name);

		if (list == -ENOENT)
			return true;
		if (list >= 0)
			empty_folder(list, REMOVE_DEPTH);
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return true;
		(void)nanosleep(&wait, NULL); /* a signal only makes it shorter */
	}
	return false;
}

/* A start whose lock can be taken is dead: nobody of it holds the directory any more. */
static void remove_dead(int parent)
{
	const int again = open_folder(parent, ".");
	DIR *list = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		int folder = open_folder(parent, entry->d_name);

		if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
			(void)remove_tree(parent, entry->d_name, folder); /* the next start tries */
		fd_close(&folder);
	}
	if (list)
		(void)closedir(list);
}

/* msp.<pid> with its lock and its leaf. Another start may take a fresh one that is not locked yet
 * for a dead one and remove it: then the next name is tried. */
static int make_home(struct cgroup_home *home)
{
	int error = -EEXIST;

	for (int i = 0; error && i < NAMES_MAX; i++) {
		format_text(home->name, sizeof(home->name), PREFIX "%d", (int)getpid());
		if (i > 0)
			format_append(home->name, sizeof(home->name), ".%d", i);
		if (mkdirat(home->parent, home->name, 0755) != 0) {
			if (errno != EEXIST)
				return -errno;
			continue;
		}
		home->directory = open_folder(home->parent, home->name);
		error = home->directory < 0 ? home->directory : 0;
		if (!error && flock(home->directory, LOCK_EX | LOCK_NB) != 0)
			error = -errno;
		if (!error && mkdirat(home->directory, LEAF, 0755) != 0)
			error = -errno;
		if (error) {
			fd_close(&home->directory);
			(void)unlinkat(home->parent, home->name, AT_REMOVEDIR);
		}
	}
	return error;
}

static int enable(int directory, uint32_t has_io)
{
	return cgroup_write(directory, "cgroup.subtree_control",
			    has_io ? "+cpu +memory +pids +io" : "+cpu +memory +pids");
}

static void disable(int directory)
{
	/* One that is not enabled is no error. */
	(void)cgroup_write(directory, "cgroup.subtree_control", "-cpu -memory -pids -io");
}

/* "0" is the writing process. */
static int move_self(int directory, const char *file)
{
	return cgroup_write(directory, file, "0");
}

int cgroup_enter(struct cgroup_state *state, struct cgroup_home *ret)
{
	struct cgroup_home home = { .parent = state->directory, .directory = -1 };
	int error;

	state->directory = -1;
	home.has_io = cgroup_parse_controllers(state->controllers) & CGROUP_IO ? 1 : 0;
	remove_dead(home.parent);
	error = make_home(&home);
	if (error) {
		fd_close(&home.parent);
		return error;
	}
	error = move_self(home.directory, LEAF "/cgroup.procs");
	if (!error)
		error = enable(home.parent, home.has_io);
	if (!error)
		error = enable(home.directory, home.has_io);
	if (error) {
		cgroup_leave(&home);
		return error;
	}
	*ret = home;
	return 0;
}

/* Nobody can go back to the parent before it hands out no controllers any more, and it must while
 * a sandbox is left that uses them. */
static bool go_back(const struct cgroup_home *home)
{
	int list = open_folder(home->parent, home->name);

	if (list >= 0)
		empty_folder(list, REMOVE_DEPTH);
	disable(home->directory);
	disable(home->parent);
	return move_self(home->parent, "cgroup.procs") == 0;
}

void cgroup_leave(struct cgroup_home *home)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	bool is_back = false;

	/* After a supervisor that was killed, its factory and sandboxes need a moment to end. */
	for (int i = 0; !is_back && i < WAITS_MAX; i++) {
		is_back = go_back(home);
		if (!is_back)
			(void)nanosleep(&wait, NULL); /* a signal only makes it shorter */
	}
	if (is_back)
		(void)remove_tree(home->parent, home->name,
				  home->directory); /* or the next start */
	fd_close(&home->directory);
	fd_close(&home->parent);
}
