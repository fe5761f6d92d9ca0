/* SPDX-License-Identifier: Apache-2.0
 *
 * A slot is one file: the key's digest, the digest of the plan, the plan. Both are compared, so
 * that a slot that another writer replaces, or a crash cut off, is no plan.
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

/* A longer file is compiled each time; msp-policy refuses one of this size. */
#define CONFIG_BYTES_MAX 524288

struct slot_head {
	uint8_t key[SHA256_BYTES];
	uint8_t plan[SHA256_BYTES];
};

/* Add what tells two versions of a file apart without reading it. */
static bool add_identity(struct sha256 *state, int fd)
{
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return false;

	const uint64_t words[8] = { status.st_dev,
				    status.st_ino,
				    (uint64_t)status.st_size,
				    (uint64_t)status.st_mtim.tv_sec,
				    (uint64_t)status.st_mtim.tv_nsec,
				    (uint64_t)status.st_ctim.tv_sec,
				    (uint64_t)status.st_ctim.tv_nsec };

	sha256_add(state, words, sizeof(words));
	return true;
}

/* Add msp-policy, its libraries, and the user, for whom it checks who can write the file and whose
 * home ~ is. */
static bool add_compiler(struct sha256 *state)
{
	const uint32_t user = geteuid();
	const char *home = compile_home();
	char text[LAUNCH_TEXT_MAX];
	int program FD_OWNED = launch_open_program("msp-policy", text);
	int libraries FD_OWNED = open("/etc/ld.so.cache", O_PATH | O_CLOEXEC);
	const bool is_known = add_identity(state, program);

	/* Without that file the libraries are those of the program's place. */
	if (libraries >= 0)
		(void)add_identity(state, libraries);
	sha256_add(state, &user, sizeof(user));
	if (home)
		sha256_add(state, home, strlen(home) + 1);
	sha256_add(state, ipc_schema_hash, sizeof(ipc_schema_hash));
	return is_known;
}

/* Add content, owner and permissions of the configuration. */
static bool add_config(struct sha256 *state, const char *path)
{
	static char piece[PIECE];
	int fd FD_OWNED = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	uint32_t words[2];
	ssize_t size = -1;
	size_t all = 0;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		words[0] = status.st_uid;
		words[1] = status.st_mode;
		sha256_add(state, words, sizeof(words));
		sha256_add(state, path, strlen(path) + 1);
		while (all <= CONFIG_BYTES_MAX && (size = read(fd, piece, sizeof(piece))) > 0) {
			sha256_add(state, piece, (size_t)size);
			all += (size_t)size;
		}
	}
	return size == 0;
}

/* Add the directories that an import or a removal of an image changes: by a name, by the manifest
 * of an image that only a digest names, or by a layer that was lost. */
static void add_images(struct sha256 *state, const char *images)
{
	static const char *const parts[] = { IMAGE_NAMES, IMAGE_MANIFESTS, IMAGE_LAYERS };
	char path[IPC_PATH_MAX + sizeof(IMAGE_MANIFESTS "/")];

	if (!images)
		return;
	sha256_add(state, images, strlen(images) + 1);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int directory FD_OWNED = -1;

		format_text(path, sizeof(path), "%s/%s", images, parts[i]);
		directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!add_identity(state, directory)) /* no image was imported */
			sha256_add(state, "", 1);
	}
}

static struct plan_cache_key find_key(const char *path, const char *images)
{
	struct plan_cache_key key = { .is_known = false };
	uint8_t name[SHA256_BYTES];
	struct sha256 state;

	sha256_begin(&state);
	key.is_known = add_compiler(&state) && add_config(&state, path);
	add_images(&state, images);
	sha256_end(&state, key.digest);
	sha256(path, strlen(path), name);
	key.slot = name[0] % SLOTS;
	return key;
}

/* Open the directory, ours alone; -1: there is none. */
static int open_cache(bool is_made)
{
	char text[STATE_PLACE_TEXT_MAX];
	char path[IPC_PATH_MAX];
	const char *home = geteuid() != 0 ? account_home() : NULL;

	if (!home || strlen(home) >= IPC_PATH_MAX - sizeof(IN_HOME))
		return -1;
	format_text(path, sizeof(path), "%s" IN_HOME, home);
	return state_place_open(path, is_made, text);
}

static void name_slot(const struct plan_cache_key *key, const char *suffix, char ret[16])
{
	format_text(ret, 16, "plan-%x%s", key->slot, suffix);
}

/* Copy the rest of `file` into a memfd; 0 if it has this digest. */
static int copy_plan(int file, int plan, const uint8_t digest[SHA256_BYTES])
{
	static char piece[PIECE];
	uint8_t found[SHA256_BYTES];
	struct sha256 state;
	size_t all = 0;
	ssize_t size;
	int error = 0;

	sha256_begin(&state);
	while (!error && (size = read(file, piece, sizeof(piece))) != 0) {
		all += size > 0 ? (size_t)size : 0;
		if (size < 0 || all > PLAN_SIZE_MAX)
			return -EBADMSG;
		sha256_add(&state, piece, (size_t)size);
		error = fd_write_all(plan, piece, (size_t)size);
	}
	sha256_end(&state, found);
	return error ? error : memcmp(found, digest, sizeof(found)) == 0 ? 0 : -EBADMSG;
}

/* Read the slot's plan into a sealed memfd, or return -1. */
static int read_slot(int file, const struct plan_cache_key *key)
{
	struct slot_head head;
	int plan;

	if (read(file, &head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    memcmp(head.key, key->digest, sizeof(head.key)) != 0)
		return -1;
	plan = memfd_create("msp-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (plan >= 0 && (copy_plan(file, plan, head.plan) != 0 || fd_seal(plan) != 0))
		fd_close(&plan);
	return plan;
}

int plan_cache_find(const char *path, const char *images, struct plan_cache_key *ret)
{
	int directory FD_OWNED = open_cache(false);
	int file FD_OWNED = -1;
	char name[16];

	*ret = find_key(path, images);
	name_slot(ret, "", name);
	if (directory >= 0 && ret->is_known)
		file = openat(directory, name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return file < 0 ? -1 : read_slot(file, ret);
}

/* Write a slot's empty file; 0 or -errno. */
static int write_slot(int file, const struct plan_cache_key *key, const struct plan *plan)
{
	struct slot_head head;
	int error;

	memcpy(head.key, key->digest, sizeof(head.key));
	sha256(plan->bytes, plan->size, head.plan);
	error = fd_write_all(file, &head, sizeof(head));
	return error ? error : fd_write_all(file, plan->bytes, plan->size);
}

void plan_cache_keep(const char *path, const char *images, const struct plan_cache_key *key,
		     const struct plan *plan)
{
	const struct plan_cache_key now = find_key(path, images);
	int directory FD_OWNED = -1, file FD_OWNED = -1;
	char name[16], next[16];

	if (!key->is_known || !now.is_known ||
	    memcmp(key->digest, now.digest, sizeof(now.digest)) != 0)
		return;
	directory = open_cache(true);
	if (directory < 0)
		return;
	name_slot(key, "", name);
	name_slot(key, ".new", next);
	file = openat(directory, next, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		      S_IRUSR | S_IWUSR);
	/* Another start that writes this slot has the lock: its plan is as good. */
	if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && ftruncate(file, 0) == 0 &&
	    write_slot(file, key, plan) == 0)
		(void)renameat(directory, next, directory, name);
}
