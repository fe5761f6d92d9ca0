/* SPDX-License-Identifier: Apache-2.0
 *
 * Recognise the prompt of a program in a terminal: a last line without an end that asks for input.
 * A progress bar or "Building... " is none, although its line has no end either.
 */
#ifndef BROKER_IO_PROMPT_H
#define BROKER_IO_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the end of an output that are looked at. */
#define PROMPT_BYTES_MAX 256U

/* Return whether the output of a terminal ends with a prompt. */
bool prompt_is_at_end(const char *bytes, size_t size);

#endif
