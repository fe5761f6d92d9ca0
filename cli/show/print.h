/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SHOW_PRINT_H
#define CLI_SHOW_PRINT_H

#include <stdbool.h>

/* Print to stdout from column `column` on, wrapped at spaces before column `width`; further lines
 * begin at `column` too. */
void print_wrapped(const char *text, int column, int width);

/* Was everything printed to stdout written? 0 or -errno: -EPIPE when nobody reads it any more. */
int print_flush(void);

/* Return whether nobody reads standard output any more, within this time. */
bool print_is_unread(int wait_ms);

#endif
