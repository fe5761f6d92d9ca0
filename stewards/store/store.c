/* SPDX-License-Identifier: Apache-2.0
 *
 * The state directory: who has which sandbox, how one comes to be and goes.
 */
#include "stewards/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "common/records/history.h"
#include "inner.h"

/* A look at a sandbox holds its lock for microseconds; a change of layers holds the lock of the
 * state directory for a few syncs of the disk. */
#define LOCK_STEP_US 200
#define TAKE_STEPS 10
#define LOCK_STEPS 2500

/* Longest that a sandbox is being made. */
#define UNFINISHED_S 60

/* Longest that a system keeps what was written to itself; some seconds are usual. */
#define UNSETTLED_S 120

/* getdents64(2); the C library's readdir would need a heap */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

struct store_places store_places = { -1, -1, -1, -1, -1, -1 };

static struct store_meta other; /* scratch: of the sandbox that is looked at */

static int lock_dir(int fd, int operation, int steps)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_US * 1000L };

	while (flock(fd, operation | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (steps-- == 0)
			return -EBUSY;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &step, NULL); /* it is tried again */
	}
	return 0;
}

/* A holder that was stopped while it had the lock is waited for once. */
int store_lock(void)
{
	static bool is_stuck;
	int error = -ENOTCONN;

	if (store_places.lock >= 0)
		error = lock_dir(store_places.lock, LOCK_EX, is_stuck ? TAKE_STEPS : LOCK_STEPS);
	is_stuck = error == -EBUSY;
	if (!error)
		store_survey_begin();
	return is_stuck ? -EAGAIN : error;
}

void store_unlock(void)
{
	store_survey_end();
	(void)flock(store_places.lock, LOCK_UN); /* cannot fail: the lock is held */
}

static int open_place(const char *name)
{
	const int made = mkdirat(store_places.state, name, S_IRWXU);
	const int fd = made == 0 || errno == EEXIST
			       ? openat(store_places.state, name, STORE_DIRECTORY)
			       : -1;

	if (made == 0)
		(void)fsync(store_places.lock); /* if it fails, a crash loses the place with its
						   first entry */
	return fd < 0 ? -errno : fd;
}

int store_open(int directory)
{
	int *const fds[] = { &store_places.sandboxes, &store_places.layers, &store_places.trash };
	static const char *const names[] = { "sandboxes", "layers", "trash" };

	store_places.state = directory;
	store_places.lock = openat(directory, ".", STORE_DIRECTORY);
	if (store_places.lock < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		*fds[i] = open_place(names[i]);
		if (*fds[i] < 0)
			return *fds[i];
	}
	/* Without it there is no index. */
	store_places.stamp = openat(directory, "stamp", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
				    S_IRUSR | S_IWUSR);
	return 0;
}

int store_each_name(int dir, const char *name, int (*each)(void *context, const char *name),
		    void *context)
{
	union {
		char bytes[2048];
		struct entry first; /* for its alignment */
	} buffer;
	int fd = openat(dir, name, STORE_DIRECTORY);
	long size = 1;
	int result = 0;

	if (fd < 0)
		return -errno;
	while (!result && size > 0) {
		size = syscall(SYS_getdents64, fd, buffer.bytes, sizeof(buffer.bytes));
		if (size < 0)
			result = -errno;
		for (long at = 0; at < size && !result;) {
			const void *here = buffer.bytes + at;
			const struct entry *entry = here;

			at += entry->size;
			if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
				result = each(context, entry->name);
		}
	}
	fd_close(&fd);
	return result;
}

static int found_name(void *context, const char *name)
{
	const char *const *but = context;

	return !*but || strcmp(*but, name) != 0;
}

int store_has_any(int dir, const char *name, const char *but)
{
	return store_each_name(dir, name, found_name, &but);
}

struct each {
	int (*each)(void *context, const char id[IPC_ID_MAX]);
	void *context;
};

static int each_id(void *context, const char *name)
{
	const struct each *each = context;

	return store_is_id(name) ? each->each(each->context, name) : 0;
}

int store_each(int (*each)(void *context, const char id[IPC_ID_MAX]), void *context)
{
	return store_each_name(store_places.sandboxes, ".", each_id,
			       &(struct each){ each, context });
}

int store_random(uint8_t ret[STORE_ID_BYTES])
{
	return getrandom(ret, STORE_ID_BYTES, 0) == STORE_ID_BYTES ? 0 : -EIO;
}

/* --- who has it ------------------------------------------------------------------------------- */

int store_open_sandbox(const char *id)
{
	const int fd = store_is_id(id) ? openat(store_places.sandboxes, id, STORE_DIRECTORY) : -1;

	return fd < 0 ? (store_is_id(id) ? -errno : -ENOENT) : fd;
}

int store_peek(const char *id, bool is_whole, struct store_meta *ret)
{
	int fd = store_open_sandbox(id);
	const int error = fd < 0 ? fd : store_read(fd, id, is_whole, ret);

	fd_close(&fd);
	return error;
}

static int own_directory(const char *id)
{
	int fd = store_open_sandbox(id);
	int error = fd < 0 ? fd : lock_dir(fd, LOCK_EX, TAKE_STEPS);
	struct stat ours, found;

	/* Before it was locked it may have been destroyed. */
	if (!error && (fstat(fd, &ours) != 0 ||
		       fstatat(store_places.sandboxes, id, &found, AT_SYMLINK_NOFOLLOW) != 0 ||
		       ours.st_ino != found.st_ino))
		error = -ENOENT;
	if (error && fd >= 0)
		fd_close(&fd);
	return error ? error : fd;
}

static bool has_layers(const struct store_meta *meta)
{
	for (uint32_t i = 0; i < meta->layer_count; i++) {
		struct stat status;
		char id[IPC_ID_MAX];

		store_id_text(meta->layers[i].id, id);
		if (fstatat(store_places.layers, id, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISDIR(status.st_mode))
			return false;
	}
	return true;
}

int store_take(const char *id, struct store_meta *ret)
{
	int fd = own_directory(id);
	int error = fd < 0 ? fd : store_read(fd, id, true, ret);

	if (!error && !has_layers(ret))
		error = -EBADMSG;
	if (!error && clock_real_us() / 1000000 < ret->created_s + UNSETTLED_S)
		error = store_settle(fd);
	if (error && fd >= 0)
		fd_close(&fd);
	return error ? error : fd;
}

int store_look(const char *id, struct store_meta *ret, uint64_t *ret_used_s, bool *ret_is_taken)
{
	int fd = store_open_sandbox(id);
	int error;

	if (fd < 0)
		return fd;
	error = store_read(fd, id, true, ret);
	*ret_used_s = store_used_s(fd);
	*ret_is_taken = lock_dir(fd, LOCK_SH, 0) != 0;
	fd_close(&fd);
	return error;
}

struct wanted {
	const char *owner, *name;
	char id[IPC_ID_MAX];
};

static int is_wanted(void *context, const char id[IPC_ID_MAX])
{
	struct wanted *wanted = context;
	const bool is_id = strcmp(wanted->name, id) == 0;
	const int error = store_peek(id, false, &other);
	const bool is_owner = error == -EBADMSG ? is_id && wanted->owner[0] == '\0'
						: !error && strcmp(other.owner, wanted->owner) == 0;

	if (!is_owner || !(is_id || (!error && strcmp(other.name, wanted->name) == 0)))
		return 0;
	memcpy(wanted->id, id, sizeof(wanted->id));
	return 1;
}

bool store_find(const char *owner, const char *name, char ret[IPC_ID_MAX])
{
	struct wanted wanted = { owner, name, "" };

	if (store_is_id(name))
		(void)is_wanted(&wanted, name);
	else if (store_is_name(name))
		(void)store_each(is_wanted, &wanted);
	memcpy(ret, wanted.id, sizeof(wanted.id));
	return wanted.id[0] != '\0';
}

/* --- how one comes to be and goes ------------------------------------------------------------- */

int store_add_layer(struct store_meta *meta, uint32_t base)
{
	struct store_layer *layer = &meta->layers[meta->layer_count];
	char id[IPC_ID_MAX];
	int error;

	if (meta->layer_count == LAYERS_MAX || store_depth(meta, base) == LAYERS_DEEP_MAX)
		return -E2BIG;
	*layer = (struct store_layer){ .parent = base };
	error = store_random(layer->id);
	if (error)
		return error;
	store_id_text(layer->id, id);
	if (mkdirat(store_places.layers, id, S_IRWXU) != 0)
		return -errno;
	meta->layer_count++;
	return 0;
}

void store_remove_layer(const uint8_t id[STORE_ID_BYTES])
{
	char text[IPC_ID_MAX];

	store_id_text(id, text);
	(void)unlinkat(store_places.layers, text, AT_REMOVEDIR); /* or it is found as left over */
}

/* More than msp-cable writes. */
#define CUTS_BYTES_MAX 16384

/* Give a fork what a person has taken away from its sandbox, before it is one itself. A file that
 * is longer than msp-cable writes is cut, which takes away all hosts. */
static int copy_cuts(int from, int to)
{
	static uint8_t bytes[CUTS_BYTES_MAX];
	int fd = openat(from, STORE_CUTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const ssize_t size = fd >= 0           ? pread(fd, bytes, sizeof(bytes), 0)
			     : errno == ENOENT ? 0
					       : -1;
	int error = size < 0 ? -errno : 0;

	fd_close(&fd);
	if (size <= 0)
		return error;
	fd = openat(to, STORE_CUTS, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	error = fd < 0 ? -errno : fd_write_all(fd, bytes, (size_t)size);
	if (!error && fsync(fd) != 0)
		error = -errno;
	fd_close(&fd);
	return error;
}

int store_plant(struct store_meta *meta, uint32_t base, int origin)
{
	char id[IPC_ID_MAX];
	int error = store_random(meta->id);
	int fd = -1;

	if (!error)
		error = store_add_layer(meta, base);
	if (error)
		return error;
	meta->upper = meta->layer_count - 1;
	meta->next_checkpoint = 1;
	meta->created_s = clock_real_us() / 1000000;
	store_id_text(meta->id, id);
	if (mkdirat(store_places.sandboxes, id, S_IRWXU) != 0)
		error = -errno;
	if (!error) {
		fd = own_directory(id);
		error = fd < 0 ? fd : origin >= 0 ? copy_cuts(origin, fd) : 0;
	}
	if (!error)
		error = store_write(fd, meta, false);
	if (error) {
		/* The disk may be full: remove the useless directory, do not move it to trash/. */
		(void)unlinkat(fd, STORE_CUTS, 0); /* each failure leaves a leftover */
		(void)unlinkat(fd, "meta", 0);
		(void)unlinkat(store_places.sandboxes, id, AT_REMOVEDIR);
		fd_close(&fd);
		store_remove_layer(meta->layers[meta->upper].id);
		return error;
	}
	store_survey_add(meta, 0); /* its own are none yet */
	return fd;
}

int store_create(struct store_meta *meta, struct store_census *census)
{
	int result = store_lock();

	if (result)
		return result;
	meta->layer_count = 0;
	meta->checkpoint_count = 0;
	result = store_survey(census, meta->owner, meta->name);
	if (!result)
		result = store_plant(meta, STORE_NO_LAYER, -1);
	store_unlock();
	return result;
}

static int throw_away(const char *id)
{
	store_survey_forget();
	return renameat(store_places.sandboxes, id, store_places.trash, id) == 0 ? 0 : -errno;
}

/* Under the lock: what is said of the layers comes after what is said of the sandboxes. */
static void tidy_layers(void)
{
	if (fsync(store_places.sandboxes) == 0 && fsync(store_places.trash) == 0)
		(void)store_collect(); /* on an error the next call finds the layers */
}

int store_destroy(const char *id)
{
	int error = store_lock();

	if (error)
		return error;
	error = throw_away(id);
	if (!error)
		tidy_layers();
	store_unlock();
	return error;
}

int store_discard(const char *id)
{
	int fd = own_directory(id);
	int error;

	if (fd < 0)
		return fd;
	error = store_destroy(id);
	fd_close(&fd);
	return error;
}

struct sweep {
	int (*destroyed)(void *context, const char id[IPC_ID_MAX]);
	void *context;
	uint64_t now_s;
	int count;
	bool is_locked; /* there was one to destroy, or a crash may have left layers over */
};

bool store_is_interrupted(int sandbox)
{
	static const char *const states[] = { "journal/staging", "journal/swapping",
					      "journal/committed" };
	struct stat status;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (fstatat(sandbox, states[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

/* A damaged sandbox stays, as somebody may still want to look; so do the files that an interrupted
 * apply displaced. */
static bool is_over(int fd, const char *id, uint64_t now_s, bool *ret_is_finished)
{
	const uint64_t used_s = store_used_s(fd);
	const int error = store_read(fd, id, false, &other);
	const uint64_t life_s = error ? UNFINISHED_S : other.ttl_s;

	*ret_is_finished = !error;
	if ((error && error != -ENOENT) || used_s == 0 || used_s + life_s >= now_s)
		return false;
	return error || (store_read(fd, id, true, &other) == 0 && !store_is_interrupted(fd));
}

static int sweep_one(void *context, const char id[IPC_ID_MAX])
{
	struct sweep *sweep = context;
	bool is_finished;
	int fd = store_open_sandbox(id);
	const bool is_expired = fd >= 0 && lock_dir(fd, LOCK_EX, 0) == 0 &&
				is_over(fd, id, sweep->now_s, &is_finished);
	int result = is_expired && !sweep->is_locked ? store_lock() : 0;

	sweep->is_locked |= is_expired && !result;
	if (is_expired && !result && throw_away(id) == 0) {
		sweep->count += is_finished;
		if (is_finished && sweep->destroyed)
			result = sweep->destroyed(sweep->context, id);
	}
	fd_close(&fd);
	return result;
}

int store_sweep(int (*destroyed)(void *context, const char id[IPC_ID_MAX]), void *context)
{
	static bool is_swept; /* since the start: a crash may have been before it */
	struct sweep sweep = { destroyed, context, clock_real_us() / 1000000, 0, !is_swept };
	int error = is_swept ? 0 : store_lock();

	if (error)
		return error;
	error = store_each(sweep_one, &sweep);
	if (sweep.is_locked) {
		tidy_layers();
		store_unlock();
	}
	is_swept = true;
	return error ? error : sweep.count;
}

/* --- marks ------------------------------------------------------------------------------------ */

int store_mark(int sandbox)
{
	int fd = openat(sandbox, STORE_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
	const int error = fd < 0 ? -errno : 0;

	fd_close(&fd);
	return error;
}

int store_unmark(int sandbox)
{
	return unlinkat(sandbox, STORE_MARK, 0) == 0 ? 0 : -errno;
}

int store_cuts(int sandbox)
{
	const int fd =
		openat(sandbox, STORE_CUTS, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		       S_IRUSR | S_IWUSR);

	return fd < 0 ? -errno : fd;
}

/* --- history ---------------------------------------------------------------------------------- */

/* Open the newer notes; *ret_end is where the next one begins: in place of a part of one. */
static int open_history(int sandbox, off_t *ret_end)
{
	const int fd = openat(sandbox, HISTORY_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			      S_IRUSR | S_IWUSR);
	struct stat status = { .st_size = 0 };

	if (fd >= 0)
		(void)fstat(fd, &status); /* cannot fail */
	*ret_end = status.st_size - status.st_size % (off_t)sizeof(struct history_note);
	return fd;
}

int store_note(int sandbox, const struct history_note *note)
{
	struct history_note dated = *note;
	off_t end;
	int fd = open_history(sandbox, &end);
	ssize_t written;

	if (fd >= 0 && end >= HISTORY_BYTES) {
		fd_close(&fd);
		(void)renameat(sandbox, HISTORY_FILE, sandbox, HISTORY_FILE_OLD);
		fd = open_history(sandbox, &end);
	}
	dated.time_us = clock_real_us();
	written = fd < 0 ? -1 : pwrite(fd, &dated, sizeof(dated), end);
	fd_close(&fd); /* keeps errno */
	if (written < 0)
		return -errno;
	return written == (ssize_t)sizeof(dated) ? 0 : -ENOSPC;
}
