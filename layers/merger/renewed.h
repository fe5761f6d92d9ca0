/* SPDX-License-Identifier: Apache-2.0
 *
 * The base of a file after a merge: the host has what the sandbox's side had then.
 */
#ifndef LAYERS_MERGER_RENEWED_H
#define LAYERS_MERGER_RENEWED_H

#include "layers/base.h"

/* Replace the content of a base, which is the merged file of the host, by that of the sandbox's
 * file; BASE_UNKNOWN if it cannot be read. */
void renewed_base(const struct job_directories *directories, const char *path,
		  struct base_record *record);

#endif
