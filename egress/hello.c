/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/hello.h"

#include <stdbool.h>
#include <string.h>

#define RECORD_HEADER 5U
#define RECORD_MAX 16384U
#define RECORD_HANDSHAKE 22U
#define MESSAGE_HEADER 4U
#define MESSAGE_CLIENT_HELLO 1U
#define RANDOM_SIZE 32U
#define EXTENSION_SERVER_NAME 0U
#define EXTENSION_ECH 0xfe0dU
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
		is_encrypted |= type == EXTENSION_ECH;
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

/* Put the payloads of complete records together, as far as they are there. `ret` has `*used` bytes.
 * HELLO_NAMED: all that is there is read; HELLO_OTHER, HELLO_LONG. */
static enum hello_verdict join_records(struct rest rest, uint8_t ret[HELLO_BYTES_MAX], size_t *used)
{
	while (rest.size > 0) {
		const bool has_header = rest.size >= RECORD_HEADER;
		size_t length;

		if (rest.bytes[0] != RECORD_HANDSHAKE || (rest.size > 1 && rest.bytes[1] != 3))
			return HELLO_OTHER;
		if (!has_header)
			return HELLO_NAMED;
		length = (size_t)rest.bytes[3] << 8 | rest.bytes[4];
		(void)take_bytes(&rest, RECORD_HEADER);
		if (length == 0 || length > RECORD_MAX)
			return HELLO_OTHER;
		if (length > rest.size)
			length = rest.size;
		if (length > HELLO_BYTES_MAX - *used)
			return HELLO_LONG;
		memcpy(ret + *used, rest.bytes, length);
		(void)take_bytes(&rest, length);
		*used += length;
	}
	return HELLO_NAMED;
}

/* Take the head of the next record. False: it is not there yet, or `scan` is complete. */
static bool scan_record(struct hello_scan *scan, const uint8_t *bytes, size_t size)
{
	const uint8_t *head = bytes + scan->at;
	const size_t there = size - scan->at;

	if (there == 0)
		return false;
	scan->is_complete = head[0] != RECORD_HANDSHAKE || (there > 1 && head[1] != 3);
	if (scan->is_complete || there < RECORD_HEADER)
		return false;
	scan->left = (uint32_t)head[3] << 8 | head[4];
	scan->is_complete = scan->left == 0 || scan->left > RECORD_MAX;
	scan->at += RECORD_HEADER;
	return !scan->is_complete;
}

/* Count the bytes of the message, and keep its head. */
static void scan_message(struct hello_scan *scan, const uint8_t *bytes, size_t size)
{
	const size_t there = size - scan->at;
	const uint32_t taken = there < scan->left ? (uint32_t)there : scan->left;
	size_t length;

	for (uint32_t i = 0; i < taken && scan->joined + i < MESSAGE_HEADER; i++)
		scan->head[scan->joined + i] = bytes[scan->at + i];
	scan->at += taken;
	scan->left -= taken;
	scan->joined += taken;
	length = (size_t)scan->head[1] << 16 | (size_t)scan->head[2] << 8 | scan->head[3];
	if (scan->joined > 0 && scan->head[0] != MESSAGE_CLIENT_HELLO)
		scan->is_complete = true;
	else if (scan->joined >= MESSAGE_HEADER)
		scan->is_complete = length > HELLO_BYTES_MAX - MESSAGE_HEADER ||
				    scan->joined >= MESSAGE_HEADER + length;
}

bool hello_scan(struct hello_scan *scan, const uint8_t *bytes, size_t size)
{
	while (!scan->is_complete && (scan->left > 0 || scan_record(scan, bytes, size)) &&
	       scan->at < size)
		scan_message(scan, bytes, size);
	return scan->is_complete;
}

enum hello_verdict hello_read(const uint8_t *bytes, size_t size, char ret[HOST_NAME_MAX_SIZE])
{
	uint8_t message[HELLO_BYTES_MAX];
	struct rest hello = { .bytes = message };
	enum hello_verdict verdict;
	size_t length;

	verdict = join_records((struct rest){ .bytes = bytes, .size = size }, message, &hello.size);
	if (hello.size > 0 && message[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_OTHER;
	if (hello.size < MESSAGE_HEADER)
		return verdict == HELLO_NAMED ? HELLO_PART : verdict;
	length = (size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3];
	if (length > HELLO_BYTES_MAX - MESSAGE_HEADER)
		return HELLO_LONG;
	if (length > hello.size - MESSAGE_HEADER)
		return verdict == HELLO_NAMED ? HELLO_PART : verdict;
	/* More messages in the same flight are no hello's. */
	if (length < hello.size - MESSAGE_HEADER)
		return HELLO_MALFORMED;
	(void)take_bytes(&hello, MESSAGE_HEADER);
	return read_hello(hello, ret);
}
