/* SPDX-License-Identifier: Apache-2.0
 *
 * The keeper's side of a held terminal: it gives the terminal's output to the attached one and
 * takes its keys, and remembers what a later one needs. One is attached at a time.
 */
#ifndef CLI_HELD_HOLDER_H
#define CLI_HELD_HOLDER_H

#include <sys/ioctl.h>

#include "background/keep.h"

/* Return the holder of this process, whose terminal has this size at first. */
const struct background_held *holder_of(const struct winsize *size);

#endif
