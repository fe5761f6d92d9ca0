/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/units.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

Test(units, right_values)
{
	uint64_t value;
	uint32_t mode;

	cr_assert(units_size("0", &value) && value == 0);
	cr_assert(units_size("512", &value) && value == 512);
	cr_assert(units_size("64K", &value) && value == 65536);
	cr_assert(units_size("2G", &value) && value == 2147483648ULL);
	cr_assert(units_size("16777215T", &value) && value == 16777215ULL << 40);
	cr_assert(units_duration("500ms", &value) && value == 500);
	cr_assert(units_duration("60s", &value) && value == 60000);
	cr_assert(units_duration("10m", &value) && value == 600000);
	cr_assert(units_duration("1h", &value) && value == 3600000);
	cr_assert(units_duration("7d", &value) && value == 604800000);
	cr_assert(units_number("18446744073709551609", &value) && value == UINT64_MAX - 6);
	cr_assert(units_mode("1777", &mode) && mode == 01777);
	cr_assert(units_mode("0", &mode) && mode == 0);
}

Test(units, wrong_values)
{
	static const char *const sizes[] = { "",
					     " 1",
					     "1 ",
					     "-1",
					     "+1",
					     "1.5G",
					     "K",
					     "1KB",
					     "1k",
					     "0x10",
					     "1e3",
					     "16777216T",
					     "18446744073709551616",
					     "99999999999999999999999" };
	static const char *const durations[] = { "",    "1",    "s",
						 "1 s", "-1s",  "1D",
						 "1S",  "1.5s", "18446744073709551615h" };
	static const char *const numbers[] = { "", "1K", "-1", "1s", "18446744073709551616" };
	static const char *const modes[] = { "", "8", "10000", "0o755", "rwx", "-1", "07778" };
	uint64_t value = 42;
	uint32_t mode = 42;

	for (size_t i = 0; i < COUNT(sizes); i++)
		cr_expect_not(units_size(sizes[i], &value), "%s", sizes[i]);
	for (size_t i = 0; i < COUNT(durations); i++)
		cr_expect_not(units_duration(durations[i], &value), "%s", durations[i]);
	for (size_t i = 0; i < COUNT(numbers); i++)
		cr_expect_not(units_number(numbers[i], &value), "%s", numbers[i]);
	for (size_t i = 0; i < COUNT(modes); i++)
		cr_expect_not(units_mode(modes[i], &mode), "%s", modes[i]);
	cr_expect_eq(value, 42);
	cr_expect_eq(mode, 42);
}

Test(units, what_is_printed_reads_back)
{
	static const uint64_t values[] = { 0,
					   1,
					   999,
					   1000,
					   1024,
					   1536,
					   60000,
					   65536,
					   3600000,
					   1ULL << 30,
					   (1ULL << 40) + 1,
					   1ULL << 41 };
	char text[32];
	uint64_t value;

	for (size_t i = 0; i < COUNT(values); i++) {
		units_print_size(values[i], text);
		cr_expect(units_size(text, &value) && value == values[i], "%s", text);
		units_print_duration(values[i], text);
		cr_expect(units_duration(text, &value) && value == values[i], "%s", text);
	}
	units_print_size(2ULL << 30, text);
	cr_expect_str_eq(text, "2G");
	units_print_duration(60000, text);
	cr_expect_str_eq(text, "1m");
}

Test(units, times)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} right[] = { { "10", 10000 },     { "10s", 10000 },         { "1.5s", 1500 },
		      { ".5m", 30000 },    { "1.", 1000 },           { "0", 0 },
		      { "500ms", 500 },    { "0.0001ms", 1 },        { "1.0005", 1001 },
		      { "7d", 604800000 }, { "0.0000000000001s", 1 } };
	static const char *const wrong[] = { "",
					     ".",
					     ".s",
					     "s",
					     "-1",
					     "+1s",
					     " 1",
					     "1 s",
					     "1.5.5s",
					     "1M",
					     "1e3",
					     "1S",
					     "18446744073709551615s" };
	uint64_t ms;

	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		cr_expect(units_time(right[i].text, &ms), "%s", right[i].text);
		cr_expect_eq(ms, right[i].ms, "%s", right[i].text);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_not(units_time(wrong[i], &ms), "'%s'", wrong[i]);
}
