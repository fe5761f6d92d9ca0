/* SPDX-License-Identifier: Apache-2.0 */
#include "io/clock.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void expect_date(int64_t date_ms, const char *wanted)
{
	struct buffer text = { 0 };

	clock_append_date(&text, date_ms);
	cr_assert_eq(text.size, strlen(wanted));
	cr_assert_eq(memcmp(text.bytes, wanted, text.size), 0, "%.*s, not %s", (int)text.size,
		     text.bytes, wanted);
	buffer_done(&text);
}

Test(clock, dates_are_those_of_rfc_3339)
{
	expect_date(0, "1970-01-01T00:00:00.000Z");
	expect_date(951782399999, "2000-02-28T23:59:59.999Z");
	expect_date(951782400000, "2000-02-29T00:00:00.000Z");
	expect_date(1785240000123, "2026-07-28T12:00:00.123Z");
	expect_date(4107542400000, "2100-03-01T00:00:00.000Z");
	expect_date(253402300799999, "9999-12-31T23:59:59.999Z");
}

/* The C library's calendar, on each day of 500 years. */
Test(clock, every_day_is_the_c_librarys)
{
	char wanted[64];

	for (int64_t day = 0; day < 500 * 366; day++) {
		const time_t seconds = (time_t)(day * 86400 + day % 86400);
		struct tm tm;

		cr_assert(gmtime_r(&seconds, &tm));
		cr_assert_gt(strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S.007Z", &tm), 0);
		expect_date((int64_t)seconds * 1000 + 7, wanted);
	}
}

Test(clock, clocks_are_read)
{
	const int64_t before = clock_steady_ms();

	cr_assert_geq(clock_steady_ms(), before);
	cr_assert_lt(clock_date_ms() / 1000 - (int64_t)time(NULL), 2);
	cr_assert_gt(clock_date_ms() / 1000 - (int64_t)time(NULL), -2);
}
