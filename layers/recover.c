/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery: an apply that was killed or failed is finished or taken back by its journal.
 */
#include "apply.h"
#include "common/fd.h"
#include "common/ipc_changes.h"

int job_recover(struct job *job)
{
	int lock = apply_lock(&job->directories);
	int error = lock < 0 ? lock : apply_recover(&job->directories, &job->done.conflicts);

	fd_close(&lock);
	job->done.step = error ? CHANGES_STEP_JOURNAL : CHANGES_STEP_NONE;
	return error;
}
