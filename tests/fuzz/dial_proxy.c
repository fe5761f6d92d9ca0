/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a proxy's answer. Properties: no byte behind the given ones is read; the parts in
 * which it comes make no difference; an answer is used to the end of its head and not beyond.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/dial/proxy.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Read in parts of at most `part` bytes. *ret_used: the bytes of the head. */
static enum proxy_state read_in_parts(const uint8_t *data, size_t size, size_t part,
				      size_t *ret_used)
{
	struct proxy_answer answer = { .size = 0 };
	enum proxy_state state = PROXY_WAITS;
	size_t at = 0, used = 0;

	while (state == PROXY_WAITS && at < size) {
		const size_t next = size - at < part ? size - at : part;
		uint8_t *bytes = property_copy(data + at, next);

		state = proxy_read(&answer, (const char *)bytes, next, &used);
		free(bytes);
		must(used <= next && (state != PROXY_WAITS || used == next));
		at += used;
	}
	must(answer.size == at && at <= PROXY_HEAD_MAX);
	*ret_used = at;
	return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t used, used_in_parts;
	const enum proxy_state state = read_in_parts(data, size, size + 1, &used);

	must(read_in_parts(data, size, 1, &used_in_parts) == state && used_in_parts == used);
	must(read_in_parts(data, size, 7, &used_in_parts) == state && used_in_parts == used);
	if (state == PROXY_OPEN || state == PROXY_REFUSED || state == PROXY_LOGIN) {
		must(used >= 16 && memcmp(data, "HTTP/1.", 7) == 0);
		must(memcmp(data + used - 4, "\r\n\r\n", 4) == 0);
		must((state == PROXY_OPEN) == (data[9] == '2'));
	}
	return 0;
}
