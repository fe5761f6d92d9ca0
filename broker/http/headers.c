/* SPDX-License-Identifier: Apache-2.0 */
#include "http/headers.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "frontend/base64.h"

#define DIGITS "0123456789"
#define SPACES " \t"

static const char *const local_hosts[] = { "localhost", "[::1]" };
#define LOCAL_HOSTS (sizeof(local_hosts) / sizeof(local_hosts[0]))

/* ":PORT" or nothing. */
static bool is_port(const char *text)
{
	if (!*text)
		return true;
	return text[0] == ':' && text[1] && strspn(text + 1, DIGITS) == strlen(text + 1);
}

/* Skip an address of 127.0.0.0/8 in dotted decimal form. NULL: there is none. */
static const char *skip_loopback(const char *value)
{
	if (strncmp(value, "127", 3) != 0)
		return NULL;
	value += 3;
	for (int i = 0; i < 3; i++) {
		const size_t digits = value[0] == '.' ? strspn(value + 1, DIGITS) : 0;

		if (digits == 0 || digits > 3 || (digits > 1 && value[1] == '0') ||
		    (digits == 3 && strncmp(value + 1, "255", 3) > 0))
			return NULL;
		value += 1 + digits;
	}
	return value;
}

bool header_host_is_local(const char *value)
{
	const char *rest = skip_loopback(value);

	if (rest)
		return is_port(rest);
	for (size_t i = 0; i < LOCAL_HOSTS; i++) {
		const size_t size = strlen(local_hosts[i]);

		if (strncasecmp(value, local_hosts[i], size) == 0 && is_port(value + size))
			return true;
	}
	return false;
}

bool header_origin_is_local(const char *value)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		const size_t size = strlen(schemes[i]);

		if (strncasecmp(value, schemes[i], size) == 0)
			return header_host_is_local(value + size);
	}
	return false;
}

/* A piece of a value, without white space around it. */
struct part {
	const char *text;
	size_t size;
};

static struct part trim_part(const char *text, size_t size)
{
	while (size > 0 && strchr(SPACES, *text)) {
		text++;
		size--;
	}
	while (size > 0 && strchr(SPACES, text[size - 1]))
		size--;
	return (struct part){ text, size };
}

/* Take the piece of *rest before the first `end`; *rest becomes the text after it, NULL after the
 * last. */
static struct part take_part(const char **rest, char end)
{
	const char *start = *rest;
	const size_t size = strcspn(start, (const char[]){ end, '\0' });

	*rest = start[size] ? start + size + 1 : NULL;
	return trim_part(start, size);
}

static bool is_same(struct part part, const char *text)
{
	return part.size == strlen(text) && strncasecmp(part.text, text, part.size) == 0;
}

bool header_is_json(const char *value)
{
	return is_same(take_part(&value, ';'), "application/json");
}

/* The parameter q=0, also written as 0.0 to 0.000. */
static bool is_refused(struct part part)
{
	if (part.size < 3 || strncasecmp(part.text, "q=0", 3) != 0)
		return false;
	for (size_t i = 3; i < part.size; i++) {
		if (part.text[i] != '.' && part.text[i] != '0')
			return false;
	}
	return true;
}

static bool range_covers(struct part range, const char *type, const char *subtype)
{
	const size_t type_size = strlen(type);

	if (is_same(range, "*/*"))
		return true;
	if (range.size < type_size + 2 || strncasecmp(range.text, type, type_size) != 0 ||
	    range.text[type_size] != '/')
		return false;
	range.text += type_size + 1;
	range.size -= type_size + 1;
	return is_same(range, "*") || is_same(range, subtype);
}

bool header_accepts(const char *value, const char *type, const char *subtype)
{
	const char *ranges = value;

	while (ranges) {
		const struct part one = take_part(&ranges, ',');
		const char *parameters = NULL;
		struct part range = one;
		bool refused = false;

		for (size_t i = 0; i < one.size && !parameters; i++) {
			if (one.text[i] == ';') {
				parameters = one.text + i + 1;
				range = trim_part(one.text, i);
			}
		}
		while (parameters && parameters < one.text + one.size) {
			const size_t left = (size_t)(one.text + one.size - parameters);
			const char *end = memchr(parameters, ';', left);
			const size_t size = end ? (size_t)(end - parameters) : left;

			refused |= is_refused(trim_part(parameters, size));
			parameters += size + 1;
		}
		if (!refused && range_covers(range, type, subtype))
			return true;
	}
	return false;
}

bool header_decode(const char *value, struct buffer *ret)
{
	static const char opening[] = "=?base64?";
	static const char closing[] = "?=";
	const struct part part = trim_part(value, strlen(value));
	const size_t frame = sizeof(opening) - 1 + sizeof(closing) - 1;
	const char *encoded = part.text + sizeof(opening) - 1;

	if (part.size < frame || memcmp(part.text, opening, sizeof(opening) - 1) != 0 ||
	    memcmp(part.text + part.size - 2, closing, 2) != 0) {
		buffer_append(ret, part.text, part.size);
		return true;
	}
	if (memchr(encoded, ' ', part.size - frame) || memchr(encoded, '\t', part.size - frame))
		return false;
	return base64_decode(ret, encoded, part.size - frame);
}

const char *header_bearer(const char *value)
{
	static const char scheme[] = "Bearer ";

	if (strncasecmp(value, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	value += sizeof(scheme) - 1;
	return value + strspn(value, " ");
}
