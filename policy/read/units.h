/* SPDX-License-Identifier: Apache-2.0
 *
 * Values with units, as policy files and options write them. Each function refuses signs, blanks,
 * overflow, and text behind the unit; all but units_time() refuse fractions.
 */
#ifndef POLICY_READ_UNITS_H
#define POLICY_READ_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Parse bytes with powers of 1024: "512", "64K", "2G". */
bool units_size(const char *text, uint64_t *ret_bytes);

/* Parse a duration into milliseconds: "500ms", "60s", "10m", "1h", "7d". */
bool units_duration(const char *text, uint64_t *ret_ms);

/* Parse a time of an option into milliseconds, rounded up: a duration, which may have a fraction,
 * or seconds without a unit: "1.5s", ".5m", "10". */
bool units_time(const char *text, uint64_t *ret_ms);

/* Parse a number, such as "250". */
bool units_number(const char *text, uint64_t *ret);

/* Parse an octal mode, such as "1777", at most 07777. */
bool units_mode(const char *text, uint32_t *ret);

/* Print the shortest text that parses to the same value; 32 bytes are enough. */
void units_print_size(uint64_t bytes, char ret[32]);
void units_print_duration(uint64_t ms, char ret[32]);

#endif
