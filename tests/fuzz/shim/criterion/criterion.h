/* SPDX-License-Identifier: Apache-2.0
 *
 * Criterion's assertions for a fuzz target: it shares the rigs of the unit tests, and what is an
 * assertion there is a finding here. Texts behind the operands are not used.
 */
#ifndef TESTS_FUZZ_SHIM_CRITERION_H
#define TESTS_FUZZ_SHIM_CRITERION_H

#include "property.h"

#define FUZZ_FIRST(first, ...) first
#define FUZZ_COMPARE(a, relation, ...) must((a)relation(FUZZ_FIRST(__VA_ARGS__, 0)))

#define cr_assert(...) must(FUZZ_FIRST(__VA_ARGS__, 0))
#define cr_assert_eq(a, ...) FUZZ_COMPARE(a, ==, __VA_ARGS__)
#define cr_assert_neq(a, ...) FUZZ_COMPARE(a, !=, __VA_ARGS__)
#define cr_assert_geq(a, ...) FUZZ_COMPARE(a, >=, __VA_ARGS__)
#define cr_assert_leq(a, ...) FUZZ_COMPARE(a, <=, __VA_ARGS__)
#define cr_assert_not_null(...) must((FUZZ_FIRST(__VA_ARGS__, 0)) != NULL)
#define cr_assert_fail(...) must(false)

#endif
