/* SPDX-License-Identifier: Apache-2.0 */
#include "beside.h"

#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/sha256.h"
#include "layers/base/beneath.h"

/* git-lfs reads a pointer only from a smaller blob. */
#define POINTER_BYTES 1024
#define DIGITS (2 * SHA256_BYTES)

/* Find the digits of a pointer's content; NULL: the blob is no pointer. The URL of the version has
 * had several hosts. */
static const char *find_digits(const struct object *blob)
{
	static const char version[] = "version http", key[] = "\noid sha256:";
	const char *text = (const char *)blob->bytes, *at;

	if (blob->size >= POINTER_BYTES || strncmp(text, version, sizeof(version) - 1) != 0)
		return NULL;
	at = strstr(text, key);
	if (!at || strspn(at + sizeof(key) - 1, "0123456789abcdef") != DIGITS)
		return NULL;
	return at + sizeof(key) - 1;
}

bool beside_lacks_content(int git, const struct object *blob)
{
	const char *digits = find_digits(blob);
	char path[DIGITS + sizeof("lfs/objects/aa/bb/")];
	struct stat status;
	int file;

	if (!digits)
		return false;
	(void)snprintf(path, sizeof(path), "lfs/objects/%.2s/%.2s/%.*s", digits, digits + 2, DIGITS,
		       digits);
	file = git < 0 ? git : beneath_file(git, path, &status);
	if (file < 0)
		return true;
	fd_close(&file);
	return false;
}

bool beside_lacks_commit(int git, const char *path, const uint8_t id[OBJECT_ID_BYTES])
{
	static struct objects objects;
	char place[IPC_PATH_MAX + sizeof("modules//objects")];
	int directory;
	bool is_lacking;

	(void)snprintf(place, sizeof(place), "modules/%s/objects", path);
	directory = git < 0 ? git : beneath_directory(git, place);
	if (directory < 0)
		return false;
	memset(&objects, 0, sizeof(objects));
	is_lacking = objects_add(&objects, directory) == 0 && objects_is_hosts(&objects, id) == 0;
	objects_close(&objects);
	return is_lacking;
}
