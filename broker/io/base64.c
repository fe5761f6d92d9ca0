/* SPDX-License-Identifier: Apache-2.0 */
#include "io/base64.h"

#include <sodium.h>
#include <stdlib.h>

#include "heap/memory.h"

static void append_variant(struct buffer *to, const void *bytes, size_t size, int variant)
{
	const size_t room = sodium_base64_encoded_len(size, variant);
	char *text = memory_get(room);

	(void)sodium_bin2base64(text, room, bytes, size, variant);
	buffer_append(to, text, room - 1); /* without its terminator */
	free(text);
}

void base64_append(struct buffer *to, const void *bytes, size_t size)
{
	append_variant(to, bytes, size, sodium_base64_VARIANT_ORIGINAL);
}

void base64_append_url(struct buffer *to, const void *bytes, size_t size)
{
	append_variant(to, bytes, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool base64_decode(struct buffer *to, const char *text, size_t size)
{
	const size_t room = size / 4 * 3 + 3;
	char *bytes = memory_get(room);
	size_t got = 0;
	const bool is_good = sodium_base642bin((unsigned char *)bytes, room, text, size, " \t\r\n",
					       &got, NULL, sodium_base64_VARIANT_ORIGINAL) == 0;

	if (is_good)
		buffer_append(to, bytes, got);
	free(bytes);
	return is_good;
}
