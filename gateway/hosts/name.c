/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hosts/name.h"

#include <stdbool.h>
#include <string.h>

#define LABEL_MAX 63U

static const char *const rules[HOST_FAULT_COUNT] = {
	[HOST_SOUND] = "",
	[HOST_EMPTY] = "a name has at least one letter or digit",
	[HOST_LONG] = "a name has at most 253 bytes",
	[HOST_LABEL_EMPTY] = "a name has no dot at its beginning, and no two in a row",
	[HOST_LABEL_LONG] = "a name has at most 63 bytes between two dots",
	[HOST_LABEL_HYPHEN] = "no part of a name begins or ends with a hyphen",
	[HOST_FOREIGN] = "a name of another script is written as programs send it: xn--...",
	[HOST_CHARACTER] = "a name has letters, digits, hyphens, underscores and dots",
	[HOST_ENDS_IN_NUMBER] = "no name ends in a number; write an address in full: 127.0.0.1",
	[HOST_WILDCARD] = "an asterisk stands for the whole first part of a name: *.example.org",
};

/* No function of the C library: the locale of a process decides what these call a letter. */
static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_lower(char byte)
{
	return byte >= 'a' && byte <= 'z';
}

static char lower_byte(char byte)
{
	return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

static enum host_fault check_byte(char byte)
{
	if (is_lower(byte) || is_digit(byte) || byte == '-' || byte == '_' || byte == '.')
		return HOST_SOUND;
	return ((unsigned char)byte & 0x80U) != 0 ? HOST_FOREIGN : HOST_CHARACTER;
}

/* Check the labels of a name of known bytes. Set the beginning of the last one. */
static enum host_fault check_labels(const char *name, size_t size, size_t *ret_last)
{
	size_t start = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i < size && name[i] != '.')
			continue;
		if (i == start)
			return HOST_LABEL_EMPTY;
		if (i - start > LABEL_MAX)
			return HOST_LABEL_LONG;
		if (name[start] == '-' || name[i - 1] == '-')
			return HOST_LABEL_HYPHEN;
		*ret_last = start;
		start = i + 1;
	}
	return HOST_SOUND;
}

/* Return whether inet_aton(3) takes the label for a number: decimal, octal or hexadecimal. The
 * URL standard also counts "0x" alone, and digits that are no octal number. */
static bool is_number(const char *label, size_t size)
{
	const bool is_hex = size >= 2 && label[0] == '0' && label[1] == 'x';

	for (size_t i = is_hex ? 2 : 0; i < size; i++) {
		if (!is_digit(label[i]) && !(is_hex && label[i] >= 'a' && label[i] <= 'f'))
			return false;
	}
	return true;
}

enum host_fault host_name_read(const char *text, size_t size, char ret[HOST_NAME_MAX_SIZE])
{
	char name[HOST_NAME_MAX_SIZE] = "";
	enum host_fault fault = HOST_SOUND;
	size_t last = 0;

	if (size > 1 && text[size - 1] == '.')
		size--;
	if (size == 0)
		return HOST_EMPTY;
	if (size >= sizeof(name))
		return HOST_LONG;
	for (size_t i = 0; i < size && fault == HOST_SOUND; i++) {
		name[i] = lower_byte(text[i]);
		fault = check_byte(name[i]);
	}
	if (fault == HOST_SOUND)
		fault = check_labels(name, size, &last);
	if (fault == HOST_SOUND && is_number(name + last, size - last))
		fault = HOST_ENDS_IN_NUMBER;
	if (fault == HOST_SOUND)
		memcpy(ret, name, size + 1);
	return fault;
}

static bool is_below(const char *name, const char *parent)
{
	const size_t size = strlen(name), length = strlen(parent);

	return size >= length && strcmp(name + size - length, parent) == 0 &&
	       (size == length || name[size - length - 1] == '.');
}

const char *host_name_never(const char *name)
{
	if (is_below(name, "localhost"))
		return "the sandbox itself, which needs no entry";
	/* RFC 6761; resolver.h relies on it. */
	return is_below(name, "invalid") ? "a name that no host has" : NULL;
}

const char *host_fault_rule(enum host_fault fault)
{
	return rules[fault];
}
