/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of the compiler: errors for people, and the hash by which a text is found again.
 */
#ifndef POLICY_READ_TEXT_H
#define POLICY_READ_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* One sentence: the place, the fault, the expected value. */
struct policy_error {
	char text[1024];
};

/* Replace control characters that were quoted from a file, so that the error stays one line. */
void policy_error_tidy(struct policy_error *error);

/* Compute the FNV-1a hash. */
uint32_t bytes_hash(const char *bytes, size_t size);

#endif
