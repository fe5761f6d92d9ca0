/* SPDX-License-Identifier: Apache-2.0 */
#include "show/words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "show/quote.h"

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

void words_print(const char *argv, size_t size)
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
