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
	struct bind_words binds;
	const char *workspace; /* NULL: none was given */
	bool is_wide;          /* show the repository that it lies in, and start in it there */
	const char *profile;
	bool no_hosts;
	bool is_discarded;
	bool is_reviewed;
};

/* Set the workspace of struct trial_options; without a value this directory, widely. */
option_set trial_set_workspace;

#define TRIAL_ROWS(type, member)                                                                   \
	NEW_SANDBOX_ROW_RO(type, member.binds),                                                    \
		OPTION_WITH(                                                                       \
			type, "workspace", "DIR", trial_set_workspace, member,                     \
			"show DIR at /workspace, copy-on-write; without a value the repository "   \
			"that this "                                                               \
			"directory lies in, or else this directory, where CMD then starts. What "  \
			"CMD "                                                                     \
			"changes there is kept for an hour, for 'msp diff -1' and 'msp apply -1'", \
			.letter = 'w', .is_optional = true),                                       \
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
