/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OPENER_GIT_QUESTION_H
#define LAUNCHER_OPENER_GIT_QUESTION_H

/* Have msp-git-config, from its `image`, find the files of `workspace`, a canonical path, that the
 * host's git configuration names. Return its answer (launcher/git/named.h), a sealed file, or
 * -errno. */
int git_question_ask(int image, const char *workspace);

#endif
