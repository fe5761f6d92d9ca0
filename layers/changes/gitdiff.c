/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/changes/gitdiff.h"

#include <errno.h>
#include <git2.h>

#include "layers/reader/library.h"

/* Lines of context around a change, as git has them by default. */
#define CONTEXT_LINES 3

static struct {
	int (*patch_from_buffers)(git_patch **out, const void *old_buffer, size_t old_size,
				  const char *old_path, const void *new_buffer, size_t new_size,
				  const char *new_path, const git_diff_options *options);
	int (*patch_print)(git_patch *patch, git_diff_line_cb print, void *payload);
	void (*patch_free)(git_patch *patch);
	int (*diff_options_init)(git_diff_options *options, unsigned int version);
} git;

int gitdiff_load(void)
{
	const int error = library_load();

	if (error || (library_find("git_patch_from_buffers", &git.patch_from_buffers) &&
		      library_find("git_patch_print", &git.patch_print) &&
		      library_find("git_patch_free", &git.patch_free) &&
		      library_find("git_diff_options_init", &git.diff_options_init)))
		return error;
	return -ELIBACC;
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
