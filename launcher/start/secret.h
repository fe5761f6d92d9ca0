/* SPDX-License-Identifier: Apache-2.0
 *
 * The value of a secret, read from its source: it goes to msp-http in a memory file, and is shown
 * to nobody.
 */
#ifndef LAUNCHER_START_SECRET_H
#define LAUNCHER_START_SECRET_H

#include <stddef.h>

#include "common/plan/plan.h"

#define SECRET_TEXT_MAX 512

/*
 * Read the value: the source without a newline at its end. A sealed memory file, the caller's, with
 * its size in *ret_size; or -1 with a line in `text`: the name of the secret, the rule that its
 * source breaks, and the remedy.
 */
int secret_read(const struct plan_secret *secret, size_t *ret_size, char text[SECRET_TEXT_MAX]);

/* Print the source for people: "file ~/.config/gh/token". */
void secret_print_source(const struct plan_secret *secret, char text[SECRET_TEXT_MAX]);

#endif
