/* SPDX-License-Identifier: Apache-2.0
 *
 * The agents that msp knows, as `msp-policy agents` prints them: lines of a word, a tab and a
 * value. The operator's file can add rows, so msp-policy reads and checks them.
 */
#ifndef CLI_AGENT_ROWS_H
#define CLI_AGENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of one word. */
#define AGENT_WORDS_MAX 32
struct agent_words {
	uint32_t count;
	const char *list[AGENT_WORDS_MAX];
};

#define AGENT_FILES_MAX 16
struct agent_file {
	const char *path; /* below the sandbox's home */
	const char *text; /* NULL: the line was missing */
};

/* A row. Texts that it lacks are NULL. */
struct agent_row {
	const char *name, *description, *install, *base_url, *note, *version;
	uint32_t login_port;
	struct agent_words programs, hosts, login_hosts, keys, arguments, resume, login_arguments;
	uint32_t file_count;
	struct agent_file files[AGENT_FILES_MAX];
};

#define AGENT_ROWS_MAX 64
struct agent_rows {
	char *text; /* the values lie in it */
	uint32_t count;
	struct agent_row list[AGENT_ROWS_MAX];
};

/* Read the lines of a text, which is changed and must outlive the rows. A word that is not known is
 * left out: msp-policy may be newer. False: a line belongs to no row, or there is no room. */
bool agent_rows_read(char *text, struct agent_rows *ret);

/* Run msp-policy for them; `config` is --config or NULL. 0, or the exit code after a line. */
int agent_rows_load(const char *config, struct agent_rows *ret);

/* Find a row by its name; NULL: there is none. */
const struct agent_row *agent_rows_find(const struct agent_rows *rows, const char *name);

/* Say which agents there are, since `name` is none. Returns the exit code. */
int agent_rows_refuse(const struct agent_rows *rows, const char *name);

#endif
