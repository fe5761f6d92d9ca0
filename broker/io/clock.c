/* SPDX-License-Identifier: Apache-2.0 */
#include "io/clock.h"

#include <inttypes.h>
#include <time.h>

#include "common/clock.h"
#include "lib/heap/memory.h"

#define DAY_MS INT64_C(86400000)
/* Days of 400 years, after which the Gregorian calendar repeats. */
#define ERA_DAYS 146097
/* From 0000-03-01, where a year ends with its leap day, to 1970-01-01. */
#define DAYS_TO_1970 719468

int64_t clock_steady_ms(void)
{
	return (int64_t)(clock_now_us() / 1000);
}

int64_t clock_date_ms(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		bug("a clock that cannot be read");
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct date {
	int64_t year;
	int month, day;
};

/* Years begin with March here, so that the lengths of the eleven months before February repeat in
 * fives of 153 days. */
static struct date date_of(int64_t days_since_1970)
{
	const int64_t days = days_since_1970 + DAYS_TO_1970;
	const int day_of_era = (int)(days % ERA_DAYS);
	const int year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
				 day_of_era / (ERA_DAYS - 1)) /
				365;
	const int day_of_year =
		day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	const int month_from_march = (5 * day_of_year + 2) / 153;
	struct date ret;

	ret.day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
	ret.month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
	ret.year = days / ERA_DAYS * 400 + year_of_era + (ret.month <= 2);
	return ret;
}

void clock_append_date(struct buffer *text, int64_t date_ms)
{
	const struct date date = date_of(date_ms / DAY_MS);
	const int ms = (int)(date_ms % DAY_MS);

	buffer_format(text, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02d.%03dZ", date.year, date.month,
		      date.day, ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

void clock_put_date(struct json_writer *writer, const char *key, int64_t date_ms)
{
	struct buffer text = { 0 };

	clock_append_date(&text, date_ms);
	json_put_string(writer, key, text.bytes, text.size);
	buffer_done(&text);
}
