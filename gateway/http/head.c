/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/head.h"

#include <string.h>
#include <strings.h>

#define LENGTH_DIGITS_MAX 18U

static const struct {
	const char *rule;
	uint32_t status;
} faults[HEAD_FAULT_COUNT] = {
	[HEAD_SOUND] = { "", 200 },
	[HEAD_BAD_LINE_END] = { "each line of a head ends with CR LF, and has neither alone nor a "
				"NUL",
				400 },
	[HEAD_LONG] = { "a head has at most 64 KiB", 431 },
	[HEAD_BAD_REQUEST_LINE] = { "the first line is METHOD /path HTTP/1.1, with one space "
				    "between",
				    400 },
	[HEAD_BAD_METHOD] = { "CONNECT and TRACE are not passed on", 405 },
	[HEAD_BAD_TARGET] = { "a target begins with / and has visible ASCII characters, without #",
			      400 },
	[HEAD_BAD_VERSION] = { "the version is HTTP/1.1", 505 },
	[HEAD_BAD_FIELD_NAME] = { "a field begins with its name, and the colon follows at once",
				  400 },
	[HEAD_BAD_FIELD_VALUE] = { "a field's value has no control character", 400 },
	[HEAD_FOLDED] = { "a field has one line", 400 },
	[HEAD_FIELDS] = { "a head has at most 256 fields", 431 },
	[HEAD_BAD_HOST] = { "a request has one field Host", 400 },
	[HEAD_BAD_LENGTH] = { "Content-Length comes once and is one decimal number", 400 },
	[HEAD_BAD_ENCODING] = { "Transfer-Encoding comes once and is chunked", 501 },
	[HEAD_TWO_LENGTHS] = { "a message has Content-Length or Transfer-Encoding, not both", 400 },
	[HEAD_UPGRADES] = { "a connection is not upgraded to another protocol (WebSocket, HTTP/2)",
			    403 },
	[HEAD_BAD_CHUNK] = { "a chunk has its size in hexadecimal digits, and ends with CR LF",
			     400 },
	[HEAD_BAD_STATUS_LINE] = { "an answer begins with HTTP/1.1 and a status", 502 },
};

const char *head_fault_rule(enum head_fault fault)
{
	return faults[fault].rule;
}

uint32_t head_fault_status(enum head_fault fault)
{
	return faults[fault].status;
}

static const struct {
	const char *name;
	enum head_kind kind;
} kinds[] = {
	{ "host", HEAD_HOST },
	{ "content-length", HEAD_CONTENT_LENGTH },
	{ "transfer-encoding", HEAD_TRANSFER_ENCODING },
	{ "connection", HEAD_CONNECTION },
	{ "upgrade", HEAD_UPGRADE },
	{ "keep-alive", HEAD_OF_HOP },
	{ "proxy-connection", HEAD_OF_HOP },
	{ "proxy-authorization", HEAD_OF_HOP },
	{ "proxy-authenticate", HEAD_OF_HOP },
	{ "te", HEAD_OF_HOP },
	{ "trailer", HEAD_OF_HOP },
	{ "http2-settings", HEAD_OF_HOP },
	{ "alt-svc", HEAD_OF_HOP }, /* QUIC leads nowhere */
	{ "accept-encoding", HEAD_ACCEPT_CODING },
	{ "accept-charset", HEAD_ACCEPT_CODING },
	{ "a-im", HEAD_RANGE },
	{ "range", HEAD_RANGE },
	{ "x-ms-range", HEAD_RANGE },
	{ "if-range", HEAD_RANGE },
	{ "content-encoding", HEAD_CONTENT_CODING },
	{ "content-type", HEAD_CONTENT_TYPE },
	{ "x-http-method-override", HEAD_OVERRIDE },
	{ "x-http-method", HEAD_OVERRIDE },
	{ "http-method-override", HEAD_OVERRIDE },
	{ "x-method-override", HEAD_OVERRIDE },
	{ "x-http-verb-override", HEAD_OVERRIDE },
	{ "x-original-method", HEAD_OVERRIDE },
	{ "x-original-uri", HEAD_OVERRIDE },
	{ "x-original-url", HEAD_OVERRIDE },
	{ "x-rewrite-url", HEAD_OVERRIDE },
	{ "x-forwarded-method", HEAD_OVERRIDE },
	{ "x-forwarded-uri", HEAD_OVERRIDE },
	/* CGI and its like take them for those with hyphens. */
	{ "content_length", HEAD_OF_HOP },
	{ "transfer_encoding", HEAD_OF_HOP },
};

bool slice_is(struct slice slice, const char *text)
{
	return strlen(text) == slice.size && strncasecmp(slice.bytes, text, slice.size) == 0;
}

/* Return whether a field has a name, as CGI and its like have it: without a difference between
 * hyphen and underscore. */
static bool is_like(struct slice name, const char *text)
{
	char hyphened[32];

	if (name.size >= sizeof(hyphened))
		return false;
	for (size_t i = 0; i < name.size; i++)
		hyphened[i] = name.bytes[i] == '_' ? '-' : name.bytes[i];
	return slice_is((struct slice){ hyphened, name.size }, text);
}

size_t head_find_end(const char *bytes, size_t size, size_t *at, enum head_fault *ret_fault)
{
	size_t i = *at;

	for (; i < size; i++) {
		const bool is_after_cr = i > 0 && bytes[i - 1] == '\r';

		if ((bytes[i] == '\n') != is_after_cr || bytes[i] == '\0') {
			*ret_fault = HEAD_BAD_LINE_END;
			return 0;
		}
		if (bytes[i] == '\n' && i >= 3 && bytes[i - 2] == '\n')
			return i + 1;
	}
	*at = i;
	if (size >= HEAD_BYTES_MAX)
		*ret_fault = HEAD_LONG;
	return 0;
}

/* RFC 9110 5.6.2 */
static bool is_token(struct slice text)
{
	for (size_t i = 0; i < text.size; i++) {
		const char byte = text.bytes[i];

		if (byte <= ' ' || byte >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", byte) != NULL)
			return false;
	}
	return text.size > 0;
}

static bool is_visible(struct slice text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.bytes[i] <= ' ' || text.bytes[i] >= 0x7f)
			return false;
	}
	return true;
}

/* Return whether the text has no control character but tabs; bytes beyond ASCII may be there. */
static bool is_value(struct slice text)
{
	for (size_t i = 0; i < text.size; i++) {
		const unsigned char byte = (unsigned char)text.bytes[i];

		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return false;
	}
	return true;
}

/* Take the text up to a separator, which goes, too. Without one, everything. */
static struct slice take_until(struct slice *rest, const char *separator, size_t size)
{
	const char *found = memmem(rest->bytes, rest->size, separator, size);
	const struct slice taken = { rest->bytes,
				     found ? (size_t)(found - rest->bytes) : rest->size };
	const size_t gone = found ? taken.size + size : taken.size;

	rest->bytes += gone;
	rest->size -= gone;
	return taken;
}

static struct slice trim_blanks(struct slice text)
{
	while (text.size > 0 && (text.bytes[0] == ' ' || text.bytes[0] == '\t')) {
		text.bytes++;
		text.size--;
	}
	while (text.size > 0 &&
	       (text.bytes[text.size - 1] == ' ' || text.bytes[text.size - 1] == '\t'))
		text.size--;
	return text;
}

static enum head_fault read_field(struct slice line, struct head_field *ret)
{
	const char *colon = memchr(line.bytes, ':', line.size);

	if (line.bytes[0] == ' ' || line.bytes[0] == '\t')
		return HEAD_FOLDED;
	if (colon == NULL)
		return HEAD_BAD_FIELD_NAME;
	ret->name = (struct slice){ line.bytes, (size_t)(colon - line.bytes) };
	ret->value = trim_blanks((struct slice){ colon + 1, line.size - ret->name.size - 1 });
	if (!is_token(ret->name))
		return HEAD_BAD_FIELD_NAME;
	if (!is_value(ret->value))
		return HEAD_BAD_FIELD_VALUE;
	ret->kind = HEAD_PASSED;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const bool is_loose =
			kinds[i].kind >= HEAD_ACCEPT_CODING && kinds[i].kind != HEAD_CONTENT_TYPE;

		if (is_loose ? is_like(ret->name, kinds[i].name)
			     : slice_is(ret->name, kinds[i].name))
			ret->kind = kinds[i].kind;
	}
	return HEAD_SOUND;
}

static bool read_number(struct slice text, uint64_t *ret)
{
	*ret = 0;
	if (text.size == 0 || text.size > LENGTH_DIGITS_MAX)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if (text.bytes[i] < '0' || text.bytes[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(text.bytes[i] - '0');
	}
	return true;
}

/* Return whether a list of words, with commas between, has the word. */
static bool has_word(struct slice list, const char *word)
{
	while (list.size > 0) {
		if (slice_is(trim_blanks(take_until(&list, ",", 1)), word))
			return true;
	}
	return false;
}

/* Take what the field says of the message. */
static enum head_fault use_field(struct head *head, const struct head_field *field)
{
	switch (field->kind) {
	case HEAD_HOST:
		if (head->host.bytes != NULL)
			return HEAD_BAD_HOST;
		head->host = field->value;
		break;
	case HEAD_CONTENT_LENGTH:
		if (head->framing == HEAD_CHUNKED)
			return HEAD_TWO_LENGTHS;
		if (head->framing != HEAD_NO_BODY || !read_number(field->value, &head->length))
			return HEAD_BAD_LENGTH;
		head->framing = HEAD_LENGTH;
		break;
	case HEAD_TRANSFER_ENCODING:
		if (head->framing == HEAD_LENGTH)
			return HEAD_TWO_LENGTHS;
		if (head->framing != HEAD_NO_BODY || !slice_is(field->value, "chunked"))
			return HEAD_BAD_ENCODING;
		head->framing = HEAD_CHUNKED;
		break;
	case HEAD_CONNECTION:
		head->is_last |= has_word(field->value, "close");
		break;
	case HEAD_UPGRADE:
		/* A server may ignore an upgrade (RFC 9110 7.8): Java asks for HTTP/2 so. An answer
		 * says which protocols there are. */
		if (head->status == 0 && !slice_is(field->value, "h2c"))
			return HEAD_UPGRADES;
		break;
	default:
		break;
	}
	return HEAD_SOUND;
}

/* Read the lines up to the empty one. */
static enum head_fault read_fields(struct slice rest, struct head *head)
{
	struct slice line = take_until(&rest, "\r\n", 2);

	for (; line.size > 0; line = take_until(&rest, "\r\n", 2)) {
		struct head_field *field = &head->fields[head->field_count];
		enum head_fault fault;

		if (head->field_count == HEAD_FIELDS_MAX)
			return HEAD_FIELDS;
		fault = read_field(line, field);
		if (fault == HEAD_SOUND)
			fault = use_field(head, field);
		if (fault != HEAD_SOUND)
			return fault;
		head->field_count++;
	}
	return HEAD_SOUND;
}

static void clear_head(struct head *head)
{
	/* Not the fields: only those that are counted are looked at. */
	memset(head, 0, offsetof(struct head, fields));
}

enum head_fault head_read_request(const char *bytes, size_t size, struct head *ret)
{
	struct slice rest = { bytes, size };
	struct slice line = take_until(&rest, "\r\n", 2);
	const char *query;
	enum head_fault fault;

	clear_head(ret);
	ret->method = take_until(&line, " ", 1);
	ret->target = take_until(&line, " ", 1);
	if (!is_token(ret->method) || ret->target.size == 0 || line.size == 0)
		return HEAD_BAD_REQUEST_LINE;
	if (line.size != 8 || memcmp(line.bytes, "HTTP/1.1", 8) != 0)
		return memchr(line.bytes, ' ', line.size) ? HEAD_BAD_REQUEST_LINE
							  : HEAD_BAD_VERSION;
	if (slice_is(ret->method, "CONNECT") || slice_is(ret->method, "TRACE"))
		return HEAD_BAD_METHOD;
	if (ret->target.bytes[0] != '/' || !is_visible(ret->target) ||
	    memchr(ret->target.bytes, '#', ret->target.size) != NULL)
		return HEAD_BAD_TARGET;
	query = memchr(ret->target.bytes, '?', ret->target.size);
	ret->path_size = query ? (size_t)(query - ret->target.bytes) : ret->target.size;
	fault = read_fields(rest, ret);
	if (fault == HEAD_SOUND && ret->host.size == 0)
		return HEAD_BAD_HOST;
	return fault;
}

/* The status has three digits; a reason may follow. */
static bool read_status(struct slice line, struct head *head)
{
	const struct slice version = take_until(&line, " ", 1);
	const struct slice digits = take_until(&line, " ", 1);
	uint64_t status;

	if (!slice_is(version, "HTTP/1.1") && !slice_is(version, "HTTP/1.0"))
		return false;
	if (digits.size != 3 || !read_number(digits, &status) || status < 100 || status > 599)
		return false;
	head->is_last = version.bytes[version.size - 1] == '0';
	head->status = (uint32_t)status;
	head->reason = line;
	return is_value(line);
}

enum head_fault head_read_answer(const char *bytes, size_t size, bool is_of_head, struct head *ret)
{
	struct slice rest = { bytes, size };
	enum head_fault fault;

	clear_head(ret);
	if (!read_status(take_until(&rest, "\r\n", 2), ret))
		return HEAD_BAD_STATUS_LINE;
	/* It was asked for no other protocol, but may say that it has some. */
	fault = ret->status == 101 ? HEAD_UPGRADES : read_fields(rest, ret);
	if (fault != HEAD_SOUND)
		return fault;
	if (is_of_head || ret->status < 200 || ret->status == 204 || ret->status == 304)
		ret->framing = HEAD_NO_BODY;
	else if (ret->framing == HEAD_NO_BODY)
		ret->framing = HEAD_UNTIL_CLOSE;
	ret->is_last |= ret->framing == HEAD_UNTIL_CLOSE;
	return HEAD_SOUND;
}
