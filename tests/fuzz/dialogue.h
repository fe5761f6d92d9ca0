/* SPDX-License-Identifier: Apache-2.0
 *
 * What was said between a client and the broker, as far as it binds the broker: each id that was
 * sent is answered at most once for each time, no other one is, progress rises, and nothing is said
 * about a call after its answer. Breaking one of these is a finding.
 */
#ifndef TESTS_FUZZ_DIALOGUE_H
#define TESTS_FUZZ_DIALOGUE_H

#include <stddef.h>

/* Forget everything. */
void dialogue_reset(void);

/* The client sent this line. */
void dialogue_said(const void *line, size_t size);

/* The broker sent this one. */
void dialogue_heard(const char *line);

#endif
