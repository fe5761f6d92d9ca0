/* SPDX-License-Identifier: Apache-2.0
 *
 * A trial: one command over a project that is shown copy-on-write, in a sandbox that stays for an
 * hour when the command changed something. `msp run --workspace` and `msp shell` share it.
 */
#ifndef CLI_COMMANDS_TRIAL_H
#define CLI_COMMANDS_TRIAL_H

#include "ask/execute.h"
#include "commands/new_sandbox.h"

struct trial_options {
	const char *workspace; /* NULL: none was given */
	const char *profile;
	bool no_hosts;
	bool is_discarded;
	bool is_reviewed;
};

#define TRIAL_ROWS(type, member)                                                                   \
	OPTION_WITH(                                                                               \
		type, "workspace", "DIR", new_sandbox_set_workspace, member.workspace,             \
		"show DIR (without a value: this directory) at /workspace, copy-on-write; what "   \
		"CMD changes there is kept for an hour, for 'msp diff -1' and 'msp apply -1'",     \
		.letter = 'w', .is_optional = true),                                               \
		OPTION(type, "discard", NULL, option_set_flag, member.is_discarded,                \
		       "with --workspace: throw the changes away at the end"),                     \
		OPTION(type, "review", NULL, option_set_flag, member.is_reviewed,                  \
		       "with --workspace, in a terminal: show the changes at the end and ask "     \
		       "whether to "                                                               \
		       "apply them"),                                                              \
		OPTION(type, "network", "none", option_set_no_hosts, member.no_hosts,              \
		       NEW_SANDBOX_NETWORK_HELP),                                                  \
		OPTION(type, "profile", "NAME", option_set_profile, member.profile,                \
		       "the policy to run under: 'strict', ...; 'msp profile list' shows them "    \
		       "(the default: MSP_DEFAULT_PROFILE, else what the configuration says, "     \
		       "else 'default')")

/* The conflict of options in a phrase, or NULL. */
const char *trial_find_conflict(const struct trial_options *options, bool is_json);

/* Do it: `what` has no sandbox yet. The exit code of msp: the command's own where it ran. */
int trial_run(const struct trial_options *options, const struct execute *what);

#endif
