/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of agents on their way from the caller's environment to msp-http, which reads them from
 * files (launcher/start/secret.h). A key is in memory alone: in the user's runtime directory, or in
 * /dev/shm. Its file is there as long as an agent uses it, because a service that reads its policy
 * again reads each secret again.
 */
#ifndef CLI_AGENT_KEYS_H
#define CLI_AGENT_KEYS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/limits.h"

#define AGENT_KEY_TEXT_MAX 512

/* A key's file, and our share of its lock: whoever holds one uses the file. */
struct agent_key {
	int lock; /* -1: none */
	char path[IPC_PATH_MAX];
};

/* Is this a value that a header can hold? NULL, or the rule that it breaks. */
const char *agent_key_check(const char *value);

/* Choose the directory of keys: below `runtime`, the user's runtime directory, if that is there,
 * else below `shared`. False: neither is of this user alone, with a line in `text`. */
bool agent_keys_place(const char *runtime, const char *shared, uid_t uid, char ret[IPC_PATH_MAX],
		      char text[AGENT_KEY_TEXT_MAX]);

/* Write the key `name` of an agent into its file, for this process and those that it forks. 0; or
 * -1 with a line in `text`, which never has the value. */
int agent_key_write(const char *directory, const char *agent, const char *name, const char *value,
		    struct agent_key *ret, char text[AGENT_KEY_TEXT_MAX]);

/* Start a process that removes the file when nobody uses it any more, however we end. 0 or -errno.
 */
int agent_key_watch(const struct agent_key *key);

/* Use it no longer. */
void agent_key_done(struct agent_key *key);

/* Remove the file if nobody uses it: that of an agent whose machine was cut off. */
void agent_key_sweep(const char *path);

#endif
