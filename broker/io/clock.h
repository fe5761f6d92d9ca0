/* SPDX-License-Identifier: Apache-2.0
 *
 * The two clocks: a monotonic one for waiting, and the time of day for showing.
 */
#ifndef BROKER_IO_CLOCK_H
#define BROKER_IO_CLOCK_H

#include <stdint.h>

#include "frontend/json_write.h"
#include "lib/heap/buffer.h"

/* Return milliseconds since an arbitrary start. */
int64_t clock_steady_ms(void);

/* Return milliseconds since 1970. */
int64_t clock_date_ms(void);

/* Append 2026-07-28T12:00:00.000Z (RFC 3339), for `date_ms` from 1970 to 9999. The C library
 * reads a file for it, unless tzset() was called before. */
void clock_append_date(struct buffer *text, int64_t date_ms);
void clock_put_date(struct json_writer *writer, const char *key, int64_t date_ms);

#endif
