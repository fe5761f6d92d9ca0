/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <git2.h>
#include <stdlib.h>
#include <string.h>

#include "layers/reader/library.h"

/* The names of the sides behind the markers. */
#define LABEL_HOST "this machine"
#define LABEL_SANDBOX "sandbox"

static struct {
	int (*merge_file)(git_merge_file_result *out, const git_merge_file_input *ancestor,
			  const git_merge_file_input *ours, const git_merge_file_input *theirs,
			  const git_merge_file_options *options);
	void (*result_free)(git_merge_file_result *result);
} git;

static git_merge_file_input input_of(const struct text *text)
{
	return (git_merge_file_input){ .version = GIT_MERGE_FILE_INPUT_VERSION,
				       .ptr = (const char *)text->bytes,
				       .size = text->size };
}

int text_merge(const struct text *base, const struct text *host, const struct text *sandbox,
	       struct text_merged *ret)
{
	const git_merge_file_input ancestor = input_of(base), ours = input_of(host),
				   theirs = input_of(sandbox);
	const git_merge_file_options options = { .version = GIT_MERGE_FILE_OPTIONS_VERSION,
						 .our_label = LABEL_HOST,
						 .their_label = LABEL_SANDBOX,
						 .flags = GIT_MERGE_FILE_STYLE_MERGE |
							  GIT_MERGE_FILE_SIMPLIFY_ALNUM };
	git_merge_file_result result = { 0 };

	if (!git.result_free && !(library_find("git_merge_file", &git.merge_file) &&
				  library_find("git_merge_file_result_free", &git.result_free)))
		return -ELIBBAD;
	if (git.merge_file(&result, &ancestor, &ours, &theirs, &options) != 0)
		return -ENOMEM;
	if (!result.automergeable && result.len == 0) /* a conflict of texts has markers */
		return -EBADMSG;
	ret->bytes = malloc(result.len + 1);
	ret->size = result.len;
	ret->has_markers = !result.automergeable;
	if (ret->bytes && result.len > 0)
		memcpy(ret->bytes, result.ptr, result.len);
	git.result_free(&result);
	return ret->bytes ? 0 : -ENOMEM;
}
