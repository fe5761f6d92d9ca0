/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a workspace that the host's git configuration names: hooks, filters, monitors, included
 * files. Whoever changes one changes what git executes, so they are held back from an apply.
 */
#ifndef LAUNCHER_GIT_NAMED_H
#define LAUNCHER_GIT_NAMED_H

/*
 * Read the configuration of the repository that `workspace` (a canonical path) lies in or holds, of
 * its worktrees and submodules, of the user and of the system, with what these include. Write
 * absolute paths that may lead into the workspace to `fd`, a NUL after each, as the configuration
 * has them: links in them are not followed, files need not exist. The workspace itself stands for
 * all of it: where there is too much to read, and where hooks lie in its root. Before them is the
 * record of data.h, and behind them are those of user.h. 0 or -errno.
 */
int git_named_write(const char *workspace, int fd);

#endif
