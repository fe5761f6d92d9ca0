/* SPDX-License-Identifier: Apache-2.0
 *
 * git's configuration files (git-config(1), "CONFIGURATION FILE"), and the paths that their values
 * may name. Nothing in here opens a file.
 */
#ifndef LAUNCHER_GIT_CONFIG_H
#define LAUNCHER_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* Kinds of keys, by what git does with a value. */
enum git_key {
	GIT_KEY_DATA,       /* names a place where git works, or nothing */
	GIT_KEY_OTHER,      /* not known to be executed */
	GIT_KEY_COMMAND,    /* executed */
	GIT_KEY_ALIAS,      /* executed when a person says its name */
	GIT_KEY_HOOKS,      /* a directory of hooks */
	GIT_KEY_ATTRIBUTES, /* a file that says which filters run */
	GIT_KEY_INCLUDE,    /* another configuration file */
	GIT_KEY_WORKTREE,   /* the folder of a submodule's files */
	GIT_KEY_SHOWN,      /* a workspace that the repository names (data.h) */
	GIT_KEY_NAME,       /* the user's, for commits */
	GIT_KEY_EMAIL       /* likewise */
};

/* `value` is without quotes and escapes, and so is `subsection`: the condition of an include, or
 * empty. All texts are valid during the call alone. */
typedef void (*git_config_found)(void *context, enum git_key kind, const char *subsection,
				 const char *value);

/* Read a file's text. A line that git would refuse is left out, and the next one read. False: for
 * want of memory nothing was. */
bool git_config_read(const char *text, size_t size, git_config_found found, void *context);

/* Called with a path that a value may name, as it is written there. */
typedef void (*git_config_path)(void *context, const char *path);

/* Split a value as a shell would, and more: at quotes, "=", ":" and what ends a command. The first
 * word is looked up on the PATH, if it has no "/", and left out. False: want of memory. */
bool git_config_paths(enum git_key kind, const char *value, git_config_path found, void *context);

#endif
