/* SPDX-License-Identifier: Apache-2.0
 *
 * Running msp-policy, the only program that reads configurations.
 */
#ifndef LAUNCHER_START_COMPILE_H
#define LAUNCHER_START_COMPILE_H

#include "launcher/start/config.h"

/* The input is a file, or "" for the built-in profiles alone, and directories, or NULL: of the
 * images, of the packages' configuration, of the virtual machine, and of kept binds. */
struct compile_input {
	const char *path, *images, *packages, *machine, *kept;
};

/* A sealed descriptor of the plan, which is the caller's; or -1 and in `text` what msp-policy says
 * is wrong. */
int compile_config(const struct compile_input *input, char text[CONFIG_TEXT_MAX]);

/* Return the home that ~ means in a configuration; NULL: as root, or without a home. */
const char *compile_home(void);

/* Become msp-policy with these words, NULL at their end. Returns only on failure: the exit code,
 * with a line in `text`. */
int compile_become(char *const words[], char text[CONFIG_TEXT_MAX]);

#endif
