/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/egress/dns.h"

#include <string.h>

#define HEADER_SIZE 12U
#define LABEL_MAX 63U

#define FLAG_ANSWER 0x8000U
#define FLAG_OPERATION 0x7800U
#define FLAG_TRUNCATED 0x0200U
#define FLAG_RECURSION 0x0100U
#define FLAG_RECURSES 0x0080U

#define TYPE_HOST 1U
#define CLASS_INTERNET 1U

static uint16_t read_16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void write_16(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

/* Read the labels of a question as text with dots. Return the bytes that they take, or 0: they end
 * too early, are compressed, or are longer than a name. A dot inside a label would read as two. */
static size_t read_labels(const uint8_t *bytes, size_t size, char text[HOST_NAME_MAX_SIZE + 1],
			  size_t *ret_length)
{
	size_t at = 0, used = 0;

	while (at < size && bytes[at] != 0) {
		const size_t length = bytes[at];

		if (length > LABEL_MAX || length > size - at - 1 ||
		    used + length + 1 > HOST_NAME_MAX_SIZE ||
		    memchr(bytes + at + 1, '.', length) != NULL)
			return 0;
		memcpy(text + used, bytes + at + 1, length);
		used += length;
		text[used++] = '.';
		at += length + 1;
	}
	if (at >= size)
		return 0;
	text[used] = '\0';
	*ret_length = used;
	return at + 1;
}

/* Programs ask for these beside a host; a service is no host. */
static bool is_service(const char *text)
{
	const char *dot = strchr(text, '.');

	return text[0] == '_' && dot != NULL && dot[1] == '_';
}

static enum dns_verdict judge_question(const char *text, size_t length, uint16_t type,
				       char name[HOST_NAME_MAX_SIZE])
{
	if (is_service(text))
		return DNS_SERVICE;
	if (host_name_read(text, length, name) != HOST_SOUND)
		return DNS_MALFORMED;
	return type == TYPE_HOST ? DNS_ASKS : DNS_NO_DATA;
}

enum dns_verdict dns_read(const uint8_t *bytes, size_t size, struct dns_query *ret)
{
	char text[HOST_NAME_MAX_SIZE + 1];
	uint16_t flags;
	size_t labels, length;

	if (size < HEADER_SIZE || (read_16(bytes + 2) & FLAG_ANSWER) != 0)
		return DNS_DROPPED;
	flags = read_16(bytes + 2);
	*ret = (struct dns_query){ .id = read_16(bytes),
				   .wants_recursion = (flags & FLAG_RECURSION) != 0 };
	if (size > DNS_QUERY_MAX || (flags & FLAG_TRUNCATED) != 0 || read_16(bytes + 4) != 1 ||
	    read_16(bytes + 6) != 0 || read_16(bytes + 8) != 0)
		return DNS_MALFORMED;
	if ((flags & FLAG_OPERATION) != 0)
		return DNS_UNSUPPORTED;
	labels = read_labels(bytes + HEADER_SIZE, size - HEADER_SIZE, text, &length);
	if (labels == 0 || size - HEADER_SIZE - labels < 4)
		return DNS_MALFORMED;
	/* Additional records, such as EDNS, are left unread: no answer needs them. */
	ret->question_size = (uint16_t)(labels + 4);
	memcpy(ret->question, bytes + HEADER_SIZE, ret->question_size);
	ret->type = read_16(ret->question + labels);
	if (read_16(ret->question + labels + 2) != CLASS_INTERNET)
		return DNS_UNSUPPORTED;
	return judge_question(text, length, ret->type, ret->name);
}

size_t dns_answer(const struct dns_query *query, enum dns_code code, uint32_t address,
		  uint8_t ret[DNS_ANSWER_MAX + 16])
{
	static const uint8_t record[12] = {
		0xc0, HEADER_SIZE, /* the question's name */
		0,    TYPE_HOST,   0, CLASS_INTERNET, 0, 0, 0, DNS_TTL_S, 0, 4,
	};
	const bool has_record = code == DNS_OK && address != 0;
	size_t used = HEADER_SIZE + query->question_size;

	memset(ret, 0, HEADER_SIZE);
	write_16(ret, query->id);
	write_16(ret + 2, FLAG_ANSWER | FLAG_RECURSES |
				  (query->wants_recursion ? FLAG_RECURSION : 0U) | (uint32_t)code);
	write_16(ret + 4, query->question_size > 0);
	write_16(ret + 6, has_record);
	memcpy(ret + HEADER_SIZE, query->question, query->question_size);
	if (!has_record)
		return used;
	memcpy(ret + used, record, sizeof(record));
	used += sizeof(record);
	memcpy(ret + used, &address, sizeof(address));
	return used + sizeof(address);
}
