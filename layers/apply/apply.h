/* SPDX-License-Identifier: Apache-2.0
 *
 * The way of a journal's entries onto the host's workspace, for an apply as for an undo: new files
 * are made beside (staging), then each changes places with an old one (swapping), then what is
 * beside goes. Whatever happens in between, apply_back() makes all of it old, or apply_finish() all
 * of it new. docs/decisions/0043-changes-and-apply.md has the states and why that holds.
 */
#ifndef LAYERS_APPLY_APPLY_H
#define LAYERS_APPLY_APPLY_H

#include "common/ipc/ipc_changes.h"
#include "layers/base/job.h"
#include "layers/base/journal.h"

/* The source of an entry's new content. */
struct apply_source {
	const void *context;
	/* The content of a regular file. A descriptor or -errno. */
	int (*open)(const void *context, const struct journal_entry *entry);
	/* Read a link's target, terminated. Its length or -errno. */
	int (*link)(const void *context, const struct journal_entry *entry, char ret[IPC_PATH_MAX]);
	/* Check what the swapped files may not contradict. 0 or -errno, and all goes back. */
	int (*settle)(const void *context);
	/* Put the file that has the content, with all that it had on the host, into a directory
	 * under this name too. False: it must be copied. NULL: all are. */
	bool (*adopt)(const void *context, const struct journal_entry *entry, int directory,
		      const char *name);
};

struct apply_run {
	const struct job_directories *directories;
	const struct apply_source *source; /* for the staging */
	struct journal journal;            /* the run's own */
	bool keeps_last;             /* UNDO: some of the last apply is still to be taken back */
	int state;                   /* directory of its state, whatever it is called now */
	int keep;                    /* the directory on the host */
	char name[JOURNAL_KEEP_MAX]; /* its name there */
	enum changes_step step;      /* the step that failed */
	const struct journal_entry *failed;
	uint32_t conflicts; /* found while going back: left as the host has them */
};

/* Take over the journal's entries (from, to.mode, changed), and do all of it, or nothing: 0, or
 * -errno with the host's files as they were; -ESTALE: the host changed one meanwhile (`failed`).
 * When going back failed too, the journal stays for apply_recover(). */
int apply_run(struct apply_run *run);
void apply_run_done(struct apply_run *run);

/* Finish an interrupted apply or take it back. 0, also if there was none, or -errno with the
 * journal in its place. */
int apply_recover(const struct job_directories *directories, uint32_t *ret_conflicts);

/* Only one works on a sandbox's journal at a time, until the descriptor is closed. A descriptor;
 * -EBUSY: another has it; another -errno. */
int apply_lock(const struct job_directories *directories);

/* Between the files of this folder: one entry is staged; all are swapped, in order; all are swapped
 * back, in the other order, as far as they are swapped at all. 0 or -errno. */
int apply_stage(struct apply_run *run, size_t number);
int apply_swap(struct apply_run *run);
int apply_back(struct apply_run *run);

/* Add an entry for a path at which the host has this file; a mode of 0: none. NULL without memory.
 */
struct journal_entry *apply_enter(struct journal *journal, const char *path,
				  const struct stat *from, size_t change);

/* Is a file of the host what it was when it was compared? */
bool apply_is_as_compared(const struct journal_entry *entry, const struct stat *status);

/* Does the entry leave the file in its place and change its permissions? */
bool apply_is_in_place(const struct journal_entry *entry);

#endif
