/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's name and email for git, in the home of a new sandbox.
 */
#ifndef LAYERS_FOREIGN_IDENTITY_H
#define LAYERS_FOREIGN_IDENTITY_H

#include "layers/job.h"

/* Write the name and email that the job was given into `.config/git/config` of the home, if no
 * execution has made a home yet. 0 or -errno. */
int identity_write(const struct job *job);

#endif
