/* SPDX-License-Identifier: Apache-2.0 */
#include "io/clock.h"

#include <time.h>

#include "common/clock.h"
#include "lib/heap/memory.h"

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

void clock_append_date(struct buffer *text, int64_t date_ms)
{
	const time_t seconds = date_ms / 1000;
	struct tm date;

	if (!gmtime_r(&seconds, &date))
		bug("a date beyond all years");
	buffer_format(text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", date.tm_year + 1900,
		      date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec,
		      (int)(date_ms % 1000));
}

void clock_put_date(struct json_writer *writer, const char *key, int64_t date_ms)
{
	struct buffer text = { 0 };

	clock_append_date(&text, date_ms);
	json_put_string(writer, key, text.bytes, text.size);
	buffer_done(&text);
}
