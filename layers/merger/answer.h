/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader's answer to READER_MERGE.
 */
#ifndef LAYERS_MERGER_ANSWER_H
#define LAYERS_MERGER_ANSWER_H

#include "layers/reader/objects.h"
#include "layers/reader/reader.h"

/* Read the two sides that follow a request, merge them since the base that it names, and tell of
 * the result. `gits`: as many as there are sources of objects. 0; -EPROTO: the sides are not read;
 * another -errno, as of ancestor_find() or text_merge(). */
int answer_merge(int requests, const int *gits, const struct objects *objects,
		 const struct reader_ask *ask,
		 int (*tell)(void *context, const struct reader_tell *what, const void *bytes),
		 void *context);

#endif
