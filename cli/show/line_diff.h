/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines in which two texts differ, for a person: one hunk with three lines around it.
 */
#ifndef CLI_SHOW_LINE_DIFF_H
#define CLI_SHOW_LINE_DIFF_H

#include "lib/heap/buffer.h"

/* Print the hunk on stdout. A terminal obeys nothing in it. */
void line_diff_print(const struct buffer *old, const struct buffer *now);

#endif
