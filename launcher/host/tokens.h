/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens that admit clients to an HTTP server, as text. A file has one in each line,
 *
 *   NAME SHA256
 *
 * where SHA256 is that of the token's own text, which is shown once and kept nowhere. Empty lines
 * and lines that begin with '#' say nothing; any other line is wrong and admits nobody. A running
 * broker reads the file while it is changed, so every change is such that what is half done admits
 * nobody either: see token_file.h.
 */
#ifndef LAUNCHER_HOST_TOKENS_H
#define LAUNCHER_HOST_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

/* Most bytes that the broker reads; far beyond the tokens of one user's clients. */
#define TOKENS_BYTES_MAX 65536
#define TOKENS_MAX 256

#define TOKEN_NAME_MAX 64   /* with its NUL */
#define TOKEN_DIGEST_MAX 65 /* with its NUL: 64 lower-case hexadecimal digits */
#define TOKEN_LINE_MAX 128  /* without its newline */
#define TOKEN_MAX 48        /* with its NUL: "msp_" and 43 digits of base64url, 256 random bits */

enum token_line_kind {
	TOKEN_LINE_TOKEN,
	TOKEN_LINE_NOTE, /* empty, or a comment */
	TOKEN_LINE_FREE, /* held a token that was revoked: may be used again */
	TOKEN_LINE_WRONG,
};

struct token_line {
	enum token_line_kind kind;
	size_t at;
	size_t size;      /* without the newline */
	size_t name_size; /* TOKEN: the name is at the line's begin */
};

/* The content of a file. */
struct tokens {
	size_t size;
	char text[TOKENS_BYTES_MAX];
};

/* Letters, digits, '.', '_' and '-', 1 to 63 of them. */
bool token_name_is_good(const char *name, size_t size);

/* The line that begins at `at`; false: the file ends there. The next begins at
 * token_line_next(). */
bool token_line_read(const struct tokens *tokens, size_t at, struct token_line *ret);
size_t token_line_next(const struct token_line *line);

/* The first token of this name. */
bool tokens_find(const struct tokens *tokens, const char *name, struct token_line *ret);

/* How many there are. */
size_t tokens_count(const struct tokens *tokens);

/* Write the bytes that overwrite `line` when its token is revoked: as many. */
void token_line_blank(const struct token_line *line, char *ret);

/* A new one from the kernel's random numbers. 0 or -errno. */
int token_generate(char ret[TOKEN_MAX]);

/* Compute the digest of a token, as in the file. */
void token_digest(const char *token, char ret[TOKEN_DIGEST_MAX]);

#endif
