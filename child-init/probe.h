/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe: in a process that is confined as a workload is, one act against each layer
 * (common/text/layer.def), each of which that layer alone answers as it does. A layer whose act is
 * answered otherwise is open, whatever else may stand in the way.
 *
 * What is found lies in the memory that the probing process shares with its init (spawn.c).
 */
#ifndef CHILD_INIT_PROBE_H
#define CHILD_INIT_PROBE_H

#include "init.h"

struct ipc_posture_measured;

/* Note the own namespaces, by the links in the directory `path` ("/proc/self/ns"). 0 or -errno. */
int probe_note_namespaces(const char *path, struct probe_namespaces *ret);

/* Forget what was found, and begin with the namespaces that the init has noted. */
void probe_begin(const struct init *init);

/* The acts, in the order in which the confinement has to stand: when the limits are set, before
 * Landlock, then behind it, then without descriptors, then behind the filter. 0 each: what is found
 * is kept. probe_list() is -EAGAIN where the list's act has no answer yet. */
int probe_rlimits(void);
int probe_before_landlock(void);
int probe_list(void);
int probe_landlock(void);
int probe_descriptors(void);
int probe_filter(void);

/* Copy the results to *ret, unless it is NULL. Return whether every barrier that could be tried is
 * closed. */
bool probe_tell(struct ipc_posture_measured *ret);

#endif
