/* SPDX-License-Identifier: Apache-2.0 */
#include "gitdiff.h"

#include <dlfcn.h>
#include <errno.h>
#include <git2.h>
#include <string.h>

/* Lines of context around a change, as git has them by default. */
#define CONTEXT_LINES 3

static struct {
	int (*init)(void);
	int (*odb_hash)(git_oid *out, const void *data, size_t size, git_object_t type);
	int (*patch_from_buffers)(git_patch **out, const void *old_buffer, size_t old_size,
				  const char *old_path, const void *new_buffer, size_t new_size,
				  const char *new_path, const git_diff_options *options);
	int (*patch_print)(git_patch *patch, git_diff_line_cb print, void *payload);
	void (*patch_free)(git_patch *patch);
	int (*diff_options_init)(git_diff_options *options, unsigned int version);
} git;

/* A function's address comes as that of data: POSIX says that this is how it is used. */
static bool find_symbol(void *library, const char *name, void *ret)
{
	void *address = dlsym(library, name);

	memcpy(ret, &address, sizeof(address));
	return address != NULL;
}

int gitdiff_load(void)
{
	void *library = dlopen(GITDIFF_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library || !find_symbol(library, "git_libgit2_init", &git.init) ||
	    !find_symbol(library, "git_odb_hash", &git.odb_hash) ||
	    !find_symbol(library, "git_patch_from_buffers", &git.patch_from_buffers) ||
	    !find_symbol(library, "git_patch_print", &git.patch_print) ||
	    !find_symbol(library, "git_patch_free", &git.patch_free) ||
	    !find_symbol(library, "git_diff_options_init", &git.diff_options_init))
		return -ELIBACC;
	return git.init() > 0 ? 0 : -ELIBBAD;
}

int gitdiff_id(const uint8_t *bytes, size_t size, uint8_t ret[GITDIFF_ID_BYTES])
{
	git_oid id;

	if (git.odb_hash(&id, bytes, size, GIT_OBJECT_BLOB) != 0)
		return -ENOMEM;
	memcpy(ret, id.id, GITDIFF_ID_BYTES);
	return 0;
}

struct hunks {
	int (*put)(void *context, const char *bytes, size_t size);
	void *context;
	int status;
};

/* Everything but the head, which names files that libgit2 does not know. */
static int print_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
		      const git_diff_line *line, void *context)
{
	struct hunks *hunks = context;
	const bool has_origin = line->origin == GIT_DIFF_LINE_CONTEXT ||
				line->origin == GIT_DIFF_LINE_ADDITION ||
				line->origin == GIT_DIFF_LINE_DELETION;

	(void)delta;
	(void)hunk;
	if (line->origin == GIT_DIFF_LINE_FILE_HDR || line->origin == GIT_DIFF_LINE_BINARY)
		return 0;
	if (has_origin)
		hunks->status = hunks->put(hunks->context, &line->origin, 1);
	if (hunks->status == 0)
		hunks->status = hunks->put(hunks->context, line->content, line->content_len);
	return hunks->status;
}

int gitdiff_hunks(const uint8_t *old, size_t old_size, const uint8_t *now, size_t now_size,
		  int (*put)(void *context, const char *bytes, size_t size), void *context)
{
	struct hunks hunks = { .put = put, .context = context };
	git_diff_options options;
	git_patch *patch;
	int status;

	if (git.diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) != 0)
		return -ELIBBAD;
	options.flags = GIT_DIFF_INDENT_HEURISTIC | GIT_DIFF_FORCE_TEXT;
	options.context_lines = CONTEXT_LINES;
	if (git.patch_from_buffers(&patch, old, old_size, "a", now, now_size, "a", &options) != 0)
		return -ENOMEM;
	status = git.patch_print(patch, print_line, &hunks);
	git.patch_free(patch);
	if (hunks.status != 0)
		return hunks.status;
	return status == 0 ? 0 : -ENOMEM;
}
