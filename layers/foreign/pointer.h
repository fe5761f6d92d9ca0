/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAYERS_FOREIGN_POINTER_H
#define LAYERS_FOREIGN_POINTER_H

#include "layers/base/job.h"

/* Have the workspace name the place where git's data is shown, or tell why it is not: a record with
 * CHANGE_IS_GITS and the path on the host. 0 or -errno. */
int pointer_write(struct job *job);

#endif
