/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/redact.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#define COVER '*'
#define FILTER_BITS 16U

/* The index of the needles: a hash of the last `window` bytes of each, which rolls over a stream
 * (Rabin and Karp). Its factor is secret, so that no text can be made for it. */
static struct {
	uint64_t version;
	size_t window;                          /* no needle is shorter */
	uint64_t factor, gone[256];             /* a byte's share when it leaves the window */
	uint64_t hashes[SECRETS_NEEDLES_MAX];   /* the needles' */
	uint8_t filter[1U << FILTER_BITS >> 3]; /* the first bits of their hashes */
} search;

static void build_search(const struct needles *needles)
{
	uint64_t power = 1;

	if (RAND_bytes((unsigned char *)&search.factor, sizeof(search.factor)) != 1)
		abort();
	search.factor |= 1;
	search.version = needles->version;
	search.window = needles->shortest;
	memset(search.filter, 0, sizeof(search.filter));
	for (size_t i = 0; i < search.window && needles->count > 0; i++)
		power *= search.factor;
	for (unsigned int i = 0; i < 256; i++)
		search.gone[i] = power * (i + 1);
	for (uint32_t i = 0; i < needles->count; i++) {
		const struct slice text = needles->rows[i].text;
		uint64_t hash = 0;

		for (size_t at = text.size - search.window; at < text.size; at++)
			hash = hash * search.factor + (unsigned char)text.bytes[at] + 1;
		search.hashes[i] = hash;
		hash >>= 64 - FILTER_BITS;
		search.filter[hash / 8] |= (uint8_t)(1U << hash % 8);
	}
}

static void cover_shared(struct redact *redact, size_t at)
{
	const char byte = redact->bytes[at];

	if (isalnum((unsigned char)byte) || (byte != '\0' && strchr("+/-_", byte) != NULL))
		redact->shown[at] = COVER;
}

/* Cover a needle that ends before `end`. */
static void cover_needle(struct redact *redact, const struct needle *needle, size_t end)
{
	const size_t size = needle->text.size;
	const size_t named = size < needle->placeholder.size ? size : needle->placeholder.size;
	char *shown = redact->shown + end - size;

	memcpy(shown, needle->placeholder.bytes, named);
	memset(shown + named, COVER, size - named);
	if ((needle->edges & NEEDLE_SHARES_BEFORE) != 0 && end > size)
		cover_shared(redact, end - size - 1);
	if ((needle->edges & NEEDLE_SHARES_AFTER) != 0 && end < redact->size)
		cover_shared(redact, end);
	redact->is_next_shared |= (needle->edges & NEEDLE_SHARES_AFTER) != 0 && end == redact->size;
}

/* Cover the needles that end before `end`, where the window has the hash. */
static void cover_needles(struct redact *redact, const struct needles *needles, size_t end,
			  uint64_t hash)
{
	for (uint32_t i = 0; i < needles->count; i++) {
		const struct slice text = needles->rows[i].text;

		if (search.hashes[i] == hash && text.size <= end &&
		    CRYPTO_memcmp(redact->bytes + end - text.size, text.bytes, text.size) == 0)
			cover_needle(redact, &needles->rows[i], end);
	}
}

static bool is_in_filter(uint64_t hash)
{
	const uint64_t place = hash >> (64 - FILTER_BITS);

	return (search.filter[place / 8] >> place % 8 & 1) != 0;
}

/* Look for needles that end in the bytes from `from` on. */
static void look_through(struct redact *redact, const struct needles *needles, size_t from)
{
	const size_t window = search.window;
	const uint64_t factor = search.factor;
	const char *bytes = redact->bytes;
	uint64_t hash = redact->hash;
	size_t line = redact->line;

	for (size_t i = from; i < redact->size; i++) {
		const unsigned char byte = (unsigned char)bytes[i];
		uint64_t change = byte + 1U;

		if (byte < ' ' || byte > '~') {
			hash = line = 0;
			continue;
		}
		if (++line > window)
			change -= search.gone[(unsigned char)bytes[i - window]];
		hash = hash * factor + change;
		if (line >= window && is_in_filter(hash))
			cover_needles(redact, needles, i + 1, hash);
	}
	redact->hash = hash;
	redact->line = line;
}

/* Append the first bytes, and keep the others. */
static void pass_on(struct redact *redact, size_t size, struct buffer *ret)
{
	buffer_append(ret, redact->shown, size);
	redact->size -= size;
	memmove(redact->bytes, redact->bytes + size, redact->size);
	memmove(redact->shown, redact->shown + size, redact->size);
}

void redact_begin(struct redact *redact)
{
	redact->size = redact->line = 0;
	redact->hash = 0;
	redact->is_next_shared = false;
	redact->version = search.version;
}

static void take_piece(struct redact *redact, const char *bytes, size_t size, struct buffer *ret)
{
	const struct needles *needles = secrets_needles();
	size_t from = redact->size, most;

	if (search.version != needles->version)
		build_search(needles);
	if (redact->version != search.version) {
		redact->version = search.version;
		redact->hash = redact->line = from = 0;
	}
	memcpy(redact->bytes + redact->size, bytes, size);
	memcpy(redact->shown + redact->size, bytes, size);
	if (redact->is_next_shared)
		cover_shared(redact, redact->size);
	redact->is_next_shared = false;
	redact->size += size;
	look_through(redact, needles, from);
	most = SECRETS_GROWTH * needles->longest;
	most = redact->line < most ? redact->line : most;
	if (redact->size > most)
		pass_on(redact, redact->size - most, ret);
}

void redact_take(struct redact *redact, struct slice bytes, struct buffer *ret)
{
	while (bytes.size > 0) {
		const size_t size = bytes.size < REDACT_PIECE ? bytes.size : REDACT_PIECE;

		take_piece(redact, bytes.bytes, size, ret);
		bytes = (struct slice){ bytes.bytes + size, bytes.size - size };
	}
}

void redact_end(struct redact *redact, struct buffer *ret)
{
	pass_on(redact, redact->size, ret);
	redact_begin(redact);
}

void redact_clean(struct redact *redact)
{
	OPENSSL_cleanse(redact, sizeof(*redact));
}
