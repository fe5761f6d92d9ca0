/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/opening.h"

#include <string.h>

#define RECORD_TYPE_LAST 24U        /* heartbeat */
#define RECORD_ENCRYPTED_MORE 2048U /* RFC 5246 6.2.3 */

void opening_begin(struct opening *opening)
{
	*opening = (struct opening){ .client.type = MESSAGE_CLIENT_HELLO,
				     .host.type = MESSAGE_SERVER_HELLO };
}

static size_t smaller_size(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* Read the head of a record that is whole. False: it is none. */
static bool read_head(const uint8_t *head, uint32_t *ret_length)
{
	*ret_length = (uint32_t)head[3] << 8 | head[4];
	return head[0] >= RECORD_CIPHERS && head[0] <= RECORD_TYPE_LAST && head[1] == 3 &&
	       *ret_length <= RECORD_MAX + RECORD_ENCRYPTED_MORE;
}

/* Pass records up to one of the handshake, or one whose head is not whole. Set whether other bytes
 * than records come. */
static size_t pass_others(uint32_t *left, const uint8_t *bytes, size_t size, bool *ret_is_other)
{
	size_t at = 0;

	*ret_is_other = false;
	for (;;) {
		const size_t taken = smaller_size(*left, size - at);

		*left -= (uint32_t)taken;
		at += taken;
		if (size - at < RECORD_HEADER || bytes[at] == RECORD_HANDSHAKE)
			return at;
		*ret_is_other = !read_head(bytes + at, left);
		if (*ret_is_other)
			return at;
		at += RECORD_HEADER;
	}
}

/* Pass a hello of the client that is whole and has the name. */
static size_t pass_hello(struct opening *opening, const uint8_t *bytes, size_t size,
			 const char *name, enum hello_verdict *ret)
{
	struct hello_scan *scan = &opening->client;
	char said[HOST_NAME_MAX_SIZE];
	size_t passed;

	*ret = hello_scan(scan, bytes, size);
	if (*ret == HELLO_WHOLE)
		*ret = hello_read(bytes, scan->at, said);
	if (*ret != HELLO_NAMED)
		return 0;
	*ret = strcmp(said, name) == 0 ? HELLO_PART : HELLO_OTHER_NAME;
	passed = scan->at;
	*scan = (struct hello_scan){ .type = MESSAGE_CLIENT_HELLO };
	opening->phase = OPENING_ANSWER;
	return *ret == HELLO_PART ? passed : 0;
}

/* Pass the hello that the host has asked for, and records before it, such as early data. */
static size_t pass_retry(struct opening *opening, const uint8_t *bytes, size_t size,
			 const char *name, enum hello_verdict *ret)
{
	bool is_other;
	size_t at = pass_others(&opening->client_left, bytes, size, &is_other);

	*ret = is_other ? HELLO_OTHER : HELLO_PART;
	if (!is_other && at < size && bytes[at] == RECORD_HANDSHAKE)
		at += pass_hello(opening, bytes + at, size - at, name, ret);
	return at;
}

/* Pass bytes of messages in clear. Return how many, or 0: a hello begins, which no host wants. */
static size_t pass_message(struct opening *opening, const uint8_t *bytes, size_t size)
{
	const size_t taken = smaller_size(opening->message_left, size);
	const uint8_t *head = opening->head;

	opening->message_left -= (uint32_t)taken;
	if (taken > 0)
		return taken;
	opening->head[opening->head_size++] = bytes[0];
	if (head[0] == MESSAGE_CLIENT_HELLO)
		return 0;
	if (opening->head_size == MESSAGE_HEADER) {
		opening->message_left = (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
		opening->head_size = 0;
	}
	return 1;
}

/* Pass bytes of the client's record. Return how many, or 0 as pass_message(). */
static size_t pass_payload(struct opening *opening, const uint8_t *bytes, size_t size)
{
	size_t taken = smaller_size(opening->client_left, size);

	if (opening->is_handshake)
		taken = pass_message(opening, bytes, taken);
	opening->client_left -= (uint32_t)taken;
	return taken;
}

/* Pass the messages before the client's keys, which are in use behind a record of these types: what
 * follows cannot be read. */
static size_t pass_keys(struct opening *opening, const uint8_t *bytes, size_t size,
			enum hello_verdict *ret)
{
	size_t at = 0;

	while (at < size) {
		const bool is_head = opening->client_left == 0;
		size_t taken = RECORD_HEADER;

		if (is_head && (bytes[at] == RECORD_CIPHERS || bytes[at] == RECORD_DATA)) {
			opening->phase = OPENING_OVER;
			return size;
		}
		/* The message's first byte, too: the host hears nothing of a hello. */
		if (is_head && size - at < RECORD_HEADER + (bytes[at] == RECORD_HANDSHAKE))
			return at;
		if (!is_head)
			taken = pass_payload(opening, bytes + at, size - at);
		else if (read_head(bytes + at, &opening->client_left))
			opening->is_handshake = bytes[at] == RECORD_HANDSHAKE;
		else
			taken = 0;
		if (taken == 0) {
			*ret = HELLO_OTHER;
			return at;
		}
		at += taken;
	}
	return at;
}

size_t opening_pass_client(struct opening *opening, const uint8_t *bytes, size_t size,
			   const char *name, enum hello_verdict *ret)
{
	*ret = HELLO_PART;
	if (opening->phase == OPENING_GREETING)
		return pass_hello(opening, bytes, size, name, ret);
	if (opening->phase == OPENING_RETRY)
		return pass_retry(opening, bytes, size, name, ret);
	if (opening->phase == OPENING_KEYS)
		return pass_keys(opening, bytes, size, ret);
	return opening->phase == OPENING_OVER ? size : 0;
}

size_t opening_pass_host(struct opening *opening, const uint8_t *bytes, size_t size)
{
	struct hello_scan *scan = &opening->host;
	enum hello_verdict verdict;
	bool is_other;
	size_t at;

	if (opening->phase > OPENING_RETRY)
		return size;
	at = pass_others(&opening->host_left, bytes, size, &is_other);
	if (is_other) {
		opening->phase = OPENING_MUTE;
		return size;
	}
	/* Behind its question the host has nothing to say before the client's hello. */
	if (opening->phase == OPENING_RETRY || at == size || bytes[at] != RECORD_HANDSHAKE)
		return at;
	verdict = hello_scan(scan, bytes + at, size - at);
	if (verdict == HELLO_PART)
		return at;
	if (verdict != HELLO_WHOLE || !hello_is_retry(bytes + at, scan->at)) {
		opening->phase = verdict == HELLO_WHOLE ? OPENING_KEYS : OPENING_MUTE;
		return size;
	}
	opening->phase = OPENING_RETRY;
	at += scan->at;
	opening->host_left = scan->left;
	*scan = (struct hello_scan){ .type = MESSAGE_SERVER_HELLO };
	return at;
}
