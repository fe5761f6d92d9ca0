/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of `msp agent`: its sandbox, its run, and the review at its end.
 */
#ifndef CLI_COMMANDS_AGENT_H
#define CLI_COMMANDS_AGENT_H

#include <sys/types.h>

#include "agent/find.h"
#include "agent/record.h"
#include "agent/rows.h"
#include "agent/set.h"
#include "ask/execute.h"

/* Words of the agent's command. */
#define AGENT_COMMAND_MAX 512

struct agent_options {
	struct execute_options execute;
	const char *word; /* --name; NULL: none */
	bool is_asking;
	bool is_login;
	bool is_new;
};

/* One call of `msp agent NAME`. */
struct agent_run {
	struct agent_options *options;
	const struct agent_row *row;
	char *const *arguments;     /* the person's, NULL at their end */
	struct agent_record record; /* the sandbox */
	bool is_first;              /* the sandbox has to be made */
	bool has_terminal;
	bool is_resumed;                                  /* it is to go on with its last session */
	char here[IPC_PATH_MAX];                          /* the current directory */
	char inside[sizeof("/workspace") + IPC_PATH_MAX]; /* its path in the sandbox */
	struct agent_program program;
	struct agent_set set;
	char *words[AGENT_COMMAND_MAX + 1]; /* its command */
};

/* Print the known agents (`is_json`), or those of this project. The exit code. */
int agent_list(const struct agent_rows *rows, bool is_json);
int agent_status(const struct agent_options *options);

/* Run an act of a run in a process of its own, because a process can have one conversation. The
 * exit code. */
int agent_apart(struct agent_run *run, int (*act)(struct agent_run *run));

/* Is the agent's sandbox, or its last command, there? */
bool agent_has_sandbox(const struct agent_record *record);
bool agent_is_running(const struct agent_record *record);

/* Return when the last command was started, by the real clock; 0: it does not run. */
uint64_t agent_runs_since(const struct agent_record *record);

/* Make the sandbox with the first files, and remember it. The exit code, after a line. */
int agent_make_sandbox(struct agent_run *run);

/* Start the agent and follow it, with the question at its end. The exit code. */
int agent_start(struct agent_run *run);

/* Attach to an agent that runs. The exit code. */
int agent_join(struct agent_run *run);

/* Start the processes that remove the files of keys when nobody uses them, and use them no longer.
 */
void agent_watch_keys(struct agent_set *set);
void agent_leave_keys(struct agent_set *set);

/* Put the words of the command together. 0, or the exit code after a line. */
int agent_fill_words(struct agent_run *run);

/* May the user's service serve this run, if there is one? */
bool agent_may_use_service(const struct agent_run *run);

/* Find program and keys, and have sandbox and command ready. 0, or the exit code after a line. */
int agent_prepare(struct agent_run *run);

/* Say what changed, and ask the person what becomes of it. The exit code of the questions. */
int agent_review(struct agent_run *run);

/* Say in one line what changed. The exit code of the question. */
int agent_count(struct agent_run *run);

/* Let the port of a login's answer lead into the sandbox, from a process that ends with us. Return
 * its id; 0: none is needed, or it could not be started. */
pid_t agent_begin_bridge(const struct agent_run *run);
void agent_end_bridge(pid_t bridge);

/* Return the value of a variable of the caller; NULL: there is none, or an empty one. */
const char *agent_variable(const char *name);

/* Write what the variable of a key has inside, as policy/read/http.c has it. */
#define AGENT_PLACEHOLDER_MAX 256
const char *agent_placeholder(const char *key, char ret[AGENT_PLACEHOLDER_MAX]);

/* Write how a person calls the agent of this record: "claude --name=two". */
#define AGENT_CALL_MAX (2 * AGENT_NAME_MAX + 16)
const char *agent_call(const struct agent_record *record, char ret[AGENT_CALL_MAX]);

#endif
