/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/numbers.h"

#include "policy/read/units.h"

#include <stdio.h>
#include <string.h>

static const char *const examples[] = {
	[UNIT_SIZE] = "a size such as 64M or 2G",
	[UNIT_DURATION] = "a time such as 500ms, 60s or 10m",
	[UNIT_SECONDS] = "whole seconds such as 30s, or 0s for no limit",
	[UNIT_SPAN] = "a span such as 30s, 10m or 7d",
	[UNIT_NUMBER] = "a whole number",
	[UNIT_AMOUNT] = "an amount such as 500, 64K or 1M",
};

static bool read_seconds(const char *text, uint64_t *ret)
{
	uint64_t ms;

	if (!units_duration(text, &ms) || ms % 1000 != 0)
		return false;
	*ret = ms / 1000;
	return true;
}

static bool read_value(enum number_unit unit, const char *text, uint64_t *ret)
{
	switch (unit) {
	case UNIT_SIZE:
	case UNIT_AMOUNT:
		return units_size(text, ret);
	case UNIT_DURATION:
		return units_duration(text, ret);
	case UNIT_SECONDS:
	case UNIT_SPAN:
		return read_seconds(text, ret);
	case UNIT_NUMBER:
		return units_number(text, ret);
	}
	return false;
}

static void print_value(enum number_unit unit, uint64_t value, char ret[32])
{
	switch (unit) {
	case UNIT_SIZE:
	case UNIT_AMOUNT:
		units_print_size(value, ret);
		break;
	case UNIT_DURATION:
		units_print_duration(value, ret);
		break;
	case UNIT_SECONDS:
	case UNIT_SPAN:
		units_print_duration(value * 1000, ret);
		if (value == 0)
			(void)snprintf(ret, 32, "0s");
		break;
	case UNIT_NUMBER:
		(void)snprintf(ret, 32, "%llu", (unsigned long long)value);
		break;
	}
}

bool number_read(const struct number *number, const char *text, uint64_t *ret,
		 char problem[NUMBER_PROBLEM_MAX])
{
	char least[32], most[32];
	uint64_t value;

	if (!read_value(number->unit, text, &value)) {
		(void)snprintf(problem, NUMBER_PROBLEM_MAX,
			       "\"%.100s\" is not understood; expected %s", text,
			       examples[number->unit]);
		return false;
	}
	if (value < number->least || value > number->most) {
		print_value(number->unit, number->least, least);
		print_value(number->unit, number->most, most);
		(void)snprintf(problem, NUMBER_PROBLEM_MAX,
			       "%.100s is out of range; expected %s to %s", text, least, most);
		return false;
	}
	*ret = value;
	return true;
}

static void store_number(struct plan_profile *numbers, const struct number *number, uint64_t value)
{
	uint8_t *place = (uint8_t *)numbers + number->kept;
	const uint32_t half = (uint32_t)value;

	if (number->kept_bytes == sizeof(half))
		memcpy(place, &half, sizeof(half));
	else
		memcpy(place, &value, sizeof(value));
}

static uint64_t fetch_number(const struct plan_profile *numbers, const struct number *number)
{
	const uint8_t *place = (const uint8_t *)numbers + number->kept;
	uint32_t half;
	uint64_t value;

	if (number->kept_bytes == sizeof(half)) {
		memcpy(&half, place, sizeof(half));
		return half;
	}
	memcpy(&value, place, sizeof(value));
	return value;
}

int numbers_apply(const struct reading *reading, const struct number *numbers, uint32_t count,
		  const void *said, struct origin *origins, uint32_t *ret_said)
{
	char problem[NUMBER_PROBLEM_MAX];
	uint64_t value;

	for (uint32_t i = 0; said != NULL && i < count; i++) {
		const char *text;

		memcpy(&text, (const uint8_t *)said + numbers[i].said, sizeof(text));
		if (text == NULL)
			continue;
		if (!number_read(&numbers[i], text, &value, problem))
			return reading_fail(reading, numbers[i].key, "%s", problem);
		store_number(&reading->profile->numbers, &numbers[i], value);
		origins[i] = reading_origin(reading, numbers[i].key);
		*ret_said |= 1U << i;
	}
	return 0;
}

int numbers_check(const struct reading *reading, const struct number *numbers, uint32_t count,
		  uint32_t said)
{
	for (uint32_t i = 0; i < count; i++) {
		if ((said & (1U << i)) == 0)
			return reading_fail(reading, numbers[i].key, "missing; expected %s",
					    examples[numbers[i].unit]);
	}
	return 0;
}

const char *number_value(const struct profile *profile, const struct number *number, char ret[32])
{
	print_value(number->unit, fetch_number(&profile->numbers, number), ret);
	return strchr(number->key, '.') + 1;
}
