/* SPDX-License-Identifier: Apache-2.0 */
#include "show/quote.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

/* Print a word as a shell would take it: in single quotes where it needs them. */
static void print_word(const char *word, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=./:,@%";
	bool is_plain = size > 0;

	for (size_t i = 0; i < size; i++)
		is_plain = is_plain && memchr(plain, word[i], sizeof(plain) - 1);
	if (!is_plain)
		(void)putchar('\'');
	for (size_t at = 0, end; at < size; at = end) {
		const char *quote = memchr(word + at, '\'', size - at);

		end = quote ? (size_t)(quote - word) : size;
		quote_print_text(word + at, end - at, true);
		if (quote) {
			(void)fputs("'\\''", stdout);
			end++;
		}
	}
	if (!is_plain)
		(void)putchar('\'');
}

void quote_print_words(const char *argv, size_t size)
{
	for (size_t at = 0, length; at < size; at += length + 1) {
		length = strnlen(argv + at, size - at);
		if (at > 0)
			(void)putchar(' ');
		print_word(argv + at, length);
	}
	if (size > 0 && argv[size - 1] != '\0')
		(void)fputs(" ...", stdout);
}
