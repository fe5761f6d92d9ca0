/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/string.h"

#include <stdint.h>
#include <string.h>

#include "frontend/utf8.h"
#include "lib/json/read.h"

#define INTEGER_MAX 9007199254740991 /* 2^53 - 1 */
#define INTEGER_DIGITS 16

static uint32_t hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return (uint32_t)(digit - '0');
	return (uint32_t)((digit | 0x20) - 'a' + 10);
}

static uint32_t read_hex4(const char *digits)
{
	return hex_value(digits[0]) << 12 | hex_value(digits[1]) << 8 | hex_value(digits[2]) << 4 |
	       hex_value(digits[3]);
}

static bool is_high(uint32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Read the four digits after "\u" and a second half. Returns how many bytes of `text` were read. */
static size_t take_unit(const char *text, size_t size, uint32_t *ret, bool *ret_has_unpaired)
{
	const uint32_t unit = read_hex4(text);

	*ret = unit;
	if (is_high(unit) && size >= 10 && text[4] == '\\' && text[5] == 'u' &&
	    is_low(read_hex4(text + 6))) {
		*ret = 0x10000 + ((unit - 0xd800) << 10) + (read_hex4(text + 6) - 0xdc00);
		return 10;
	}
	if (is_high(unit) || is_low(unit))
		*ret_has_unpaired = true;
	return 4;
}

static char simple_escape(char letter)
{
	static const char letters[] = "bfnrt";
	static const char values[] = "\b\f\n\r\t";
	const char *at = strchr(letters, letter);

	return at ? values[at - letters] : letter; /* \" \\ \/ */
}

size_t json_string_decode(char *text, size_t size, bool *ret_has_unpaired)
{
	size_t from = 0;
	size_t to = 0;

	while (from < size) {
		uint32_t code_point;
		char written[4];
		size_t length;

		if (text[from] != '\\') {
			text[to++] = text[from++];
			continue;
		}
		if (text[from + 1] != 'u') {
			text[to++] = simple_escape(text[from + 1]);
			from += 2;
			continue;
		}
		from += 2;
		from += take_unit(text + from, size - from, &code_point, ret_has_unpaired);
		length = utf8_write(code_point, written);
		memcpy(text + to, written, length);
		to += length;
	}
	return to;
}

/* A number as digits and a power of ten. */
struct decimal {
	char digits[INTEGER_DIGITS]; /* without leading zeros */
	size_t count;
	bool is_too_long; /* it has more significant digits than fit */
	int64_t exponent;
};

static void add_digit(struct decimal *decimal, char digit, size_t *zeros)
{
	if (digit == '0') { /* counts only when another digit follows */
		if (decimal->count > 0)
			(*zeros)++;
		return;
	}
	if (decimal->count + *zeros + 1 > INTEGER_DIGITS) {
		decimal->is_too_long = true;
		return;
	}
	memset(decimal->digits + decimal->count, '0', *zeros);
	decimal->count += *zeros;
	*zeros = 0;
	decimal->digits[decimal->count++] = digit;
}

static int64_t read_exponent(const char *text, size_t size)
{
	const bool is_negative = size > 0 && text[0] == '-';
	int64_t exponent = 0;

	for (size_t i = 0; i < size; i++) {
		/* beyond this every number is too large or no integer */
		if (text[i] >= '0' && text[i] <= '9' && exponent < 100000000)
			exponent = 10 * exponent + (text[i] - '0');
	}
	return is_negative ? -exponent : exponent;
}

static struct decimal read_decimal(const char *text, size_t size)
{
	struct decimal decimal = { .count = 0 };
	bool is_fraction = false;
	size_t zeros = 0;
	size_t i;

	for (i = 0; i < size && text[i] != 'e' && text[i] != 'E'; i++) {
		if (text[i] == '.') {
			is_fraction = true;
		} else if (text[i] >= '0' && text[i] <= '9') {
			add_digit(&decimal, text[i], &zeros);
			decimal.exponent -= is_fraction;
		}
	}
	decimal.exponent += (int64_t)zeros; /* zeros at the end */
	if (i < size)
		decimal.exponent += read_exponent(text + i + 1, size - i - 1);
	return decimal;
}

bool json_integer(const struct json_value *value, int64_t *ret)
{
	const struct decimal decimal = read_decimal(value->text, value->size);
	int64_t number = 0;

	if (decimal.is_too_long)
		return false;
	if (decimal.count == 0) {
		*ret = 0;
		return true;
	}
	if (decimal.exponent < 0 || (int64_t)decimal.count + decimal.exponent > INTEGER_DIGITS)
		return false;
	for (size_t i = 0; i < decimal.count; i++)
		number = 10 * number + (decimal.digits[i] - '0');
	for (int64_t i = 0; i < decimal.exponent; i++)
		number *= 10;
	if (number > INTEGER_MAX)
		return false;
	*ret = value->text[0] == '-' ? -number : number;
	return true;
}
