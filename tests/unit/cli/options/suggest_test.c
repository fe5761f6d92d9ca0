/* SPDX-License-Identifier: Apache-2.0 */
#include "options/suggest.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

static const char *const words[] = { "run", "serve", "doctor", "client-config", "version", "help" };

#define COUNT (sizeof(words) / sizeof(words[0]))

Test(suggest, finds_slips)
{
	cr_expect_str_eq(suggest_nearest("run", words, COUNT), "run");
	cr_expect_str_eq(suggest_nearest("rnu", words, COUNT), "run");
	cr_expect_str_eq(suggest_nearest("ru", words, COUNT), "run");
	cr_expect_str_eq(suggest_nearest("runn", words, COUNT), "run");
	cr_expect_str_eq(suggest_nearest("docter", words, COUNT), "doctor");
	cr_expect_str_eq(suggest_nearest("client-confg", words, COUNT), "client-config");
	cr_expect_str_eq(suggest_nearest("clientconfig", words, COUNT), "client-config");
	cr_expect_str_eq(suggest_nearest("verison", words, COUNT), "version");
}

Test(suggest, appends_a_question_to_a_text)
{
	char text[64] = "no 'rnu'";

	suggest_append(text, sizeof(text), "install", words, COUNT);
	cr_expect_str_eq(text, "no 'rnu'");
	suggest_append(text, sizeof(text), "rnu", words, COUNT);
	cr_expect_str_eq(text, "no 'rnu' (did you mean 'run'?)");
}

Test(suggest, keeps_quiet_about_other_words)
{
	cr_expect_null(suggest_nearest("exec", words, COUNT));
	cr_expect_null(suggest_nearest("", words, COUNT));
	cr_expect_null(suggest_nearest("install", words, COUNT));
	cr_expect_null(suggest_nearest("run", words, 0));
}

Test(suggest, survives_long_words)
{
	char word[4096];

	memset(word, 'r', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	cr_expect_null(suggest_nearest(word, words, COUNT));
	word[32] = '\0'; /* the longest that is compared */
	cr_expect_null(suggest_nearest(word, words, COUNT));
}
