/* SPDX-License-Identifier: Apache-2.0 */
#include "http/head.h"

#include <event2/http.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define LENGTH_DIGITS_MAX 18 /* fewer than a size_t holds */
#define CHUNK_DIGITS_MAX (HTTP_CHUNK_LINE_MAX - 2)

#define BAD(name, text) FAULT(name, TROUBLE_NOT_HTTP, "400 Bad Request", text)

BAD(bad_bytes, "The head of the request has invalid bytes; lines end with CR LF");
BAD(bad_line, "The first line must be METHOD TARGET HTTP/1.1");
BAD(bad_field, "A line of the head is not NAME: VALUE");
BAD(bad_double, "Ambiguous headers: one that may occur once occurs twice");
BAD(bad_length, "Content-Length must be a decimal number");
BAD(bad_coding, "Transfer-Encoding must be chunked, alone, and without Content-Length");
BAD(bad_body, "Only POST can have a body");
BAD(bad_chunk, "A chunk's size must be 1 to 8 hexadecimal digits and nothing else");

FAULT(no_method, TROUBLE_NOT_HTTP, "501 Not Implemented", "Unknown method");
FAULT(no_version, TROUBLE_NOT_HTTP, "505 HTTP Version Not Supported",
      "Only HTTP/1.1 and HTTP/1.0 are supported");
FAULT(no_length, TROUBLE_NOT_HTTP, "411 Length Required", "A POST needs Content-Length");
FAULT(no_expectation, TROUBLE_NOT_HTTP, "417 Expectation Failed",
      "Expect may only be 100-continue");
FAULT(head_too_large, TROUBLE_TOO_LARGE, "431 Request Header Fields Too Large",
      "The head is longer than 16384 bytes");
const struct fault fault_too_large = { TROUBLE_TOO_LARGE, "413 Content Too Large",
				       "The body is longer than 4194304 bytes", NULL };

_Static_assert(HTTP_BODY_BYTES_MAX == 4194304 && HTTP_HEADER_BYTES_MAX == 16384,
	       "the texts above name them");

/* RFC 9110, 9.1: names of methods are compared byte by byte. CONNECT is left out, because its
 * target has a form of its own. */
static const char *const methods[] = { "POST ", "GET ",     "DELETE ", "HEAD ",
				       "PUT ",  "OPTIONS ", "TRACE ",  "PATCH " };

/* Headers whose repetition would make two readers of a request disagree. */
static const char *const single_headers[] = {
	"Content-Length",
	"Transfer-Encoding",
	"Expect",
	"Authorization",
	"Host",
	"Origin",
	"Content-Type",
	"Last-Event-ID",
	"MCP-Protocol-Version",
	"Mcp-Session-Id",
	"Mcp-Method",
	"Mcp-Name",
};
enum single { CONTENT_LENGTH, TRANSFER_ENCODING, EXPECT, AUTHORIZATION };
#define SINGLE_HEADERS (sizeof(single_headers) / sizeof(single_headers[0]))

/* A head being read. */
struct reader {
	char *at;
	char *end;
	const char *method;
	bool is_old; /* HTTP/1.0 */
	const char *values[SINGLE_HEADERS];
};

/* RFC 9110, 5.6.2. */
static bool is_token_byte(unsigned char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= 'a' && byte <= 'z') || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

/* RFC 9110, 5.5; CR and LF only at the end of a line. */
static bool is_head_byte(unsigned char byte)
{
	return (byte >= ' ' && byte != 0x7f) || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool begins_with_method(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const size_t length = strlen(methods[i]);

		if (memcmp(text, methods[i], size < length ? size : length) == 0)
			return true;
	}
	return false;
}

const struct fault *head_check_start(const char *text, size_t size, size_t seen)
{
	if (!begins_with_method(text, size))
		return &no_method;
	if (size > HTTP_HEADER_BYTES_MAX)
		return &head_too_large;
	for (size_t i = seen; i < size; i++) {
		const bool follows_cr = i > 0 && text[i - 1] == '\r';

		if (!is_head_byte((unsigned char)text[i]) || (text[i] == '\n') != follows_cr)
			return &bad_bytes;
	}
	return NULL;
}

/* Take the next line of the head, terminated, and check its bytes. */
static char *take_line(struct reader *reader)
{
	char *line = reader->at;
	char *end = memchr(line, '\r', (size_t)(reader->end - line));

	*end = '\0';
	reader->at = end + 2;
	return line;
}

/* Check the target with the function that evhttp uses. */
static bool is_target(const char *text)
{
	struct evhttp_uri *uri;

	for (const char *c = text; *c; c++) {
		if (*c <= ' ' || *c > '~')
			return false;
	}
	uri = evhttp_uri_parse_with_flags(text, EVHTTP_URI_NONCONFORMANT);
	if (uri)
		evhttp_uri_free(uri);
	return uri != NULL;
}

static bool is_version(const char *text)
{
	return strlen(text) == 8 && strncmp(text, "HTTP/", 5) == 0 && text[5] >= '0' &&
	       text[5] <= '9' && text[6] == '.' && text[7] >= '0' && text[7] <= '9';
}

static const struct fault *read_first_line(struct reader *reader, struct head *ret)
{
	char *line = take_line(reader);
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return &bad_line;
	*target++ = '\0';
	*version++ = '\0';
	if (!is_target(target) || !is_version(version))
		return &bad_line;
	reader->method = line;
	reader->is_old = strcmp(version, "HTTP/1.0") == 0;
	ret->target = target;
	return reader->is_old || strcmp(version, "HTTP/1.1") == 0 ? NULL : &no_version;
}

/* Strip spaces around the value. A tab stays: evhttp does not skip tabs before a value. */
static char *trim_value(char *value)
{
	char *end;

	value += strspn(value, " ");
	end = value + strlen(value);
	while (end > value && end[-1] == ' ')
		end--;
	*end = '\0';
	return value;
}

static const struct fault *read_field(struct reader *reader)
{
	char *line = take_line(reader);
	char *colon = strchr(line, ':');

	if (!colon || colon == line)
		return &bad_field;
	*colon = '\0';
	for (const char *c = line; *c; c++) {
		if (!is_token_byte((unsigned char)*c))
			return &bad_field;
	}
	for (size_t i = 0; i < SINGLE_HEADERS; i++) {
		if (strcasecmp(line, single_headers[i]) != 0)
			continue;
		if (reader->values[i])
			return &bad_double;
		reader->values[i] = trim_value(colon + 1);
	}
	return NULL;
}

/* Read a number of a framing header; SIZE_MAX: beyond any limit. False: it is not a number. */
static bool read_number(const char *text, size_t *ret)
{
	const char *number = text + strspn(text, "0");
	const size_t digits = strspn(number, "0123456789");

	if (!*text || number[digits] != '\0')
		return false;
	*ret = digits > LENGTH_DIGITS_MAX ? SIZE_MAX : 0;
	for (size_t i = 0; i < digits && *ret != SIZE_MAX; i++)
		*ret = *ret * 10 + (size_t)(number[i] - '0');
	return true;
}

static const struct fault *find_body(const struct reader *reader, struct head *ret)
{
	const char *length = reader->values[CONTENT_LENGTH];
	const char *coding = reader->values[TRANSFER_ENCODING];

	if (reader->values[EXPECT] && strcasecmp(reader->values[EXPECT], "100-continue") != 0)
		return &no_expectation;
	if (coding && (length || reader->is_old || strcasecmp(coding, "chunked") != 0))
		return &bad_coding;
	if (length && !read_number(length, &ret->length))
		return &bad_length;
	ret->is_chunked = coding != NULL;
	if (strcmp(reader->method, "POST") != 0)
		return ret->is_chunked || ret->length > 0 ? &bad_body : NULL;
	return length || coding ? NULL : &no_length;
}

const struct fault *head_read(char *text, size_t size, struct head *ret)
{
	struct reader reader = { .at = text, .end = text + size };
	const struct fault *fault = head_check_start(text, size, 0);

	memset(ret, 0, sizeof(*ret));
	if (!fault)
		fault = read_first_line(&reader, ret);
	while (!fault && reader.at < reader.end && *reader.at != '\r')
		fault = read_field(&reader);
	if (fault)
		return fault;
	ret->authorization = reader.values[AUTHORIZATION];
	return find_body(&reader, ret);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const struct fault *head_read_chunk_size(const char *line, size_t size, size_t *ret)
{
	*ret = 0;
	if (size == 0 || size > CHUNK_DIGITS_MAX)
		return &bad_chunk;
	for (size_t i = 0; i < size; i++) {
		const int digit = digit_value(line[i]);

		if (digit < 0)
			return &bad_chunk;
		*ret = *ret << 4 | (size_t)digit;
	}
	return *ret > HTTP_BODY_BYTES_MAX ? &fault_too_large : NULL;
}
