/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/units.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS 86400000ULL
#define BILLION 1000000000ULL

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{ "", 1 },           { "K", 1ULL << 10 }, { "M", 1ULL << 20 },
	{ "G", 1ULL << 30 }, { "T", 1ULL << 40 },
};

static const struct unit durations[] = {
	{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", DAY_MS },
};
#define DURATION_COUNT (sizeof(durations) / sizeof(durations[0]))
#define SECONDS 1 /* in durations[] */

static const struct unit none[] = { { "", 1 } };

/* Read the digits at the start of `text`. Return a pointer behind them, or NULL. */
static const char *read_digits(const char *text, unsigned int base, uint64_t *ret)
{
	const char *next = text;
	uint64_t value = 0;

	for (; *next >= '0' && *next < (char)('0' + base); next++) {
		if (value > (UINT64_MAX - 9) / base)
			return NULL;
		value = value * base + (uint64_t)(*next - '0');
	}
	*ret = value;
	return next == text ? NULL : next;
}

static const struct unit *find_unit(const char *suffix, const struct unit *units, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(suffix, units[i].suffix) == 0)
			return &units[i];
	}
	return NULL;
}

static bool read_unit(const char *text, const struct unit *units, size_t count, uint64_t *ret)
{
	uint64_t value;
	const char *suffix = read_digits(text, 10, &value);
	const struct unit *unit = suffix ? find_unit(suffix, units, count) : NULL;

	if (unit == NULL || value > UINT64_MAX / unit->factor)
		return false;
	*ret = value * unit->factor;
	return true;
}

/* Read the digits behind a point, in 1e-9, rounded up. Return a pointer behind them. */
static const char *read_fraction(const char *text, uint64_t *ret)
{
	uint64_t place = BILLION;
	bool has_rest = false;

	*ret = 0;
	for (; *text >= '0' && *text <= '9'; text++) {
		place /= 10;
		*ret += place * (uint64_t)(*text - '0');
		has_rest = has_rest || (place == 0 && *text != '0');
	}
	*ret += has_rest ? 1 : 0;
	return text;
}

bool units_size(const char *text, uint64_t *ret_bytes)
{
	return read_unit(text, sizes, sizeof(sizes) / sizeof(sizes[0]), ret_bytes);
}

bool units_duration(const char *text, uint64_t *ret_ms)
{
	return read_unit(text, durations, DURATION_COUNT, ret_ms);
}

bool units_time(const char *text, uint64_t *ret_ms)
{
	uint64_t whole = 0;
	uint64_t billionths = 0;
	const char *next = read_digits(text, 10, &whole);
	const char *suffix = next ? next : text;
	const struct unit *unit;

	if (*suffix == '.') {
		const char *digits = suffix + 1;

		suffix = read_fraction(digits, &billionths);
		if (next == NULL && suffix == digits)
			return false;
	} else if (next == NULL) {
		return false;
	}
	unit = *suffix == '\0' ? &durations[SECONDS] : find_unit(suffix, durations, DURATION_COUNT);
	if (unit == NULL || whole >= UINT64_MAX / unit->factor)
		return false;
	*ret_ms = whole * unit->factor + (billionths * unit->factor + BILLION - 1) / BILLION;
	return true;
}

bool units_number(const char *text, uint64_t *ret)
{
	return read_unit(text, none, 1, ret);
}

bool units_mode(const char *text, uint32_t *ret)
{
	uint64_t value;
	const char *end = read_digits(text, 8, &value);

	if (end == NULL || *end != '\0' || value > 07777)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* Print the value in the largest unit that divides it. */
static void print_unit(uint64_t value, const struct unit *units, size_t count, char ret[32])
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++) {
		if (value != 0 && value % units[i].factor == 0)
			best = i;
	}
	(void)snprintf(ret, 32, "%llu%s", (unsigned long long)(value / units[best].factor),
		       units[best].suffix);
}

void units_print_size(uint64_t bytes, char ret[32])
{
	print_unit(bytes, sizes, sizeof(sizes) / sizeof(sizes[0]), ret);
}

void units_print_duration(uint64_t ms, char ret[32])
{
	/* One day is printed as 24h, as many people write it. */
	print_unit(ms, durations, ms >= 2 * DAY_MS ? DURATION_COUNT : DURATION_COUNT - 1, ret);
}
