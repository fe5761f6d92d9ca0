/* SPDX-License-Identifier: Apache-2.0 */
#include "http/redact.h"

#include <openssl/crypto.h>
#include <string.h>

#define NOWHERE SIZE_MAX

/* The next place of each needle in the bytes. */
struct search {
	const struct needle *needles;
	uint32_t count;
	size_t next[SECRETS_NEEDLES_MAX];
};

static void look_further(struct search *search, const struct redact *redact, uint32_t needle,
			 size_t from)
{
	const struct slice text = search->needles[needle].text;
	const char *place =
		memmem(redact->bytes + from, redact->size - from, text.bytes, text.size);

	search->next[needle] = place ? (size_t)(place - redact->bytes) : NOWHERE;
}

/* Return the needle that begins first, or NOWHERE. */
static size_t first_of(const struct search *search, uint32_t *ret_needle)
{
	size_t first = NOWHERE;

	for (uint32_t i = 0; i < search->count; i++) {
		if (search->next[i] < first) {
			first = search->next[i];
			*ret_needle = i;
		}
	}
	return first;
}

/* Return how many bytes at the end may be the beginning of a needle. */
static size_t count_waiting(const struct search *search, const struct redact *redact)
{
	size_t longest = 0;

	for (uint32_t i = 0; i < search->count; i++) {
		const struct slice text = search->needles[i].text;
		size_t size = text.size - 1 < redact->size ? text.size - 1 : redact->size;

		while (size > longest &&
		       memcmp(redact->bytes + redact->size - size, text.bytes, size) != 0)
			size--;
		longest = size > longest ? size : longest;
	}
	return longest;
}

/* Append the bytes up to those that wait. A needle that begins before them may end among them. */
static void settle(struct redact *redact, bool is_end, struct buffer *ret)
{
	struct search search;
	size_t end = redact->covered; /* of the needles so far */
	size_t limit, at;
	uint32_t needle = 0;

	search.count = secrets_needles(&search.needles);
	for (uint32_t i = 0; i < search.count; i++)
		look_further(&search, redact, i, 0);
	limit = redact->size - (is_end ? 0 : count_waiting(&search, redact));
	for (at = first_of(&search, &needle); at < limit; at = first_of(&search, &needle)) {
		const struct needle *found = &search.needles[needle];

		if (at >= end) {
			buffer_append(ret, redact->bytes + end, at - end);
			buffer_append(ret, found->placeholder.bytes, found->placeholder.size);
		}
		if (at + found->text.size > end)
			end = at + found->text.size;
		look_further(&search, redact, needle, at + 1);
	}
	if (end < limit)
		buffer_append(ret, redact->bytes + end, limit - end);
	redact->covered = end > limit ? end - limit : 0;
	memmove(redact->bytes, redact->bytes + limit, redact->size - limit);
	redact->size -= limit;
}

void redact_begin(struct redact *redact)
{
	redact->size = redact->covered = 0;
}

void redact_take(struct redact *redact, struct slice bytes, struct buffer *ret)
{
	while (bytes.size > 0) {
		const size_t room = sizeof(redact->bytes) - redact->size;
		const size_t size = bytes.size < room ? bytes.size : room;

		memcpy(redact->bytes + redact->size, bytes.bytes, size);
		redact->size += size;
		bytes = (struct slice){ bytes.bytes + size, bytes.size - size };
		settle(redact, false, ret);
	}
}

void redact_end(struct redact *redact, struct buffer *ret)
{
	settle(redact, true, ret);
}

void redact_clean(struct redact *redact)
{
	OPENSSL_cleanse(redact, sizeof(*redact));
}
