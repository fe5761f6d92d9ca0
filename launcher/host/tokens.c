/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/tokens.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

#include "common/sha256.h"
#include "common/text/format.h"

#define DIGEST_SIZE (TOKEN_DIGEST_MAX - 1)
#define RANDOM_BYTES 32

/* How a line that was revoked begins; dots follow. No mixture of it and a token's line, which a
 * reader may see for a moment, is a token that somebody has. */
#define BLANK "#revoked"
#define BLANK_SIZE (sizeof(BLANK) - 1)

static bool is_of(char c, const char *ranges)
{
	for (; ranges[0] != '\0'; ranges += 2) {
		if (c >= ranges[0] && c <= ranges[1])
			return true;
	}
	return false;
}

static bool are_of(const char *text, size_t size, const char *ranges)
{
	for (size_t i = 0; i < size; i++) {
		if (!is_of(text[i], ranges))
			return false;
	}
	return true;
}

bool token_name_is_good(const char *name, size_t size)
{
	return size > 0 && size < TOKEN_NAME_MAX && are_of(name, size, "AZaz09..__--");
}

static bool is_token(const char *text, size_t size)
{
	const size_t name = size > DIGEST_SIZE ? size - DIGEST_SIZE - 1 : 0;

	return token_name_is_good(text, name) && text[name] == ' ' &&
	       are_of(text + name + 1, DIGEST_SIZE, "09af");
}

static bool is_blank(const char *text, size_t size)
{
	return size > BLANK_SIZE && size <= TOKEN_LINE_MAX &&
	       memcmp(text, BLANK, BLANK_SIZE) == 0 &&
	       are_of(text + BLANK_SIZE, size - BLANK_SIZE, "..");
}

bool token_line_read(const struct tokens *tokens, size_t at, struct token_line *ret)
{
	const char *text = tokens->text + at;
	const size_t rest = at < tokens->size ? tokens->size - at : 0;
	const char *end = rest > 0 ? memchr(text, '\n', rest) : NULL;

	if (rest == 0)
		return false;
	*ret = (struct token_line){ .kind = TOKEN_LINE_WRONG,
				    .at = at,
				    .size = end ? (size_t)(end - text) : rest };
	if (is_token(text, ret->size)) {
		ret->kind = TOKEN_LINE_TOKEN;
		ret->name_size = ret->size - DIGEST_SIZE - 1;
	} else if (is_blank(text, ret->size)) {
		ret->kind = TOKEN_LINE_FREE;
	} else if (ret->size == 0 || text[0] == '#') {
		ret->kind = TOKEN_LINE_NOTE;
	}
	return true;
}

size_t token_line_next(const struct token_line *line)
{
	return line->at + line->size + 1;
}

bool tokens_find(const struct tokens *tokens, const char *name, struct token_line *ret)
{
	struct token_line line;

	for (size_t at = 0; token_line_read(tokens, at, &line); at = token_line_next(&line)) {
		if (line.kind == TOKEN_LINE_TOKEN && line.name_size == strlen(name) &&
		    memcmp(tokens->text + line.at, name, line.name_size) == 0) {
			*ret = line;
			return true;
		}
	}
	return false;
}

size_t tokens_count(const struct tokens *tokens)
{
	struct token_line line;
	size_t count = 0;

	for (size_t at = 0; token_line_read(tokens, at, &line); at = token_line_next(&line))
		count += line.kind == TOKEN_LINE_TOKEN;
	return count;
}

void token_line_blank(const struct token_line *line, char *ret)
{
	memset(ret, '.', line->size);
	memcpy(ret, BLANK, BLANK_SIZE); /* a token's line is longer */
}

int token_generate(char ret[TOKEN_MAX])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	static const char prefix[] = "msp_";
	uint8_t random[RANDOM_BYTES + 1] = { 0 }; /* 43 digits of 6 bits hold 2 bits more */
	ssize_t got;
	char *to = ret;

	do {
		got = getrandom(random, RANDOM_BYTES, 0);
	} while (got < 0 && errno == EINTR);
	if (got != RANDOM_BYTES)
		return got < 0 ? -errno : -EIO;
	memcpy(to, prefix, sizeof(prefix) - 1);
	to += sizeof(prefix) - 1;
	for (size_t bit = 0; bit < (size_t)RANDOM_BYTES * 8; bit += 6) {
		const unsigned int two = (unsigned int)random[bit / 8] << 8 | random[bit / 8 + 1];

		*to++ = digits[two >> (10 - bit % 8) & 63];
	}
	*to = '\0';
	explicit_bzero(random, sizeof(random));
	return 0;
}

void token_digest(const char *token, char ret[TOKEN_DIGEST_MAX])
{
	uint8_t bytes[SHA256_BYTES];

	sha256(token, strlen(token), bytes);
	format_hex(bytes, sizeof(bytes), ret);
}
