/* SPDX-License-Identifier: Apache-2.0
 *
 * The kept set of an agent (launcher/start/kept_binds.h): the directories of its program, the files
 * of its keys and a model on this machine. The profile of its sandbox is derived from it.
 */
#ifndef CLI_AGENT_SET_H
#define CLI_AGENT_SET_H

#include "agent/find.h"
#include "agent/keys.h"
#include "agent/rows.h"
#include "launcher/start/config.h"

#define AGENT_KEYS_MAX 8

struct agent_set {
	const struct agent_row *row;
	const struct agent_program *program;
	bool has_login; /* the login's hosts, too */
	uint32_t key_count;
	const char *key_names[AGENT_KEYS_MAX];
	struct agent_key keys[AGENT_KEYS_MAX];
	uint32_t model_port; /* 0: none */
};

/*
 * Keep the set, and write the name of the profile that is derived from it. `profile` is that of an
 * earlier set, which is replaced, or empty. `config` is --config or NULL. 0, or the exit code after
 * a line.
 */
int agent_set_keep(const struct agent_set *set, const char *config, char profile[IPC_NAME_MAX]);

/* Read the address of a model in a variable's value, a URL: the port if it is on this machine's
 * loopback, and the rest behind it in *ret_rest. 0: it is elsewhere. */
uint32_t agent_model_port(const char *url, const char **ret_rest);

/* Does the URL lead to a host of the agent's own? */
bool agent_is_own_host(const struct agent_row *row, const char *url);

#endif
