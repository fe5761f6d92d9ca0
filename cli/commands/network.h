/* SPDX-License-Identifier: Apache-2.0
 *
 * The actions of `msp network` that ask a supervisor. Each returns the exit code.
 */
#ifndef CLI_COMMANDS_NETWORK_H
#define CLI_COMMANDS_NETWORK_H

#include "ask/attach.h"

struct network_options {
	struct attach_options attach;
	const char *sandbox; /* for `approve` */
	const char *client;  /* likewise: its number, and its owner behind a slash */
	bool is_json;        /* for `list` */
};

/* Print the connections of a sandbox, its hosts beside its profile's list, and its last refusals.
 */
int network_list(const struct network_options *options, char *const words[]);

/* Print the hosts that sandboxes were refused and that a person can grant. */
int network_asked(const struct network_options *options, char *const words[]);

/* Let a sandbox or a client reach a host. */
int network_approve(const struct network_options *options, char *const words[]);

/* Take a host, or all, away from a sandbox. */
int network_tighten(const struct network_options *options, char *const words[]);

#endif
