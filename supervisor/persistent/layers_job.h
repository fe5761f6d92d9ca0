/* SPDX-License-Identifier: Apache-2.0
 *
 * Pieces of work of msp-layers, each a process that the factory starts as a helper: what it works
 * on it is handed as directories, what it finds out it tells in one message, and changes it lists
 * over a pipe to whoever asked. We read none of the files.
 */
#ifndef SUPERVISOR_PERSISTENT_LAYERS_JOB_H
#define SUPERVISOR_PERSISTENT_LAYERS_JOB_H

#include <stdbool.h>

#include "base/state.h"

struct ipc_changes_start;

struct layers_ask {
	struct sandbox *sandbox;
	uint32_t operation; /* enum layers_operation; not REMOVE */
	uint64_t since_us;  /* NOTE */

	/* For a frontend: changes_started and changes_done answer. */
	struct frontend *frontend; /* NULL: the supervisor's own job */
	uint64_t request;
	const struct ipc_changes_start *changes;
	const struct plan_profile *profile; /* in the policy in force: its held files */
	uint32_t since;                     /* with CHANGES_FROM_CHECKPOINT: that layer */
	int chosen;                         /* stays the caller's */
	const int *named; /* paths that the host's git names in the workspace; NULL or 0: none */
};

/* 0, and then the sandbox and the frontend are told how it ends, or -errno when nothing was begun.
 * The sandbox has no other job that changes something; MERGE: -ENOENT when there is nothing to. */
int layers_job_begin(const struct layers_ask *ask);

/* Begin a job of the supervisor's own: NOTE, MERGE or RECOVER. As above. */
int layers_job_begin_own(struct sandbox *sandbox, uint32_t operation);

/* Does it change files for as long as that takes? Not NOTE; not NULL. */
bool layers_job_is_long(const struct layers_job *job);

/* Does it change the host's files, or the upper of a cold sandbox? No execution may begin
 * meanwhile. NULL: no. */
bool layers_job_writes_host(const struct layers_job *job);

/* Return whether any job changes the host's files. */
bool layers_job_is_writing_host(void);

/* Take the factory's answer and its pidfd. 0, or -EPROTO for a slot that did not ask. */
int layers_job_started(uint32_t slot, int *pidfd);
int layers_job_failed(uint32_t slot, uint32_t error);

/* The frontend is gone: what it only wanted to look at ends. What changes files does not. */
void layers_job_abandon(const struct frontend *frontend);

/* Have the contents of the trash removed by a process that outlives the supervisor. */
void layers_job_empty_trash(void);

/* Return whether that process still needs the supervisor, and the factory, to begin. */
bool layers_job_is_removing(void);

#endif
