/* SPDX-License-Identifier: Apache-2.0
 *
 * Background commands on disk. Each has a directory `commands/ID/` in the directory of its
 * persistent sandbox, where no workload can reach it, and which is removed with the sandbox:
 *
 *   note      what runs and how it ended; its keeper holds a record lock on it while it lives
 *   output.N  what the command wrote (background/output.h)
 *
 * A keeper that was killed has released its lock, so that nobody has to guess by process ids.
 */
#ifndef CLI_BACKGROUND_NOTE_H
#define CLI_BACKGROUND_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"
#include "common/records/history.h"
#include "common/sha256.h"

#define BACKGROUND_DIRECTORY "commands"
#define BACKGROUND_NOTE "note"

/* An id and its NUL: 30 random bits in Crockford's base 32. */
#define BACKGROUND_ID_MAX 7

/* Commands of a sandbox whose output is kept; the oldest ended ones give way. */
#define BACKGROUND_KEPT 32

/* The lines that msp said at the end, such as why the command was ended. */
#define BACKGROUND_LINES_MAX 3072

#define BACKGROUND_MAGIC 0x444b4742U /* "BGKD" */
#define BACKGROUND_VERSION 1U

/* The file itself, in the machine's own order. */
struct background_note {
	uint32_t magic;
	uint32_t version;
	uint32_t has_ended; /* 1: the members up to `lost_bytes` are known */
	uint32_t exit_code; /* msp's, as of 'msp exec' */
	uint32_t verdict;   /* enum verdict; VERDICT_COUNT: there is none */
	uint32_t lines_size;
	uint64_t ended_us;                 /* this and the other times: real clock */
	uint64_t output_bytes;             /* that the command wrote */
	uint64_t lost_bytes;               /* bytes for which the disk had no room */
	uint64_t asked_us;                 /* the request was about to be sent */
	uint64_t begun_us;                 /* it was accepted */
	uint64_t wall_ms;                  /* the longest time that it may run; 0: not known */
	uint8_t argv_sha256[SHA256_BYTES]; /* hash of all arguments, as in the audit log */
	struct history_note command;       /* its arguments, cut off */
	char lines[BACKGROUND_LINES_MAX];
};

enum background_state {
	BACKGROUND_RUNNING,
	BACKGROUND_ENDED,
	BACKGROUND_LOST, /* its keeper was killed, and the command with it: no result is known */
};

struct background {
	char id[BACKGROUND_ID_MAX];
	char sandbox[IPC_ID_MAX];
	int directory; /* this and the next: the caller's, or during a call only */
	int file;      /* the note; -1: none */
	enum background_state state;
	struct background_note note;
};

/* Open the directory of all sandboxes. A descriptor, or -errno with a phrase in `text`
 * (STATE_PLACE_TEXT_MAX); -ENOENT: nothing was ever kept. */
int background_open_sandboxes(char *text);

/* Call for each background command of all sandboxes; `sandboxes` is from the function above. */
void background_each(int sandboxes, void (*take)(void *context, const struct background *command),
		     void *context);

/* Less of an id is rather a slip. */
#define BACKGROUND_WORD_MIN 3

/* Find the command whose id is or begins with `word`. The number of those; 1: *ret is it, with
 * descriptors of the caller's. */
uint32_t background_find(int sandboxes, const char *word, struct background *ret);
void background_close(struct background *command);

/* Read the note and the state again. */
void background_look(struct background *command);

/* Wait until its keeper has ended, and look again. 0 or -errno. */
int background_await(struct background *command);

/* Say on stderr what msp said of the end. Return its exit code. */
int background_explain(const struct background *command);

/* Return the process that holds the lock of a note; 0: none. */
pid_t background_keeper(int file);

/* Make the directory of a new command in the sandbox, with a note that this process holds, and give
 * way to it. 0, or -errno and nothing is there. The descriptors in *ret are the caller's. */
int background_make(int sandboxes, const char *sandbox, const struct background_note *note,
		    struct background *ret);

/* Write the note. 0 or -errno. */
int background_write(const struct background *command);

/* Remove a command with all of its files. */
void background_remove(int sandboxes, struct background *command);

#endif
