/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hosts/request.h"

#include <string.h>

static const struct {
	const char *name;
	uint32_t bit;
} methods[] = {
	{ "GET", HOST_METHOD_GET },         { "HEAD", HOST_METHOD_HEAD },
	{ "POST", HOST_METHOD_POST },       { "PUT", HOST_METHOD_PUT },
	{ "PATCH", HOST_METHOD_PATCH },     { "DELETE", HOST_METHOD_DELETE },
	{ "OPTIONS", HOST_METHOD_OPTIONS },
};
#define METHOD_COUNT (sizeof(methods) / sizeof(methods[0]))

uint32_t host_method_read(const char *text, size_t size)
{
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		if (strlen(methods[i].name) == size && memcmp(methods[i].name, text, size) == 0)
			return methods[i].bit;
	}
	return 0;
}

const char *host_method_name(uint32_t bit)
{
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		if (methods[i].bit == bit)
			return methods[i].name;
	}
	return NULL;
}

static int hex_digit(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char lower = digit >= 'A' && digit <= 'F' ? (char)(digit + 'a' - 'A') : digit;
	const char *found = lower != '\0' ? strchr(digits, lower) : NULL;

	return found != NULL ? (int)(found - digits) : -1;
}

/* Return the byte that is escaped at the beginning of a text, or -1. */
static int read_escape(const char *text, size_t size)
{
	const int high = size > 2 && text[0] == '%' ? hex_digit(text[1]) : -1;
	const int low = high >= 0 ? hex_digit(text[2]) : -1;

	return low >= 0 ? high * 16 + low : -1;
}

enum symbol {
	SYMBOL_PLAIN = 0,
	SYMBOL_DOT,
	SYMBOL_BLANK, /* some servers drop it */
	SYMBOL_FAULTY,
};

/* The characters beyond ASCII that some servers take for one of ASCII (NFKC, best fit) or drop. */
static const struct {
	uint32_t first, last;
	enum symbol symbol;
} likes[] = {
	{ 0x80, 0xa0, SYMBOL_BLANK },      { 0xad, 0xad, SYMBOL_BLANK },
	{ 0x34f, 0x34f, SYMBOL_BLANK },    { 0x37e, 0x37e, SYMBOL_FAULTY }, /* ; of Greek */
	{ 0x61c, 0x61c, SYMBOL_BLANK },    { 0x1680, 0x1680, SYMBOL_BLANK },
	{ 0x180b, 0x180f, SYMBOL_BLANK },  { 0x2000, 0x200f, SYMBOL_BLANK },
	{ 0x2024, 0x2026, SYMBOL_DOT },    { 0x2028, 0x202f, SYMBOL_BLANK },
	{ 0x2044, 0x2044, SYMBOL_FAULTY },                                    /* slashes */
	{ 0x205f, 0x206f, SYMBOL_BLANK },  { 0x2100, 0x2101, SYMBOL_FAULTY }, /* a/c */
	{ 0x2105, 0x2106, SYMBOL_FAULTY }, { 0x2215, 0x2216, SYMBOL_FAULTY },
	{ 0x3000, 0x3000, SYMBOL_BLANK },  { 0xfe00, 0xfe0f, SYMBOL_BLANK },
	{ 0xfe14, 0xfe14, SYMBOL_FAULTY }, { 0xfe19, 0xfe19, SYMBOL_DOT },
	{ 0xfe30, 0xfe30, SYMBOL_DOT }, /* ... .. */
	{ 0xfe52, 0xfe52, SYMBOL_DOT },    { 0xfe54, 0xfe54, SYMBOL_FAULTY },
	{ 0xfe68, 0xfe68, SYMBOL_FAULTY }, { 0xfe6a, 0xfe6a, SYMBOL_FAULTY },
	{ 0xfeff, 0xfeff, SYMBOL_BLANK },  { 0xff05, 0xff05, SYMBOL_FAULTY },
	{ 0xff0e, 0xff0e, SYMBOL_DOT },                                       /* full width: % . */
	{ 0xff0f, 0xff0f, SYMBOL_FAULTY }, { 0xff1b, 0xff1b, SYMBOL_FAULTY }, /* / ; */
	{ 0xff3c, 0xff3c, SYMBOL_FAULTY }, { 0xe0000, 0xe0fff, SYMBOL_BLANK },
};

/* Read a character of UTF-8 that begins with the byte `code`. *ret_size is what it takes. */
static enum symbol read_wide(const char *text, size_t size, uint32_t code, size_t *ret_size)
{
	static const uint32_t least[] = { 0x80, 0x800, 0x10000 };
	const size_t more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : 1;

	if (code < 0xc0 || code > 0xf4)
		return SYMBOL_FAULTY;
	code &= 0x3fU >> more;
	for (size_t i = 1; i <= more; i++) {
		const int next = 3 * i < size ? read_escape(text + 3 * i, size - 3 * i) : -1;

		if (next < 0x80 || next >= 0xc0)
			return SYMBOL_FAULTY;
		code = code << 6 | ((uint32_t)next & 0x3f);
	}
	*ret_size = 3 * (more + 1);
	if (code < least[more - 1] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return SYMBOL_FAULTY;
	for (size_t i = 0; i < sizeof(likes) / sizeof(likes[0]); i++) {
		if (code >= likes[i].first && code <= likes[i].last)
			return likes[i].symbol;
	}
	return SYMBOL_PLAIN;
}

/* Read a character of a segment. */
static enum symbol read_symbol(const char *text, size_t size, size_t *ret_size)
{
	int code;

	*ret_size = 1;
	if (text[0] != '%')
		return text[0] == '.' ? SYMBOL_DOT : text[0] == '+' ? SYMBOL_BLANK : SYMBOL_PLAIN;
	*ret_size = 3;
	code = read_escape(text, size);
	if (code >= 0x80)
		return read_wide(text, size, (uint32_t)code, ret_size);
	if (code < ' ' || code == 0x7f || strchr("./\\%;", code) != NULL)
		return SYMBOL_FAULTY;
	return code == ' ' ? SYMBOL_BLANK : SYMBOL_PLAIN;
}

/* Check a segment. Some servers drop what follows a semicolon, or what a second reader takes for a
 * query, and blanks, before they look for segments of dots; others take any number of dots for two.
 */
static const char *find_segment_fault(const char *text, size_t size)
{
	bool has_dot = false, is_plain = false, is_parameter = false;
	size_t taken;

	for (size_t i = 0; i < size; i += taken) {
		const enum symbol symbol = read_symbol(text + i, size - i, &taken);
		const int escaped = read_escape(text + i, size - i);

		if (symbol == SYMBOL_FAULTY)
			return "a path has % only before two hexadecimal digits that stand neither "
			       "for . / \\ % ; nor for a control character, and beyond ASCII for "
			       "UTF-8";
		is_parameter |= text[i] == ';' || escaped == '?' || escaped == '#';
		has_dot |= symbol == SYMBOL_DOT && !is_parameter;
		is_plain |= symbol == SYMBOL_PLAIN && !is_parameter;
	}
	if (has_dot && !is_plain)
		return "a path has no segment . or ..";
	return size > 0 && text[0] == ';' ? "a path has no //" : NULL;
}

const char *host_path_fault(const char *text, size_t size)
{
	size_t segment = 1;

	if (size == 0 || text[0] != '/')
		return "a path begins with /";
	for (size_t i = 1; i <= size; i++) {
		const char *fault = NULL;

		if (i == size || text[i] == '/') {
			fault = find_segment_fault(text + segment, i - segment);
			if (i < size && i == segment)
				fault = "a path has no //";
			segment = i + 1;
		} else if (text[i] <= ' ' || text[i] >= 0x7f || strchr("\\#?", text[i]) != NULL) {
			fault = "a path has visible ASCII characters, without \\, # and ?";
		}
		if (fault != NULL)
			return fault;
	}
	return NULL;
}

/* The parameters that frameworks take a method from (Rails, Laravel, Symfony, Express). */
static const char *const overrides[] = { "_method", "x-http-method-override", "x-http-method",
					 "x-method-override" };

/* Return whether a parameter has a name, as the most lenient reader has it: PHP drops blanks before
 * a name, ends it at a bracket, and takes a dot or a blank in it for an underscore. */
static bool names_override(const char *text, size_t size, const char *name)
{
	const size_t length = strlen(name);
	size_t at = 0, i = 0;

	while (i < size && at <= length && text[i] != '=') {
		const int escaped = read_escape(text + i, size - i);
		const char byte = (char)(escaped >= 0 ? escaped : text[i]);
		const char lower = byte >= 'A' && byte <= 'Z' ? (char)(byte + 'a' - 'A') : byte;

		i += escaped >= 0 ? 3 : 1;
		if (at == 0 && (byte == ' ' || byte == '+'))
			continue;
		if (at == length)
			return byte == '[' || byte == '\0';
		if (lower != name[at] &&
		    !(name[at] == '_' && byte != '\0' && strchr(". +[", byte)) &&
		    !(name[at] == '-' && byte == '_'))
			return false;
		at++;
	}
	return at == length;
}

bool host_query_overrides(const char *text, size_t size)
{
	for (size_t from = 0, i = 0; i <= size; i++) {
		if (i < size && text[i] != '&' && text[i] != ';' && text[i] != '?')
			continue;
		for (size_t j = 0; j < sizeof(overrides) / sizeof(overrides[0]); j++) {
			if (names_override(text + from, i - from, overrides[j]))
				return true;
		}
		from = i + 1;
	}
	return false;
}

bool host_path_covers(const char *rule, const char *path, size_t size)
{
	const size_t length = strlen(rule);

	if (length == 0)
		return true;
	return length <= size && memcmp(rule, path, length) == 0 &&
	       (length == size || rule[length - 1] == '/' || path[length] == '/');
}

/* Judge a request by one rule of its host. */
static enum host_request check_rule(const struct plan_request *rule,
				    const struct host_request_line *line)
{
	if (rule->path[0] != '\0' && host_path_fault(line->path, line->path_size) != NULL)
		return HOST_REQUEST_SPELLING;
	if (!host_path_covers(rule->path, line->path, line->path_size))
		return HOST_REQUEST_PATH;
	return rule->methods == 0 || (rule->methods & line->method) != 0 ? HOST_REQUEST_ALLOWED
									 : HOST_REQUEST_METHOD;
}

enum host_request host_request_check(const struct plan *plan, const struct plan_profile *profile,
				     uint32_t host, const struct host_request_line *line,
				     const struct plan_request **ret_rule)
{
	const struct plan_request *rules = plan_requests(plan, profile);
	enum host_request answer = HOST_REQUEST_PATH, one;
	bool has_rule = false;

	*ret_rule = NULL;
	for (uint32_t i = 0; i < profile->request_count; i++) {
		if (rules[i].host != host)
			continue;
		has_rule = true;
		/* plan_open() does not look into the paths: one without an end is no rule's. */
		if (memchr(rules[i].path, '\0', sizeof(rules[i].path)) == NULL)
			continue;
		one = check_rule(&rules[i], line);
		if (*ret_rule == NULL || one == HOST_REQUEST_ALLOWED || one == HOST_REQUEST_METHOD)
			*ret_rule = &rules[i];
		if (one == HOST_REQUEST_ALLOWED)
			return one;
		answer = one == HOST_REQUEST_PATH ? answer : one;
	}
	return has_rule ? answer : HOST_REQUEST_ALLOWED;
}
