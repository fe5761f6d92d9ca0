/* SPDX-License-Identifier: Apache-2.0
 *
 * The acts of `msp setup` as a table: for a probe of the doctor and the cause that it found, what
 * may be done on this machine, and by whom.
 */
#ifndef CLI_SETUP_ACTS_H
#define CLI_SETUP_ACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/limits.h"
#include "doctor/probes.h"

#define SETUP_WORDS_MAX 12 /* a command, with the NULL at its end */
#define SETUP_TEXT_MAX 5120

enum setup_actor {
	SETUP_ROOT,
	SETUP_USER, /* never root: it is about a user's own session */
	SETUP_ANYONE,
};

/* In each text {uid} and {user} are the account's that sandboxes run as, {program} is the path of
 * msp and {folder} its directory. */
struct setup_act {
	const char *probes[2]; /* names; the second may be NULL */
	enum finding_cause cause;
	enum setup_actor actor;
	const char *what;
	const char *needs[2]; /* paths without which it is not offered */
	const char *lacks;    /* a path with which it is not offered, or NULL */
	const char *makes;    /* a path that it makes, with which it is not offered, or NULL */
	const char *text;     /* the text of a file at that path; NULL: the command makes it */
	const char *command[SETUP_WORDS_MAX];
	const char *then; /* the rest, for the person; or NULL */
	bool is_lasting;  /* the command is msp's service, which is left running */
};

extern const struct setup_act setup_acts[];
extern const size_t setup_act_count;

/* Facts about this start that acts depend on. */
struct setup_facts {
	bool is_root;
	uid_t uid;
	char user[64];
	char program[IPC_PATH_MAX];
};

/* Put the facts into a text of an act. */
void setup_expand(const struct setup_facts *facts, const char *text, char ret[SETUP_TEXT_MAX]);

/* Return true if an act is to be offered for this finding of the named probe. None is if the name
 * of the account or the path of msp has a character that the reader of a text could misunderstand.
 */
bool setup_act_applies(const struct setup_act *act, const char *probe,
		       const struct finding *finding, const struct setup_facts *facts);

/* Append the command of an act, as it can be typed. */
void setup_append_command(const struct setup_act *act, const struct setup_facts *facts, char *text,
			  size_t room);

/* Write the one command line with which an ordinary user does an act of root's. */
void setup_format_sudo(const struct setup_act *act, const struct setup_facts *facts,
		       char text[SETUP_TEXT_MAX]);

#endif
