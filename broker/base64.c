/* SPDX-License-Identifier: Apache-2.0 */
#include "base64.h"

#include <sodium.h>
#include <stdlib.h>

#include "memory.h"

static void append(struct buffer *to, const void *bytes, size_t size, int variant)
{
	const size_t room = sodium_base64_encoded_len(size, variant);
	char *text = memory_get(room);

	(void)sodium_bin2base64(text, room, bytes, size, variant);
	buffer_append(to, text, room - 1); /* without its end */
	free(text);
}

void base64_append(struct buffer *to, const void *bytes, size_t size)
{
	append(to, bytes, size, sodium_base64_VARIANT_ORIGINAL);
}

void base64_append_url(struct buffer *to, const void *bytes, size_t size)
{
	append(to, bytes, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}
