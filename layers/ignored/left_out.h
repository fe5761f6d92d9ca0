/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that nobody sees unasked: of files that the project's rules ignore and git does not
 * track. They stay in the sandbox.
 */
#ifndef LAYERS_IGNORED_LEFT_OUT_H
#define LAYERS_IGNORED_LEFT_OUT_H

#include "layers/base/job.h"

/* Is the change left out? A file is counted in job->done.ignored then. No change is that the job
 * asks for with CHANGES_IGNORED_TOO, or that lies in a chosen path which is ignored itself. */
bool left_out(struct job *job, const struct difference *difference);

#endif
