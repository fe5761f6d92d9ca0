/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes and times as a person reads them.
 */
#ifndef CLI_SHOW_FIGURES_H
#define CLI_SHOW_FIGURES_H

#include <stdint.h>

#define FIGURES_TEXT_MAX 32

/* Such as "812 B", "4.0 KiB", "12 MiB". */
const char *figures_bytes(uint64_t bytes, char text[FIGURES_TEXT_MAX]);

/* A span of time in its largest unit: "40 s", "12 min", "3 h", "6 days". */
const char *figures_span(uint64_t seconds, char text[FIGURES_TEXT_MAX]);

/* A moment, both by the real clock: "3 min ago", "in 6 days", "now". */
const char *figures_moment(uint64_t moment_s, uint64_t now_s, char text[FIGURES_TEXT_MAX]);

#endif
