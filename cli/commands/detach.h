/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a background command by `msp exec -d` and `msp run -w -d`.
 */
#ifndef CLI_COMMANDS_DETACH_H
#define CLI_COMMANDS_DETACH_H

#include "background/keep.h"

struct detach_options {
	bool is_detached;
	bool has_terminal;
};

#define DETACH_ROWS(type, member)                                                                  \
	OPTION_LETTER(type, 'd', "detach", NULL, option_set_flag, member.is_detached,              \
		      "run CMD in the background, and print its id for 'msp ps', 'attach', "       \
		      "'wait' and 'kill'"),                                                        \
		OPTION_LETTER(type, 't', "terminal", NULL, option_set_flag, member.has_terminal,   \
			      "with --detach: give CMD a terminal, to which 'msp attach' "         \
			      "connects yours, as often as you like")

/* The conflict of options in a phrase, or NULL. */
const char *detach_find_conflict(const struct detach_options *options);

/* Start the command in the background, in a way of background_start(), and print its id. The exit
 * code. */
int detach_command(const struct detach_options *options, const struct execute *what,
		   const struct background_way *way);

#endif
