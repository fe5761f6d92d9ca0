/* SPDX-License-Identifier: Apache-2.0 */
#include "show/line_diff.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "show/quote.h"

#define AROUND 3

/* A text whose lines from `first` to before `end` are in the hunk. */
struct side {
	const struct buffer *text;
	size_t first;
	size_t end;
	size_t count;
};

static size_t count_lines(const struct buffer *text)
{
	size_t count = text->size > 0 && text->bytes[text->size - 1] != '\n';

	for (size_t i = 0; i < text->size; i++)
		count += text->bytes[i] == '\n';
	return count;
}

/* Return the line at *at without its end, which *at is moved behind. */
static const char *take_line(const struct buffer *text, size_t *at, size_t *ret_size)
{
	const char *line = text->bytes + *at;
	const char *end = memchr(line, '\n', text->size - *at);

	*ret_size = end ? (size_t)(end - line) : text->size - *at;
	*at += *ret_size + (end ? 1 : 0);
	return line;
}

/* Return the number of lines that both texts begin with. */
static size_t count_same(const struct buffer *old, const struct buffer *now)
{
	size_t line = 0;
	size_t i;

	for (i = 0; i < old->size && i < now->size && old->bytes[i] == now->bytes[i]; i++)
		line += old->bytes[i] == '\n';
	return line;
}

/* Return the number of lines that both end with, behind `first` lines at their beginning. */
static size_t count_same_end(const struct side *old, const struct side *now)
{
	const size_t most = (old->count < now->count ? old->count : now->count) - old->first;
	const char *one = old->text->bytes + old->text->size;
	const char *two = now->text->bytes + now->text->size;
	size_t lines = 0;
	size_t i;

	for (i = 1; i <= old->text->size && i <= now->text->size && *(one - i) == *(two - i); i++)
		lines += i > 1 && *(one - i) == '\n';
	return lines < most ? lines : most;
}

static void print_lines(const struct buffer *text, size_t first, size_t end, char mark)
{
	const char *line;
	size_t at = 0;
	size_t size;

	for (size_t i = 0; i < end && at < text->size; i++) {
		line = take_line(text, &at, &size);
		if (i < first)
			continue;
		size -= size > 0 && line[size - 1] == '\r';
		(void)putchar(mark);
		quote_print_text(line, size, true);
		(void)putchar('\n');
	}
}

void line_diff_print(const struct buffer *old, const struct buffer *now)
{
	struct side before = { .text = old, .count = count_lines(old) };
	struct side after = { .text = now, .count = count_lines(now) };
	size_t same_end;
	size_t from;

	before.first = count_same(old, now);
	after.first = before.first;
	same_end = count_same_end(&before, &after);
	before.end = before.count - same_end;
	after.end = after.count - same_end;
	from = before.first > AROUND ? before.first - AROUND : 0;
	(void)printf("@@ line %zu @@\n", before.first + 1);
	print_lines(old, from, before.first, ' ');
	print_lines(old, before.first, before.end, '-');
	print_lines(now, after.first, after.end, '+');
	print_lines(now, after.end, after.end + AROUND, ' ');
}
