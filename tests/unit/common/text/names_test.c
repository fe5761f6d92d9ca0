/* SPDX-License-Identifier: Apache-2.0
 *
 * The closed sets have a word for each member, and none for what is not a member.
 */
#include "common/text/names.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

Test(names, every_verdict_has_its_own_word)
{
	for (uint32_t i = 0; i < VERDICT_COUNT; i++) {
		cr_assert_str_not_empty(verdict_name(i));
		for (const char *c = verdict_name(i); *c; c++)
			cr_assert(islower(*c) || *c == '_', "%s", verdict_name(i));
		for (uint32_t k = 0; k < i; k++)
			cr_assert_str_neq(verdict_name(i), verdict_name(k));
	}
}

Test(names, every_stage_has_its_own_phrase)
{
	for (uint32_t i = 0; i < STAGE_COUNT; i++) {
		cr_assert_str_not_empty(stage_text(i));
		for (uint32_t k = 0; k < i; k++)
			cr_assert_str_neq(stage_text(i), stage_text(k));
	}
	cr_assert_eq(STAGE_NONE, 0, "zero means that nothing failed");
}

Test(names, every_layer_has_its_own_word_and_act)
{
	for (uint32_t i = 0; i < POSTURE_COUNT; i++) {
		cr_assert_str_not_empty(posture_layer_name(i));
		cr_assert_str_not_empty(posture_layer_act(i));
		for (uint32_t k = 0; k < i; k++) {
			cr_assert_str_neq(posture_layer_name(i), posture_layer_name(k));
			cr_assert_str_neq(posture_layer_act(i), posture_layer_act(k));
		}
	}
	cr_assert_leq((uint32_t)POSTURE_COUNT, 31U, "a bit for each");
}

Test(names, beyond_the_sets_is_unknown)
{
	cr_assert_str_eq(posture_layer_name(POSTURE_COUNT), "unknown");
	cr_assert_str_eq(posture_layer_act(POSTURE_COUNT), "unknown");
	cr_assert_str_eq(posture_namespace_name(POSTURE_NAMESPACE_COUNT), "unknown");
	const uint32_t beyond[] = { VERDICT_COUNT, STAGE_COUNT, 1000, UINT32_MAX };

	cr_assert_str_eq(verdict_name(VERDICT_COUNT), "unknown");
	for (size_t i = 1; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		cr_assert_str_eq(verdict_name(beyond[i]), "unknown");
		cr_assert_str_eq(stage_text(beyond[i]), "unknown");
	}
}
