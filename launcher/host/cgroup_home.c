/* SPDX-License-Identifier: Apache-2.0
 *
 * Making and clearing msp.<pid> (see cgroup.h for the picture).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/confine/cgroup.h"
#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/host/cgroup.h"

#define PREFIX "msp."
#define SUPERVISOR "supervisor"
#define SANDBOXES "sandboxes"

/* Names tried when msp.<pid> exists, and waits for killed processes to be gone. */
#define NAMES_MAX 16
#define WAITS_MAX 50
#define WAIT_NS 2000000

/* Waits of WAIT_NS for a cgroup without processes, a second altogether. */
#define BUSY_MAX 500

/* Folders below one that is removed: sandboxes/, and sandboxes have two levels. */
#define REMOVE_DEPTH 4

/* Weight of cpu time: a request is answered while sandboxes want all of it. */
#define WEIGHT_SUPERVISOR "1000"
#define WEIGHT_SANDBOXES "100"

/* Memory that is not taken from the supervisor for the sandboxes' sake: supervisor and factory need
 * 2 MiB, 64 brokers half a MiB each. */
#define PROTECTED_BYTES "33554432"

/* Most that supervisor, factory and brokers take: 64 brokers with 64 MiB of kept output, and as
 * much again as the address space of one that was taken over, whose memfds no other limit bounds.
 */
#define SUPERVISOR_BYTES "5368709120"

static int open_folder(int parent, const char *name)
{
	return fd_result(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
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

	(void)text_write_file(folder, "cgroup.kill", "1"); /* rmdir below tells whether it helped */
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

/* Open and lock; -EWOULDBLOCK when somebody else has. */
static int open_locked(int parent, const char *name)
{
	int folder = open_folder(parent, name);

	return folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0 ? folder
								   : fd_unless(-errno, folder);
}

/* A start whose locks can be taken is dead: nobody of it holds them any more. */
static void remove_if_dead(int parent, const char *name)
{
	int own FD_OWNED = open_locked(parent, name);
	int sandboxes FD_OWNED = own < 0 ? own : open_locked(own, SANDBOXES);

	if (own >= 0 && (sandboxes >= 0 || sandboxes == -ENOENT))
		(void)remove_tree(parent, name, own); /* the next start tries */
}

static void remove_dead(int parent)
{
	const int again = open_folder(parent, ".");
	DIR *list = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			remove_if_dead(parent, entry->d_name);
	}
	if (list)
		(void)closedir(list);
}

static int make_parts(struct cgroup_home *home)
{
	home->own = open_locked(home->parent, home->name);
	if (home->own < 0)
		return home->own;
	if (mkdirat(home->own, SUPERVISOR, 0755) != 0 || mkdirat(home->own, SANDBOXES, 0755) != 0)
		return -errno;
	home->directory = open_locked(home->own, SANDBOXES);
	return home->directory < 0 ? home->directory : 0;
}

/* msp.<pid> with its locks and its parts. Another start may take a fresh one that is not locked yet
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
		error = make_parts(home);
		if (error) {
			if (home->own >= 0)
				(void)remove_tree(home->parent, home->name, home->own);
			fd_close(&home->directory);
			fd_close(&home->own);
		}
	}
	return error;
}

int cgroup_enable(int directory, uint32_t has_io)
{
	const char *controllers = has_io ? "+cpu +memory +pids +io" : "+cpu +memory +pids";
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	int error = text_write_file(directory, "cgroup.subtree_control", controllers);

	for (int i = 0; error == -EBUSY && i < BUSY_MAX; i++) {
		(void)nanosleep(&wait, NULL); /* a signal only makes it shorter */
		error = text_write_file(directory, "cgroup.subtree_control", controllers);
	}
	return error;
}

static void disable_controllers(int directory)
{
	/* A controller that is not enabled is no error. */
	(void)text_write_file(directory, "cgroup.subtree_control", "-cpu -memory -pids -io");
}

/* "0" is the writing process. */
static int move_self(int directory, const char *file)
{
	return text_write_file(directory, file, "0");
}

/* Write each file's limit, in this order. */
static int set_limits(const struct cgroup_home *home, uint64_t memory_bytes)
{
	static const char *const files[][2] = {
		{ "memory.min", PROTECTED_BYTES },
		{ SUPERVISOR "/memory.min", PROTECTED_BYTES },
		{ SUPERVISOR "/memory.max", SUPERVISOR_BYTES },
		{ SUPERVISOR "/cpu.weight", WEIGHT_SUPERVISOR },
		{ SANDBOXES "/cpu.weight", WEIGHT_SANDBOXES },
	};
	char number[32];
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(files) / sizeof(files[0]); i++)
		error = text_write_file(home->own, files[i][0], files[i][1]);
	if (!error)
		error = text_write_file(home->own, SANDBOXES "/memory.swap.max", "0");
	if (error == -ENOENT) /* a kernel without swap accounting has no swap to limit */
		error = 0;
	if (error || memory_bytes == 0)
		return error;
	format_text(number, sizeof(number), "%llu", (unsigned long long)memory_bytes);
	return text_write_file(home->own, SANDBOXES "/memory.max", number);
}

/* The first process to go is ours; only an empty cgroup hands controllers on. */
static int fill_home(const struct cgroup_home *home, uint64_t memory_bytes)
{
	int error = move_self(home->own, SUPERVISOR "/cgroup.procs");

	if (!error)
		error = cgroup_enable(home->parent, home->has_io);
	if (!error)
		error = cgroup_enable(home->own, home->has_io);
	if (!error)
		error = cgroup_enable(home->directory, home->has_io);
	return error ? error : set_limits(home, memory_bytes);
}

int cgroup_enter(struct cgroup_state *state, uint64_t memory_bytes, struct cgroup_home *ret)
{
	struct cgroup_home home = { .parent = state->directory, .own = -1, .directory = -1 };
	int error;

	state->directory = -1;
	home.has_io = cgroup_parse_controllers(state->controllers) & CGROUP_IO ? 1 : 0;
	remove_dead(home.parent);
	error = make_home(&home);
	if (error) {
		fd_close(&home.parent);
		return error;
	}
	error = fill_home(&home, memory_bytes);
	if (error)
		cgroup_leave(&home);
	else
		*ret = home;
	return error;
}

/* Go back to the parent, which is possible once it hands out no controllers any more; it must hand
 * them out while a sandbox is left that uses them. */
static bool go_back(const struct cgroup_home *home)
{
	int list = open_folder(home->own, SANDBOXES);

	if (list >= 0)
		empty_folder(list, REMOVE_DEPTH);
	if (unlinkat(home->own, SANDBOXES, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return false;
	disable_controllers(home->own);
	disable_controllers(home->parent);
	return move_self(home->parent, "cgroup.procs") == 0;
}

/* Take the process that removes the files of destroyed sandboxes along to the parent. It leads a
 * session; the others of our processes that do have ended. One that stays is killed, and the next
 * supervisor starts another. */
static void take_remover(const struct cgroup_home *home)
{
	const int list = openat(home->own, SUPERVISOR "/cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *lines = list < 0 ? NULL : fdopen(list, "r");
	char line[32];

	while (lines && fgets(line, sizeof(line), lines)) {
		const pid_t pid = (pid_t)strtol(line, NULL, 10);

		line[strcspn(line, "\n")] = '\0';
		if (pid > 0 && getsid(pid) == pid)
			(void)text_write_file(home->parent, "cgroup.procs", line);
	}
	if (lines)
		(void)fclose(lines);
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
	if (is_back) {
		take_remover(home);
		(void)remove_tree(home->parent, home->name, home->own); /* or the next start */
	}
	fd_close(&home->directory);
	fd_close(&home->own);
	fd_close(&home->parent);
}
