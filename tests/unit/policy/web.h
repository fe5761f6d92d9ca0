/* SPDX-License-Identifier: Apache-2.0
 *
 * A file with a profile "web", loaded beside the built-in profiles, and questions about it.
 */
#ifndef TESTS_UNIT_POLICY_WEB_H
#define TESTS_UNIT_POLICY_WEB_H

#include "policy/decide/decide.h"
#include "support.h"

#include <stdbool.h>

extern struct policy_error mistake;
extern struct builtin loaded;

/* Load the built-in profiles and a file. False: *mistake says why. */
bool load_file(const char *text);

/* Load a file whose profile "web" has these keys, from line 5 on. */
bool load(const char *keys);
void unload(void);

/* Compile what was loaded; load and compile. */
void compile_loaded(bool is_loaded);
void compile(const char *keys);

void expect_shown(const char *part);
void expect_answer(const char *text, enum decision_answer answer, int errno_seen,
		   const char *printed);
/* Decide, and return the right to approve the host of the refusal. */
enum plan_host_approval approval_of(const char *text);
const struct plan_profile *find_compiled(const char *name);

/* Return the value of a variable of a profile; "" if it has none. */
const char *find_variable(const char *profile_name, const char *name);

#endif
