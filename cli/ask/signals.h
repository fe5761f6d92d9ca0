/* SPDX-License-Identifier: Apache-2.0
 *
 * The signals that msp handles itself while it follows a command.
 */
#ifndef CLI_ASK_SIGNALS_H
#define CLI_ASK_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/*
 * Block the signals that msp handles itself and open the descriptor they come through, which is the
 * caller's; or -errno. *ret_before is the mask as it was, for children. Call it before anything
 * that must be undone exists.
 */
int signals_block(bool use_tty, sigset_t *ret_before);

#endif
