/* SPDX-License-Identifier: Apache-2.0
 *
 * The token file: the permission to use the server. It holds one "NAME SHA256" per line, the hash
 * of a token's text. It is read through a descriptor that the process was given, and read again
 * when it changed. Any other line admits no client.
 */
#ifndef BROKER_HTTP_TOKENS_H
#define BROKER_HTTP_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define TOKENS_MAX 256U
#define TOKEN_FILE_BYTES_MAX ((size_t)64 << 10)
#define TOKEN_NAME_MAX 63U
#define TOKEN_HASH_BYTES 32U

struct token {
	uint32_t principal;
	unsigned char hash[TOKEN_HASH_BYTES];
};

struct tokens {
	int fd;          /* not owned */
	bool are_needed; /* false: every client that can connect is served, as principal 0 */
	bool is_settled; /* no change since the last reading can have gone unnoticed */
	bool is_gone;    /* the file was replaced, which was reported */
	bool was_bad;    /* a line was ignored, which is reported once per content */
	struct timespec changed;
	off_t size;
	uint32_t count;
	struct token rows[TOKENS_MAX];
	uint32_t name_count;
	char (*names)[TOKEN_NAME_MAX +
		      1]; /* name of principal n + 1; kept until the process ends */
};

/* Open the token file. `fd`: a regular file, or /dev/null if no token is needed. 0, or -EINVAL: it
 * is neither. The library of the hashes must have been started. */
int tokens_open(struct tokens *tokens, int fd);
void tokens_close(struct tokens *tokens);

/* Read the file again if it changed. */
void tokens_refresh(struct tokens *tokens);

/* Find the principal of a token in constant time. The first matching row wins. False: unknown. */
bool tokens_find(const struct tokens *tokens, const char *text, uint32_t *ret_principal);

/* Return the name of the token that identified `principal`; NULL: there is none. */
const char *tokens_name(const struct tokens *tokens, uint32_t principal);

/* Return true if `principal` may still be served. */
bool tokens_admit(const struct tokens *tokens, uint32_t principal);

#endif
