/* SPDX-License-Identifier: Apache-2.0
 *
 * A slot is one file: the key's digest, and the plan. It is on disk before it has its name, and
 * what a crash cut off does not pass the plan's check.
 */
#include "launcher/start/plan_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/limits.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "image/store.h"
#include "launcher/host/account.h"
#include "launcher/host/state_place.h"
#include "launcher/start/compile.h"
#include "launcher/start/launch.h"

#define IN_HOME "/.cache/msp"
#define SLOTS 16
#define PIECE 65536

/* The files of the user's package managers. */
static const char registry_files[] =
#define REGISTRY_FILE(tool, path, reader) path "\0"
#include "common/plan/registries.def"
#undef REGISTRY_FILE
	;

/* A longer file is compiled each time; msp-policy refuses one of this size. */
#define CONFIG_BYTES_MAX 524288

/* Add what tells two versions of a file apart without reading it. */
static void add_identity(struct sha256 *state, const struct stat *status)
{
	const uint64_t words[] = { status->st_dev, status->st_ino, (uint64_t)status->st_size };

	sha256_add(state, words, sizeof(words));
	sha256_add(state, &status->st_mtim, sizeof(status->st_mtim));
	sha256_add(state, &status->st_ctim, sizeof(status->st_ctim));
}

/* Likewise, of what may be missing. */
static void add_path(struct sha256 *state, const char *path)
{
	struct stat status;

	if (stat(path, &status) == 0)
		add_identity(state, &status);
	else
		sha256_add(state, "", 1);
}

/* Add entries of a directory, whose names have a NUL behind each. NULL: there is none. */
static void add_below(struct sha256 *state, const char *directory, const char *names)
{
	char path[2 * IPC_PATH_MAX];

	for (; directory && *names; names += strlen(names) + 1) {
		format_text(path, sizeof(path), "%s/%s", directory, names);
		sha256_add(state, path, strlen(path) + 1);
		add_path(state, path);
	}
}

/* Add msp-policy, its libraries, the user, for whom it checks who can write the file and whose home
 * ~ is, and the memory that it bounds limits by. Return the program's number; 0: it is unknown. */
static ino_t add_compiler(struct sha256 *state)
{
	const long words[] = { (long)geteuid(), sysconf(_SC_PHYS_PAGES) };
	char text[LAUNCH_TEXT_MAX];
	int program FD_OWNED = launch_open_program("msp-policy", text);
	struct stat status;
	const bool is_known = fstat(program, &status) == 0;

	if (is_known)
		add_identity(state, &status);
	/* Without that file the libraries are those of the program's place. */
	add_path(state, "/etc/ld.so.cache");
	sha256_add(state, words, sizeof(words));
	add_below(state, compile_home(), registry_files);
	sha256_add(state, ipc_schema_hash, sizeof(ipc_schema_hash));
	return is_known ? status.st_ino : 0;
}

/* Add content, owner and permissions of the configuration. */
static bool add_config(struct sha256 *state, const char *path)
{
	static char piece[PIECE];
	int fd FD_OWNED = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	ssize_t size = -1;
	size_t all = 0;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		sha256_add(state, &status.st_uid, sizeof(status.st_uid));
		sha256_add(state, &status.st_mode, sizeof(status.st_mode));
		sha256_add(state, path, strlen(path) + 1);
		while (all <= CONFIG_BYTES_MAX && (size = read(fd, piece, sizeof(piece))) > 0) {
			sha256_add(state, piece, (size_t)size);
			all += (size_t)size;
		}
	}
	return size == 0;
}

/* Add the directory's path and what depends on more: msp-policy wrote the paths of that to a file,
 * a NUL after each. */
static void add_watched(struct sha256 *state, const char *directory, const char *file_name)
{
	static char paths[PIECE];
	char path[IPC_PATH_MAX + sizeof("/" PLAN_PACKAGES_WATCHED)];

	if (!directory)
		return;
	format_text(path, sizeof(path), "%s%s", directory, file_name);

	int file FD_OWNED = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const ssize_t size = read(file, paths, sizeof(paths) - 1);

	sha256_add(state, directory, strlen(directory) + 1);
	paths[size > 0 ? size : 0] = '\0';
	for (const char *next = paths; *next; next += strlen(next) + 1)
		add_path(state, next);
}

static struct plan_cache_key find_key(const struct compile_input *input)
{
	struct plan_cache_key key = { .is_known = false };
	struct sha256 state;

	sha256_begin(&state);

	const ino_t program = add_compiler(&state);

	sha256(input->path, strlen(input->path), key.digest);
	key.slot = (uint8_t)((key.digest[0] + program) % SLOTS + (input->kept ? SLOTS : 0));
	key.is_known = program && (!input->path[0] || add_config(&state, input->path));
	/* An import or a removal of an image changes one: by a name, by the manifest of an image
	 * that only a digest names, or by a layer that was lost. */
	add_below(&state, input->images, IMAGE_NAMES "\0" IMAGE_MANIFESTS "\0" IMAGE_LAYERS "\0");
	add_watched(&state, input->packages, "/" PLAN_PACKAGES_WATCHED);
	add_watched(&state, input->kept, ".watched");
	/* The directory's time changes with each set that is added or removed. */
	add_below(&state, input->kept, ".\0");
	if (input->machine)
		sha256_add(&state, input->machine, strlen(input->machine));
	sha256_end(&state, key.digest);
	return key;
}

/* Open the directory, ours alone; -1: there is none. */
static int open_cache(bool is_made)
{
	char text[STATE_PLACE_TEXT_MAX];
	char path[IPC_PATH_MAX];
	const char *home = geteuid() != 0 ? account_home() : "/run";

	if (home && strlen(home) >= IPC_PATH_MAX - sizeof(IN_HOME))
		return -1;
	if (home)
		format_text(path, sizeof(path), "%s" IN_HOME, home);
	else
		state_place_memory(path);
	return state_place_open(path, is_made, text);
}

static void name_slot(const struct plan_cache_key *key, const char *suffix, char ret[16])
{
	format_text(ret, 16, "plan-%x%s", key->slot, suffix);
}

/* Read the slot's plan into a sealed memfd, or return -1. */
static int read_slot(int file, const struct plan_cache_key *key)
{
	static char bytes[SHA256_BYTES + PLAN_SIZE_MAX];
	const ssize_t size = read(file, bytes, sizeof(bytes));

	return size > SHA256_BYTES && memcmp(bytes, key->digest, SHA256_BYTES) == 0
		       ? fd_sealed_from_bytes("msp-policy", bytes + SHA256_BYTES,
					      (size_t)size - SHA256_BYTES)
		       : -1;
}

int plan_cache_find(const struct compile_input *input, struct plan_cache_key *ret)
{
	int directory FD_OWNED = open_cache(false);
	char name[16];

	*ret = find_key(input);
	name_slot(ret, "", name);

	int file FD_OWNED =
		openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return file < 0 || !ret->is_known ? -1 : read_slot(file, ret);
}

bool plan_cache_keep(const struct compile_input *input, const struct plan_cache_key *key,
		     const struct plan *plan)
{
	const struct plan_cache_key now = find_key(input);
	int directory FD_OWNED = open_cache(true), file FD_OWNED = -1;
	char name[16], next[16];

	if (!key->is_known || !now.is_known || directory < 0)
		return true;
	if (memcmp(key->digest, now.digest, sizeof(now.digest)) != 0)
		return false;
	name_slot(key, "", name);
	name_slot(key, ".new", next);
	file = openat(directory, next, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		      S_IRUSR | S_IWUSR);
	/* Another start that writes this slot has the lock: its plan is as good. */
	if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && ftruncate(file, 0) == 0 &&
	    fd_write_all(file, key->digest, SHA256_BYTES) == 0 &&
	    fd_write_all(file, plan->bytes, plan->size) == 0 && fsync(file) == 0)
		(void)renameat(directory, next, directory, name);
	return true;
}
