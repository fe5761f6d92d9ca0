/* SPDX-License-Identifier: Apache-2.0 */
#include "show/figures.h"
#include "common/text/format.h"

const char *figures_bytes(uint64_t bytes, char text[FIGURES_TEXT_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	const size_t last = sizeof(units) / sizeof(units[0]) - 1;
	uint64_t tenths = 0;
	uint64_t whole = bytes;
	size_t unit = 0;

	for (; whole >= 1024 && unit < last; unit++) {
		tenths = whole % 1024 * 10 / 1024;
		whole /= 1024;
	}
	if (unit > 0 && whole < 10)
		format_text(text, FIGURES_TEXT_MAX, "%llu.%llu %s", (unsigned long long)whole,
			    (unsigned long long)tenths, units[unit]);
	else
		format_text(text, FIGURES_TEXT_MAX, "%llu %s", (unsigned long long)whole,
			    units[unit]);
	return text;
}

const char *figures_span(uint64_t seconds, char text[FIGURES_TEXT_MAX])
{
	static const struct {
		uint64_t from, unit;
		const char *name;
	} units[] = {
		{ 2ULL * 86400, 86400, "days" },
		{ 2ULL * 3600, 3600, "h" },
		{ 2ULL * 60, 60, "min" },
		{ 0, 1, "s" },
	};
	size_t i = 0;

	while (seconds < units[i].from)
		i++;
	format_text(text, FIGURES_TEXT_MAX, "%llu %s",
		    (unsigned long long)((seconds + units[i].unit / 2) / units[i].unit),
		    units[i].name);
	return text;
}

const char *figures_moment(uint64_t moment_s, uint64_t now_s, char text[FIGURES_TEXT_MAX])
{
	char span[FIGURES_TEXT_MAX];

	if (moment_s == now_s)
		format_text(text, FIGURES_TEXT_MAX, "now");
	else if (moment_s < now_s)
		format_text(text, FIGURES_TEXT_MAX, "%.20s ago",
			    figures_span(now_s - moment_s, span));
	else
		format_text(text, FIGURES_TEXT_MAX, "in %.20s",
			    figures_span(moment_s - now_s, span));
	return text;
}
