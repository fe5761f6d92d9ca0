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

/* NOLINTBEGIN(bugprone-macro-parentheses): `member` is a part of a name. */
#define TRIAL_ROWS(type, member)                                                                   \
	{ .name = "workspace",                                                                     \
	  .letter = 'w',                                                                           \
	  .argument = "DIR",                                                                       \
	  .is_optional = true,                                                                     \
	  .set = new_sandbox_set_workspace,                                                        \
	  .offset = offsetof(type, member.workspace),                                              \
	  .help = "show DIR (without a value: this directory) at /workspace, copy-on-write; what " \
		  "CMD changes there is kept for an hour, for 'msp diff -1' and 'msp apply -1'" }, \
		{ .name = "discard",                                                               \
		  .set = option_set_flag,                                                          \
		  .offset = offsetof(type, member.is_discarded),                                   \
		  .help = "with --workspace: throw the changes away at the end" },                 \
		{ .name = "review",                                                                \
		  .set = option_set_flag,                                                          \
		  .offset = offsetof(type, member.is_reviewed),                                    \
		  .help = "with --workspace, in a terminal: show the changes at the end and ask "  \
			  "whether to apply them" },                                               \
		{ .name = "network",                                                               \
		  .argument = "none",                                                              \
		  .set = option_set_no_hosts,                                                      \
		  .offset = offsetof(type, member.no_hosts),                                       \
		  .help = NEW_SANDBOX_NETWORK_HELP },                                              \
	{                                                                                          \
		.name = "profile", .argument = "NAME", .set = option_set_profile,                  \
		.offset = offsetof(type, member.profile),                                          \
		.help = "the policy to run under: 'strict', ...; 'msp profile list' shows them "   \
			"(the default: MSP_DEFAULT_PROFILE, else what the configuration says, "    \
			"else 'default')"                                                          \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* The conflict of options in a phrase, or NULL. */
const char *trial_find_conflict(const struct trial_options *options, bool is_json);

/* Do it: `what` has no sandbox yet. The exit code of msp: the command's own where it ran. */
int trial_run(const struct trial_options *options, const struct execute *what);

#endif
