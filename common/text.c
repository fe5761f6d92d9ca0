/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text.h"

#include <stdlib.h>
#include <string.h>

void text_add(struct text *text, const char *string)
{
	const size_t size = strlen(string);

	if (size >= sizeof(text->bytes) - text->used)
		abort();
	memcpy(text->bytes + text->used, string, size + 1);
	text->used += size;
}

void text_add_number(struct text *text, uint64_t number)
{
	char digits[TEXT_NUMBER_MAX];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	text_add(text, digits + at);
}
