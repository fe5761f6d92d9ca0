/* SPDX-License-Identifier: Apache-2.0
 *
 * Base 64 as RFC 4648 has it.
 */
#ifndef BROKER_BASE64_H
#define BROKER_BASE64_H

#include "buffer.h"

/* With padding. */
void base64_append(struct buffer *to, const void *bytes, size_t size);

/* With the alphabet for URLs, without padding. */
void base64_append_url(struct buffer *to, const void *bytes, size_t size);

#endif
