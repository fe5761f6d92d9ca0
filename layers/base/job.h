/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-layers: one piece of work on a sandbox's layers, asked for over descriptor 3, told of on
 * descriptor 1, and the end. Each operation is a function of this table (job.c); none trusts what
 * it reads in the directories.
 */
#ifndef LAYERS_BASE_JOB_H
#define LAYERS_BASE_JOB_H

#include "common/ipc/ipc_layers.h"
#include "layers/base/tree.h"

#define JOB_BUFFER_BYTES ((size_t)64 << 10)

struct job {
	struct job_directories directories;
	const struct ipc_layers_do *ask;
	const char *chosen; /* paths with a NUL after each */
	size_t chosen_size; /* 0: all */
	const char *named;  /* paths that the host's git names, as in workspace_open */
	size_t named_size;
	int output;      /* change records; -1: nobody reads */
	uint8_t *buffer; /* JOB_BUFFER_BYTES for what is told; NULL: it is written at once */
	size_t buffered;
	struct ipc_layers_done done;
	/* Confines the process that reads repositories; NULL: a test, which has nothing to lose. */
	void (*confine_reader)(const struct job *job);
};

/* Each sets `job->done`, but for its error. 0 or -errno. */
int job_scan(struct job *job);
int job_diff(struct job *job);
int job_preview(struct job *job);
int job_apply(struct job *job);
int job_undo(struct job *job);
int job_recover(struct job *job);
int job_merge(struct job *job);
int job_remove(struct job *job);  /* the answer goes before it begins */
int job_prepare(struct job *job); /* layers/foreign/prepare.c */

/* Does the operation need all that it was given? A request that says nonsense is a breach. */
bool job_is_right(const struct job *job);

/* Do what is asked for, write what is left to be told, and set the error of `job->done`. */
int job_run(struct job *job);

/* --- for the operations (job_records.c)
 * ------------------------------------------------------------ */

/* Write what is buffered. 0 or -errno. */
int job_flush(struct job *job);

/* Write a record with its texts, and count it as told. 0 or -errno. */
struct difference;
int job_tell(struct job *job, const struct difference *difference, const char *link,
	     const uint8_t *patch, size_t patch_size);

/* Is this path among the chosen ones, or beneath one, and not excluded? Of a renamed file either
 * name counts. */
bool job_is_chosen(const struct job *job, const char *path);

/* Return whether a path was chosen that is not the whole workspace. */
bool job_names_paths(const struct job *job);

/* Is this path the chosen one, or beneath it? */
bool job_is_in(const char *path, const char *chosen);

#endif
