/* SPDX-License-Identifier: Apache-2.0
 *
 * A home directory in a temporary folder, with what one holds, and questions about it.
 */
#ifndef TESTS_PROTECTED_SUPPORT_H
#define TESTS_PROTECTED_SUPPORT_H

#include <stdint.h>

#include "launcher/host/protected.h"

extern char top[64]; /* the temporary folder, canonical */
extern char home[96];
extern struct protected_set set;
extern enum protected_use use; /* WRITTEN, unless a test sets it */

void protected_begin(void);
void protected_end(void);

/* Names are relative to the folder. */
void path_of(const char *name, char path[4096]);
void make_folder(const char *name);
void make_file(const char *name);
void make_link(const char *text, const char *name);

/* Write a list as a set has them: paths of the folder, NULL at the end. Returns its size. */
uint32_t make_list(char room[512], const char *const names[]);

/* Ask about an absolute path, or a name. */
struct protected_answer ask_path(const char *given);
enum protected_verdict ask(const char *name);

#endif
