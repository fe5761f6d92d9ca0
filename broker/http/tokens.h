/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may use the server: the token file. It holds the names of tokens and the hashes of their
 * texts, one "NAME SHA256" per line; it is read through the descriptor that the process was given,
 * again when it changed. A line that says anything else admits nobody.
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
	bool are_needed; /* false: everybody who can reach the socket is let in, as principal 0 */
	bool is_settled; /* what was read cannot have been followed by an unseen change */
	bool is_gone;    /* the file was replaced: said once */
	bool was_bad;    /* a line was ignored: said once per content */
	struct timespec changed;
	off_t size;
	uint32_t count;
	struct token rows[TOKENS_MAX];
	uint32_t name_count;
	char (*names)[TOKEN_NAME_MAX + 1]; /* of principal n + 1; they stay while we live */
};

/*
 * `fd`: a regular file, or /dev/null where no token is needed. 0, or -EINVAL: it is neither. The
 * library of the hashes must have been started.
 */
int tokens_open(struct tokens *tokens, int fd);
void tokens_close(struct tokens *tokens);

/* Read the file again if it changed. */
void tokens_refresh(struct tokens *tokens);

/* Whose token is this text? False: nobody's; of two, the first one's. Takes the same time whoever's
 * it is. */
bool tokens_find(const struct tokens *tokens, const char *text, uint32_t *ret_principal);

/* The name of the token that proved somebody to be `principal`; NULL: there is none. */
const char *tokens_name(const struct tokens *tokens, uint32_t principal);

/* May who proved to be `principal` still be served? */
bool tokens_admit(const struct tokens *tokens, uint32_t principal);

#endif
