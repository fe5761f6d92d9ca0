/* SPDX-License-Identifier: Apache-2.0
 *
 * The project of a sandbox, named where it is not the one that the person works in.
 */
#ifndef CLI_COMMANDS_ELSEWHERE_H
#define CLI_COMMANDS_ELSEWHERE_H

#include <stdbool.h>

#include "common/limits.h"

struct asking;

/*
 * Find the workspace of the sandbox that a word of the command line means, and say on stderr that
 * it belongs to another project than the current directory; not `is_for_program`. The workspace is
 * empty if the sandbox shows none, or there is no such sandbox: the next question about that is
 * refused. 0, or the exit code after a line.
 */
int elsewhere_find(struct asking *asking, const char *sandbox, bool is_for_program,
		   char ret_workspace[IPC_PATH_MAX]);

#endif
