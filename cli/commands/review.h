/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `msp diff` and `msp apply` that a run with --review does in its own conversation.
 */
#ifndef CLI_COMMANDS_REVIEW_H
#define CLI_COMMANDS_REVIEW_H

struct asking;

/* Print the changes of a sandbox to stdout as `msp diff --color=always` does. The exit code. */
int review_diff(struct asking *asking, const char *sandbox);

/* Apply them as `msp apply` does, with its question about held changes. The exit code. */
int review_apply(struct asking *asking, const char *sandbox);

#endif
