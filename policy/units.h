/* SPDX-License-Identifier: Apache-2.0
 *
 * Values with units, as a policy file writes them. Each function is exact: no sign, no blanks, no
 * fraction, no overflow, nothing behind the unit.
 */
#ifndef POLICY_UNITS_H
#define POLICY_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* "512", "64K", "2G": bytes, powers of 1024. */
bool units_size(const char *text, uint64_t *ret_bytes);

/* "500ms", "60s", "10m", "1h", "7d": milliseconds. */
bool units_duration(const char *text, uint64_t *ret_ms);

/* "250". */
bool units_number(const char *text, uint64_t *ret);

/* "1777": octal, at most 07777. */
bool units_mode(const char *text, uint32_t *ret);

/* The shortest text that reads back as the same value; 32 bytes are enough. */
void units_print_size(uint64_t bytes, char ret[32]);
void units_print_duration(uint64_t ms, char ret[32]);

#endif
