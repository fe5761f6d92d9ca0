/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <git2.h>
#include <stdbool.h>
#include <string.h>

static struct {
	void *git; /* NULL: not loaded */
	struct library_zlib zlib;
	int (*init)(void);
	int (*odb_hash)(git_oid *out, const void *data, size_t size, git_object_t type);
} library;

/* POSIX lets a function's address be copied out of a data pointer. */
static bool find_function(void *handle, const char *name, void *ret)
{
	void *address = dlsym(handle, name);

	memcpy(ret, &address, sizeof(address));
	return address != NULL;
}

bool library_find(const char *name, void *ret)
{
	return find_function(library.git, name, ret);
}

static bool find_all(void *zlib, void *git)
{
	return find_function(zlib, "inflateInit_", &library.zlib.inflateInit_) &&
	       find_function(zlib, "inflate", &library.zlib.inflate) &&
	       find_function(zlib, "inflateEnd", &library.zlib.inflateEnd) &&
	       find_function(zlib, "compress2", &library.zlib.compress2) &&
	       find_function(zlib, "compressBound", &library.zlib.compressBound) &&
	       find_function(git, "git_libgit2_init", &library.init) &&
	       find_function(git, "git_odb_hash", &library.odb_hash);
}

int library_load(void)
{
	void *zlib, *git;

	if (library.git)
		return 0;
	zlib = dlopen(COMMITS_ZLIB, RTLD_NOW | RTLD_LOCAL);
	git = dlopen(COMMITS_LIBGIT2, RTLD_NOW | RTLD_LOCAL);
	if (!zlib || !git || !find_all(zlib, git) || library.init() <= 0)
		return -ELIBACC;
	library.git = git;
	return 0;
}

const struct library_zlib *library_zlib(void)
{
	return &library.zlib;
}

int library_hash(uint32_t type, const uint8_t *bytes, size_t size, uint8_t ret[OBJECT_ID_BYTES])
{
	git_oid id;

	if (library.odb_hash(&id, bytes, size, (git_object_t)type) != 0)
		return -EBADMSG;
	memcpy(ret, id.id, OBJECT_ID_BYTES);
	return 0;
}
