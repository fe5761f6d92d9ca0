/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/changes/digest.h"

#include <string.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "layers/base/files.h"
#include "layers/base/held.h"

_Static_assert(IPC_DIGEST_BYTES == SHA256_BYTES, "the digest is SHA-256");

uint32_t digest_flags(const struct job *job, const struct difference *difference)
{
	return held_flags(job, difference) |
	       base_flags(difference, (enum base_state)difference->base);
}

/* With its size before it, so that no two lists are the same bytes. */
static void add_bytes(struct sha256 *digest, const void *bytes, size_t size)
{
	const uint64_t number = size;

	sha256_add(digest, &number, sizeof(number));
	sha256_add(digest, bytes, size);
}

/* Hash a regular file or a link of one side; -errno stands for one that cannot be read. */
static int hash_of(const struct job_directories *directories, const struct difference *difference,
		   bool is_old, uint8_t ret[SHA256_BYTES])
{
	const mode_t mode = is_old ? difference->old.st_mode : difference->now.st_mode;
	char link[IPC_PATH_MAX];
	int error;
	int file;

	if (S_ISLNK(mode)) {
		error = tree_link(directories, difference, is_old, link);
		if (error > 0)
			files_hash((const uint8_t *)link, (size_t)error, ret);
		return error < 0 ? error : 0;
	}
	file = tree_open(directories, difference, is_old);
	error = file < 0 ? file : files_copy(file, -1, ret);
	fd_close(&file);
	return error;
}

static void add_content(struct sha256 *digest, const struct job_directories *directories,
			const struct difference *difference, bool is_old, const uint8_t *shown)
{
	const mode_t mode = is_old ? difference->old.st_mode : difference->now.st_mode;
	uint8_t hash[SHA256_BYTES] = { 0 };
	int error;

	if (!S_ISREG(mode) && !S_ISLNK(mode))
		return;
	error = shown ? 0 : hash_of(directories, difference, is_old, hash);
	add_bytes(digest, &error, sizeof(error));
	add_bytes(digest, shown ? shown : hash, sizeof(hash));
}

static void add_side(struct sha256 *digest, const struct stat *status)
{
	const uint64_t size = S_ISREG(status->st_mode) ? (uint64_t)status->st_size : 0;
	const uint64_t side[] = { status->st_mode, size };

	add_bytes(digest, side, sizeof(side));
}

void digest_add(struct sha256 *digest, const struct job_directories *directories,
		const struct difference *difference, uint32_t flags, const uint8_t *shown)
{
	const uint32_t head[] = { difference->kind, flags };

	add_bytes(digest, head, sizeof(head));
	add_bytes(digest, difference->path, strlen(difference->path));
	add_bytes(digest, difference->old_path, strlen(difference->old_path));
	add_side(digest, &difference->old);
	add_side(digest, &difference->now);
	add_content(digest, directories, difference, false, shown);
	/* Without a conflict the host's side is the one that its base says. */
	if (flags & CHANGE_IS_CONFLICT)
		add_content(digest, directories, difference, true, NULL);
}
