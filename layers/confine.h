/* SPDX-License-Identifier: Apache-2.0
 *
 * The confinement of a job, before it reads the first byte that a workload wrote.
 */
#ifndef LAYERS_CONFINE_H
#define LAYERS_CONFINE_H

#include "layers/base/job.h"

#define CONFINE_CHANNEL 3

/* Allow what the operation needs, in the directories that were handed over. Ends the process when
 * a step fails. */
void confine_job(const struct job *job);

/* Allow the process that reads repositories for a job nothing but to read the job's directories,
 * and a bound of processor time. Ends the process when a step fails. */
void confine_reader(const struct job *job);

/* Install the system call filter of jobs that write, which is in a file of its own because the
 * headers that the lists become have the same names in them. */
void confine_install_write_filter(void);

#endif
