/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/kernel_version.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DIGITS "0123456789"

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Order what is no digit. A hyphen ends what belongs together, so it comes before all but the end
 * and what is before a release. */
static int rank_at(const char *text)
{
	const bool is_candidate = strncmp(text, "-rc", 3) == 0 && is_digit(text[3]);

	if (*text == '~' || is_candidate)
		return -1;
	if (*text == '\0' || is_digit(*text))
		return 0;
	return *text == '-' ? 1 : (unsigned char)*text + 1;
}

/* Compare the numbers at which both texts are, and go behind them. */
static int compare_numbers(const char **left, const char **right)
{
	size_t left_size, right_size;
	int order;

	*left += strspn(*left, "0");
	*right += strspn(*right, "0");
	left_size = strspn(*left, DIGITS);
	right_size = strspn(*right, DIGITS);
	if (left_size != right_size)
		return left_size < right_size ? -1 : 1;
	order = strncmp(*left, *right, left_size);
	*left += left_size;
	*right += right_size;
	return order;
}

int kernel_version_compare(const char *left, const char *right)
{
	int order = 0;

	while (order == 0 && (*left || *right)) {
		while (order == 0 &&
		       ((*left && !is_digit(*left)) || (*right && !is_digit(*right)))) {
			order = rank_at(left) - rank_at(right);
			left += *left && order == 0;
			right += *right && order == 0;
		}
		if (order == 0)
			order = compare_numbers(&left, &right);
	}
	return order;
}
