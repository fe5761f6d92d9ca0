/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/posture_text.h"

#include <criterion/criterion.h>

Test(posture_text, controllers_have_words)
{
	static const char *const expected[] = { "cpu", "memory", "pids", "io" };

	for (uint32_t i = 0; i < 4; i++)
		cr_assert_str_eq(posture_controller_name(1U << i), expected[i]);
	cr_assert_null(posture_controller_name(1U << 4));
}
