/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox to be made, from the words of a command line: for `msp create`, and for runs and shells
 * over a project.
 */
#ifndef CLI_COMMANDS_NEW_SANDBOX_H
#define CLI_COMMANDS_NEW_SANDBOX_H

#include "launcher/host/bind.h"
#include "options/options.h"

struct asking;
struct ipc_changes_done;
struct ipc_sandbox_info;
struct json_writer;
struct question;

#define NEW_SANDBOX_NETWORK_HELP                                                                   \
	"'none': without the hosts of the profile; its own loopback stays as the profile has it"

#define NEW_SANDBOX_ROW_RO(type, member)                                                           \
	OPTION(type, "ro", "HOST[:INSIDE]", option_set_bind, member,                               \
	       "show this file or folder, read-only, at INSIDE (the default: the same path); "     \
	       "may be given up to 32 times. Refused for what holds keys or tokens, and for "      \
	       "your home")

struct new_sandbox {
	const char *name;    /* NULL: none */
	const char *profile; /* NULL: the default one */
	bool no_hosts;
	const char *workspace; /* NULL: an empty one */
	uint32_t mode;         /* enum workspace_mode; NONE: not said */
	uint32_t ttl_s;        /* 0: the profile's */
};

option_set new_sandbox_set_workspace; /* const char * */

/* Make the question of it; the words must outlive the question. 0, or the exit code after a line.
 */
int new_sandbox_fill(const struct new_sandbox *wanted, struct question *question);

/* Ask for it, and have foreign files of its workspace prepared. 0, or the exit code after a line.
 */
int new_sandbox_ask(struct asking *asking, struct question *question, struct ipc_sandbox_info *ret);

/* Write what was found of foreign files, those of another owner or group, as the member "foreign".
 */
void new_sandbox_write_foreign(struct json_writer *writer, const struct ipc_changes_done *done);

#endif
