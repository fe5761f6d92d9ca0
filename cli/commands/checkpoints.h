/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMANDS_CHECKPOINTS_H
#define CLI_COMMANDS_CHECKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

struct asking;

/* Is this word the number of a checkpoint? */
bool checkpoints_is_number(const char *word, uint32_t *ret);

/* Find a checkpoint of a sandbox by its number or name. 0 with the number in `ret`, or the exit
 * code, and a line was said. */
int checkpoints_find(struct asking *asking, const char *sandbox, const char *checkpoint,
		     uint32_t *ret);

#endif
