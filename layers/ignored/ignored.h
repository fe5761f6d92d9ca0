/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that the project's rules ignore: they are made anew from others, by tools whose code the
 * host executes anyway. The rules are the host's, never those that a sandbox has changed.
 */
#ifndef LAYERS_IGNORED_IGNORED_H
#define LAYERS_IGNORED_IGNORED_H

#include "layers/base/job.h"

/* Files of rules. An apply brings .gitignore unasked; the others come by a person's word alone,
 * since .mspignore is always held and .git/info/exclude never crosses. */
enum ignored_rules {
	IGNORED_BY_ALL,  /* .git/info/exclude, .gitignore, .mspignore: for what is shown */
	IGNORED_BY_WORD, /* without .gitignore: for what is not asked about */
	IGNORED_RULES,
};

/* Do these rules of the host ignore this path, or a directory above it? False where the rules
 * cannot be read. */
bool ignored_is(const struct job *job, enum ignored_rules by, const char *path, bool is_directory);

/* Return how many bytes of the path are a tree of dependencies or of what is built, such as
 * node_modules, that the rules of a person's word ignore, in which it lies, and from which on it
 * has no name that is obeyed on entering a directory; 0: it is not so. */
size_t ignored_tree(const struct job *job, const char *path);

#endif
