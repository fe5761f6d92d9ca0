/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of closed sets, in texts and in JSON alike.
 */
#ifndef FRONTEND_WORDS_WORDS_H
#define FRONTEND_WORDS_WORDS_H

#include <stdint.h>

#include "common/ipc/workspace_mode.h"

/* Return the name of an enum limits_mode: "cgroup" or "fallback". */
const char *limits_mode_name(uint32_t limits);

/* Names of enum workspace_mode, as an option and an argument take them: "copy-on-write". NULL is
 * behind the last. */
extern const char *const workspace_modes[WORKSPACE_MODE_COUNT + 1];

/* Return the name of an enum workspace_mode of a peer. */
const char *workspace_mode_name(uint32_t mode);

/* Return "damaged", "elsewhere", "live" or "cold". */
const char *sandbox_state_name(uint32_t is_damaged, uint32_t is_elsewhere, uint32_t is_live);

/* Words of an enum verdict, without its figures; NULL: the figures say it. */
struct verdict_words {
	const char *people; /* behind its name; STOPPED: and behind the sandbox's */
	const char *models; /* a last line */
};

/* Return the words; a verdict that there is not has those of INTERNAL. */
const struct verdict_words *verdict_words(uint32_t verdict);

#endif
