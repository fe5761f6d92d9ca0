/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of a command about persistent sandboxes, one after the other, and their answers.
 */
#ifndef CLI_ASK_ASK_H
#define CLI_ASK_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "ask/attach.h"
#include "ask/conversation.h"
#include "ask/file_pipes.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_persistent.h"
#include "frontend/change_stream.h"
#include "options/sandbox_search.h"
#include "show/refusal.h"

/* Called for each part of an answer, which is only valid during the call. NULL: of no interest. */
struct ask_handlers {
	void (*on_sandbox)(void *context, const struct ipc_sandbox_info *info);
	void (*on_checkpoint)(void *context, const struct ipc_checkpoint_info *info);
	void (*on_change)(void *context, const struct change *change);
};

enum ask_kind {
	ASK_NEW,
	ASK_LIST,
	ASK_END,
	ASK_CHECKPOINT,
	ASK_CHANGES,
	ASK_FILE,
	ASK_BRIDGE,
};

/* `request` is filled in here; `sandbox`, unless it is there, from `words`; and with `owner`, where
 * the beginning of an id was given. */
struct question {
	enum ask_kind kind;
	union {
		struct ipc_head head; /* each begins with it */
		struct ipc_sandbox_new new_one;
		struct ipc_sandbox_list list;
		struct ipc_sandbox_end end;
		struct ipc_checkpoint_do checkpoint;
		struct ipc_changes_start changes;
		struct ipc_file_start file;
		struct ipc_bridge_start bridge;
	} is;
	int network;       /* BRIDGE: the other end of its msp-bridge's BRIDGE_FD_NETWORK */
	const char *paths; /* CHANGES: the chosen ones, with a NUL after each */
	size_t paths_size;
	struct file_stream file;    /* FILE: what it is told and says */
	struct refusal_words words; /* for the line that explains a refusal */
	const char *act;            /* for the line of progress, a literal; NULL: show none */
	bool is_tried;              /* no line is said if another supervisor has the sandbox */
	bool is_for_program;        /* no person is asked about -1 over another project */
	bool is_wide;               /* NEW: no line is said if the workspace is refused */
};

struct asking {
	struct conversation talk; /* first; its outcome is the end, or the last refusal */
	struct attachment attachment;
	uint64_t request;   /* the open question's */
	uint32_t ends_with; /* enum ipc_type of what ends its answer, besides a refusal */
	const struct ask_handlers *handlers;
	void *context;
	const struct ipc_welcome *welcome; /* the last one of this process; NULL: none yet */
	int plan;                          /* the welcome's; -1: none */
	bool is_answered;
	bool is_searching;
	struct sandbox_search search;
	struct change_stream records;
	int records_error;               /* -errno */
	struct ipc_changes_done done;    /* the last one's about changes */
	struct file_pipes pipes;         /* the last one's about a file */
	struct ipc_execution_done ended; /* how that ended */
	char line[64];                   /* a person's */
	char recent[4];                  /* "-1", ...: the last word that was resolved */
	char recent_id[IPC_ID_MAX];      /* the run that it means */
};

/* Find a supervisor. 0, or the exit code, and a line was said. Whatever it is, ask_end() follows.
 */
int ask_begin(struct asking *asking, const struct attach_options *options);

/* Begin with the question of a new sandbox, which is completed here: with `binds`, its profile is
 * the one that shows them. `is_execution`, `use_tty`: as ask_begin_execution(). */
int ask_begin_new(struct asking *asking, const struct attach_options *options,
		  struct question *question, const struct bind_words *binds, bool is_execution,
		  bool use_tty);

/* Begin with questions about files, for which an execution runs, or around an execution
 * (execute_within()); `use_tty`: it has the caller's terminal. */
int ask_begin_execution(struct asking *asking, const struct attach_options *options, bool use_tty);

/*
 * Ask and wait for the whole answer. 0; or the exit code, and a line was said. After a refusal
 * (is_refused of the outcome) the next question can be asked.
 */
int ask(struct asking *asking, struct question *question, const struct ask_handlers *handlers,
	void *context);

/* Replace -1, -2, ... by the id of the run over this project, as ask() does with the question's
 * sandbox; leave any other word. The same word means the same run in one conversation. 0, or the
 * exit code after a line. */
int ask_resolve(struct asking *asking, char sandbox[IPC_NAME_MAX], bool is_for_program);

/* Begin, ask and end. */
int ask_once(const struct attach_options *options, struct question *question,
	     const struct ask_handlers *handlers, void *context);

/* Ask the person at the terminal of standard input, as a recent_asker of this asking, who answers
 * with y or yes, or does not. 0, or the exit code of a signal or of a supervisor that has gone. */
int ask_person(void *asking, const char *text, bool *ret_is_yes);

/* Ask for one of these words, whose first letters differ, at that terminal. *ret is the index of
 * the word that the answer begins, or `count`: of none. As above. */
int ask_words(struct asking *asking, const char *text, const char *const words[], size_t count,
	      size_t *ret);

/* Be done with it. Returns `code`, or what is worse. */
int ask_end(struct asking *asking, int code);

/* Was the answer that another supervisor has the sandbox? */
bool ask_is_elsewhere(const struct asking *asking);

/* Is the conversation over, so that nothing more can be asked? */
bool ask_is_over(const struct asking *asking);

#endif
