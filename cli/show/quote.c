/* SPDX-License-Identifier: Apache-2.0 */
#include "show/quote.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "common/format.h"
#include "frontend/quote.h"
#include "frontend/utf8.h"

const char *quote_shown(const void *path, size_t size)
{
	static struct buffer text;

	text.size = 0;
	quote_path(&text, QUOTE_ASCII, path, size);
	return text.bytes;
}

/* U+0080 to U+009F, which some terminals obey. */
static bool is_c1(uint32_t code_point)
{
	return code_point >= 0x80 && code_point < 0xa0;
}

void quote_print_text(const void *text, size_t size, bool is_judged)
{
	const char *bytes = text;
	size_t length;

	for (size_t i = 0; i < size; i += length) {
		const char *at = bytes + i;
		const unsigned char first = (unsigned char)*at;
		uint32_t code_point = 0;

		length = utf8_length(at, size - i);
		if (length > 1)
			code_point = utf8_read(at, length);
		if (length == 0)
			(void)printf("<%02X>", first);
		else if (is_c1(code_point) || (is_judged && utf8_is_hidden(at, length)))
			(void)printf("<U+%04" PRIX32 ">", code_point);
		else if (length == 1 && first != '\t' && (first < ' ' || first == 0x7f))
			(void)printf("^%c", first ^ 0x40);
		else
			(void)fwrite(at, 1, length, stdout);
		length = length ? length : 1;
	}
}
