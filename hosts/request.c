/* SPDX-License-Identifier: Apache-2.0 */
#include "hosts/request.h"

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

/* Return whether the text at a percent sign stands for a character that has no other meaning. */
static bool is_plain_escape(const char *text, size_t size)
{
	const int high = size > 2 ? hex_digit(text[1]) : -1;
	const int low = size > 2 ? hex_digit(text[2]) : -1;
	const int code = high * 16 + low;

	/* 0xc0 and 0xc1 begin a second spelling of a character in UTF-8. */
	return high >= 0 && low >= 0 && code >= 0x20 && code != 0x7f && code != 0xc0 &&
	       code != 0xc1 && strchr("./\\%;", code) == NULL;
}

/* Return whether a segment is one that a server may resolve away. Some drop what follows a
 * semicolon before. */
static bool is_dots(const char *segment, size_t size)
{
	const char *parameters = memchr(segment, ';', size);
	const size_t length = parameters ? (size_t)(parameters - segment) : size;

	return (length == 1 || length == 2) && memcmp(segment, "..", length) == 0;
}

const char *host_path_fault(const char *text, size_t size)
{
	size_t segment = 1;

	if (size == 0 || text[0] != '/')
		return "a path begins with /";
	for (size_t i = 1; i <= size; i++) {
		if (i == size || text[i] == '/') {
			if (is_dots(text + segment, i - segment))
				return "a path has no segment . or ..";
			if (i < size && i == segment)
				return "a path has no //";
			segment = i + 1;
		} else if (text[i] <= ' ' || text[i] >= 0x7f || strchr("\\#?", text[i]) != NULL) {
			return "a path has visible ASCII characters, without \\, # and ?";
		} else if (text[i] == '%' && !is_plain_escape(text + i, size - i)) {
			return "a path has % only before two hexadecimal digits that stand neither "
			       "for . / \\ % ; nor for a control character";
		}
	}
	return NULL;
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
