/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/bridge/head.h"

#include <string.h>
#include <strings.h>

#define HTTP_PORT 80
#define LENGTH_DIGITS 18U /* which 64 bits hold */

/* A piece of the head. */
struct span {
	const char *at;
	size_t size;
};

static bool is_token(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

static bool span_equals(struct span span, const char *text)
{
	return span.size == strlen(text) && strncasecmp(span.at, text, span.size) == 0;
}

static bool skip_text(struct span *span, const char *text)
{
	const size_t size = strlen(text);

	if (span->size < size || strncasecmp(span->at, text, size) != 0)
		return false;
	*span = (struct span){ span->at + size, span->size - size };
	return true;
}

/* Take the next line, without its end. False: it has none. */
static bool take_line(struct span *rest, struct span *ret)
{
	const char *end = memchr(rest->at, '\n', rest->size);

	if (!end)
		return false;
	*ret = (struct span){ rest->at, (size_t)(end - rest->at) };
	*rest = (struct span){ end + 1, rest->size - ret->size - 1 };
	if (ret->size > 0 && ret->at[ret->size - 1] == '\r')
		ret->size--;
	return true;
}

/* Return the size of the token that the bytes begin with. */
static size_t token_size(struct span span)
{
	size_t size = 0;

	while (size < span.size && is_token(span.at[size]))
		size++;
	return size;
}

/* Return whether the bytes can still become a request line: a browser's method is a token. */
static bool may_be_request(struct span bytes)
{
	const size_t method = token_size(bytes);

	return method == bytes.size || (method > 0 && bytes.at[method] == ' ');
}

static bool is_request_line(struct span line)
{
	static const char version[] = " HTTP/1.";
	const size_t size = sizeof(version) - 1 + 1; /* and a digit */

	return line.size > size &&
	       memcmp(line.at + line.size - size, version, sizeof(version) - 1) == 0;
}

/* Return whether the rest of a host is nothing or a port. *ret: the port; 0: none. */
static bool read_port(struct span rest, uint32_t *ret)
{
	*ret = 0;
	if (rest.size == 0)
		return true;
	if (rest.at[0] != ':' || rest.size < 2 || rest.size > 6)
		return false;
	for (size_t i = 1; i < rest.size; i++) {
		if (rest.at[i] < '0' || rest.at[i] > '9')
			return false;
		*ret = *ret * 10 + (uint32_t)(rest.at[i] - '0');
	}
	return *ret > 0 && *ret <= UINT16_MAX;
}

/* Return whether it is a name of this machine that no name server has a say in. */
static bool is_here(struct span host, uint32_t *ret_port)
{
	return (skip_text(&host, "localhost") || skip_text(&host, "127.0.0.1") ||
		skip_text(&host, "[::1]")) &&
	       read_port(host, ret_port);
}

static bool is_own_host(struct span host, uint16_t port)
{
	uint32_t said;

	return is_here(host, &said) && (said == port || (said == 0 && port == HTTP_PORT));
}

/* A page of this machine at another port may ask this one. A Referer has a path behind the host. */
static bool is_own_page(struct span page)
{
	uint32_t port;
	size_t size = 0;

	if (!skip_text(&page, "http://") && !skip_text(&page, "https://"))
		return false;
	while (size < page.size && !strchr("/?#", page.at[size]))
		size++;
	return is_here((struct span){ page.at, size }, &port);
}

/* Split a field, without the blanks around its value. False: it is none. */
static bool split_field(struct span line, struct span *ret_name, struct span *ret_value)
{
	const size_t name = token_size(line);
	struct span value;

	if (name == 0 || name == line.size || line.at[name] != ':')
		return false;
	value = (struct span){ line.at + name + 1, line.size - name - 1 };
	for (size_t i = 0; i < value.size; i++) {
		if ((unsigned char)value.at[i] < ' ' && value.at[i] != '\t')
			return false;
	}
	while (value.size > 0 && (value.at[0] == ' ' || value.at[0] == '\t'))
		value = (struct span){ value.at + 1, value.size - 1 };
	while (value.size > 0 &&
	       (value.at[value.size - 1] == ' ' || value.at[value.size - 1] == '\t'))
		value.size--;
	*ret_name = (struct span){ line.at, name };
	*ret_value = value;
	return true;
}

/* The words of a head's fields, together. */
struct said {
	uint32_t hosts, lengths;
	bool is_host_wrong, is_page_wrong, is_page_own, is_cross_site, is_malformed;
	bool is_endless;  /* its body has no length, or another protocol follows */
	uint64_t content; /* bytes of the body */
	uint16_t port;
};

static void take_host(struct said *said, struct span value)
{
	said->hosts++;
	said->is_host_wrong |= !is_own_host(value, said->port);
}

static void take_origin(struct said *said, struct span value)
{
	const bool is_own = is_own_page(value);

	said->is_page_own |= is_own;
	said->is_page_wrong |= !is_own;
}

/* Browsers without Sec-Fetch-Site have it. A page can leave it out. */
static void take_referer(struct said *said, struct span value)
{
	said->is_page_wrong |= !is_own_page(value);
}

/* `none` is a person's own act, such as an address that was typed. */
static void take_site(struct said *said, struct span value)
{
	said->is_cross_site |= !span_equals(value, "none") && !span_equals(value, "same-origin") &&
			       !span_equals(value, "same-site");
}

static void take_length(struct said *said, struct span value)
{
	said->lengths++;
	said->is_malformed |= value.size == 0 || value.size > LENGTH_DIGITS;
	for (size_t i = 0; i < value.size && !said->is_malformed; i++) {
		said->is_malformed = value.at[i] < '0' || value.at[i] > '9';
		said->content = said->content * 10 + (uint64_t)(value.at[i] - '0');
	}
}

/* No browser sends a body without a length; what is upgraded is a connection of its own to it. */
static void take_endless(struct said *said, struct span value)
{
	said->is_endless = true;
}

static void take_field(struct said *said, struct span name, struct span value)
{
	static const struct {
		const char *name;
		void (*take)(struct said *said, struct span value);
	} fields[] = {
		{ "host", take_host },
		{ "origin", take_origin },
		{ "referer", take_referer },
		{ "sec-fetch-site", take_site },
		{ "content-length", take_length },
		{ "transfer-encoding", take_endless },
		{ "upgrade", take_endless },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (span_equals(name, fields[i].name))
			fields[i].take(said, value);
	}
}

/* An Origin of this machine counts across sites, too: localhost and 127.0.0.1 are two sites. */
static enum head_verdict judge_said(const struct said *said)
{
	return said->hosts != 1 || said->lengths > 1 || said->is_malformed ? HEAD_BAD
	       : said->is_host_wrong                                       ? HEAD_HOST
	       : said->is_page_wrong                                       ? HEAD_ORIGIN
	       : said->is_cross_site && !said->is_page_own                 ? HEAD_SITE
									   : HEAD_FINE;
}

/* Judge the fields behind the request line, and leave the rest behind them. */
static enum head_verdict judge_fields(struct span *rest, struct said *said)
{
	struct span line, name, value;

	while (take_line(rest, &line)) {
		if (line.size == 0)
			return judge_said(said);
		if (!split_field(line, &name, &value))
			return HEAD_BAD;
		take_field(said, name, value);
	}
	return HEAD_MORE;
}

enum head_verdict head_judge(const uint8_t *bytes, size_t size, bool is_end, uint16_t port,
			     uint64_t *ret_size)
{
	struct span rest = { (const char *)bytes, size };
	struct said said = { .port = port };
	enum head_verdict verdict;
	struct span line;

	*ret_size = HEAD_ENDLESS;
	if (!may_be_request(rest))
		return HEAD_OTHER;
	if (!take_line(&rest, &line))
		return is_end ? HEAD_OTHER : HEAD_MORE;
	if (!is_request_line(line))
		return HEAD_OTHER;
	verdict = judge_fields(&rest, &said);
	if (verdict == HEAD_FINE && !said.is_endless)
		*ret_size = size - rest.size + said.content;
	return verdict == HEAD_MORE && is_end ? HEAD_BAD : verdict;
}
