/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/hello.h"

#include <stdbool.h>
#include <string.h>

#define RANDOM_SIZE 32U
#define EXTENSION_SERVER_NAME 0U
#define EXTENSION_ECH 0xfe0dU        /* RFC 9849 */
#define EXTENSION_ECH_DRAFTS 0xfe08U /* the numbers of its drafts begin here */
#define EXTENSION_ESNI 0xffceU       /* its forerunner */
#define NAME_HOST 0U

/* The rest of some bytes; a reader that needs more than there are makes it broken. */
struct rest {
	const uint8_t *bytes;
	size_t size;
	bool is_broken;
};

static const uint8_t *take_bytes(struct rest *rest, size_t size)
{
	const uint8_t *bytes = rest->bytes;

	if (size > rest->size) {
		*rest = (struct rest){ .bytes = bytes, .is_broken = true };
		return NULL;
	}
	if (size > 0) /* a vector that is not there has no address to add to */
		rest->bytes += size;
	rest->size -= size;
	return bytes;
}

/* Take a number of 1 to 3 bytes. 0 if it is not there. */
static uint32_t take_number(struct rest *rest, size_t size)
{
	const uint8_t *bytes = take_bytes(rest, size);
	uint32_t number = 0;

	for (size_t i = 0; bytes != NULL && i < size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Take a vector: its length in `size` bytes, then its bytes. */
static struct rest take_vector(struct rest *rest, size_t size)
{
	const uint32_t length = take_number(rest, size);
	const uint8_t *bytes = take_bytes(rest, length);

	return (struct rest){ .bytes = bytes,
			      .size = bytes != NULL ? length : 0,
			      .is_broken = rest->is_broken };
}

/* Read the extension's list, which has one name of a host. */
static enum hello_verdict read_server_name(struct rest extension, char ret[HOST_NAME_MAX_SIZE])
{
	struct rest list = take_vector(&extension, 2);
	const uint32_t type = take_number(&list, 1);
	const struct rest name = take_vector(&list, 2);

	if (list.is_broken || list.size != 0 || extension.size != 0 || type != NAME_HOST ||
	    host_name_read((const char *)name.bytes, name.size, ret) != HOST_SOUND)
		return HELLO_MALFORMED;
	return HELLO_NAMED;
}

static enum hello_verdict read_extensions(struct rest list, char ret[HOST_NAME_MAX_SIZE])
{
	enum hello_verdict verdict = HELLO_NAMELESS;
	bool is_encrypted = false;

	while (list.size > 0) {
		const uint32_t type = take_number(&list, 2);
		const struct rest extension = take_vector(&list, 2);

		if (list.is_broken)
			return HELLO_MALFORMED;
		is_encrypted |= type == EXTENSION_ESNI ||
				(type >= EXTENSION_ECH_DRAFTS && type <= EXTENSION_ECH);
		if (type != EXTENSION_SERVER_NAME)
			continue;
		if (verdict == HELLO_NAMED) /* twice: the server may take the other one */
			return HELLO_MALFORMED;
		verdict = read_server_name(extension, ret);
		if (verdict != HELLO_NAMED)
			return verdict;
	}
	return is_encrypted ? HELLO_ENCRYPTED : verdict;
}

static enum hello_verdict read_hello(struct rest hello, char ret[HOST_NAME_MAX_SIZE])
{
	struct rest extensions;

	(void)take_bytes(&hello, 2 + RANDOM_SIZE);
	(void)take_vector(&hello, 1); /* session */
	(void)take_vector(&hello, 2); /* ciphers */
	(void)take_vector(&hello, 1); /* compressions */
	if (hello.is_broken)
		return HELLO_MALFORMED;
	if (hello.size == 0)
		return HELLO_NAMELESS;
	extensions = take_vector(&hello, 2);
	if (extensions.is_broken || hello.size != 0)
		return HELLO_MALFORMED;
	return read_extensions(extensions, ret);
}

/* Put the payloads of records together, as far as they are there and fit. Return their bytes. */
static size_t join_records(struct rest rest, uint8_t ret[HELLO_BYTES_MAX])
{
	size_t used = 0;

	while (rest.size > RECORD_HEADER) {
		size_t length = (size_t)rest.bytes[3] << 8 | rest.bytes[4];

		(void)take_bytes(&rest, RECORD_HEADER);
		if (length > rest.size)
			length = rest.size;
		if (length > HELLO_BYTES_MAX - used)
			length = HELLO_BYTES_MAX - used;
		if (length == 0)
			break;
		memcpy(ret + used, rest.bytes, length);
		(void)take_bytes(&rest, length);
		used += length;
	}
	return used;
}

/* Take the head of the next record, or wait for it. */
static enum hello_verdict scan_record(struct hello_scan *scan, const uint8_t *head, size_t size)
{
	if (head[0] != RECORD_HANDSHAKE || (size > 1 && head[1] != 3))
		return HELLO_OTHER;
	if (size < RECORD_HEADER)
		return HELLO_PART;
	scan->left = (uint32_t)head[3] << 8 | head[4];
	scan->at += RECORD_HEADER;
	return scan->left == 0 || scan->left > RECORD_MAX ? HELLO_OTHER : HELLO_PART;
}

/* Count the bytes of the message, and keep its head. */
static enum hello_verdict scan_message(struct hello_scan *scan, const uint8_t *bytes, size_t size)
{
	const uint32_t taken = size < scan->left ? (uint32_t)size : scan->left;
	uint32_t length;

	for (uint32_t i = 0; i < taken && scan->joined + i < MESSAGE_HEADER; i++)
		scan->head[scan->joined + i] = bytes[i];
	scan->at += taken;
	scan->left -= taken;
	scan->joined += taken;
	length = (uint32_t)scan->head[1] << 16 | (uint32_t)scan->head[2] << 8 | scan->head[3];
	if (scan->head[0] != scan->type)
		return HELLO_OTHER;
	if (scan->joined >= MESSAGE_HEADER && length > HELLO_BYTES_MAX - MESSAGE_HEADER)
		return HELLO_LONG;
	if (scan->joined < MESSAGE_HEADER || scan->joined < MESSAGE_HEADER + length)
		return HELLO_PART;
	if (scan->type == MESSAGE_CLIENT_HELLO &&
	    (scan->left > 0 || scan->joined > MESSAGE_HEADER + length))
		return HELLO_MALFORMED;
	return HELLO_WHOLE;
}

enum hello_verdict hello_scan(struct hello_scan *scan, const uint8_t *bytes, size_t size)
{
	enum hello_verdict verdict = HELLO_PART;
	size_t before = SIZE_MAX;

	while (verdict == HELLO_PART && scan->at < size && scan->at != before) {
		before = scan->at;
		verdict = scan->left > 0 ? scan_message(scan, bytes + before, size - before)
					 : scan_record(scan, bytes + before, size - before);
	}
	return verdict;
}

enum hello_verdict hello_read(const uint8_t *bytes, size_t size, char ret[HOST_NAME_MAX_SIZE])
{
	struct hello_scan scan = { .type = MESSAGE_CLIENT_HELLO };
	const enum hello_verdict verdict = hello_scan(&scan, bytes, size);
	uint8_t message[HELLO_BYTES_MAX];
	struct rest hello = { .bytes = message };

	if (verdict != HELLO_WHOLE)
		return verdict;
	hello.size = join_records((struct rest){ .bytes = bytes, .size = scan.at }, message);
	(void)take_bytes(&hello, MESSAGE_HEADER);
	return read_hello(hello, ret);
}

bool hello_is_retry(const uint8_t *bytes, size_t size)
{
	/* SHA-256 of "HelloRetryRequest" */
	static const uint8_t retry[RANDOM_SIZE] = {
		0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
		0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
		0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
	};
	uint8_t message[HELLO_BYTES_MAX];
	const size_t used = join_records((struct rest){ .bytes = bytes, .size = size }, message);

	return used >= MESSAGE_HEADER + 2 + RANDOM_SIZE &&
	       memcmp(message + MESSAGE_HEADER + 2, retry, RANDOM_SIZE) == 0;
}
