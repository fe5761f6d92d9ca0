/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/refusal_text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "plan_blob.h"

static void put_retry(struct buffer *text, uint32_t ms)
{
	buffer_format(text, "%u ms", ms);
}

static struct buffer text;
static const struct plan *known_plan; /* in force */

static const char *put(enum refusal_audience audience, uint32_t reason, const char *detail,
		       uint32_t retry_ms, const struct refusal_words *words)
{
	const struct refusal_style style = { .audience = audience,
					     .put_word = buffer_append_text,
					     .put_detail = buffer_append_text,
					     .put_retry = put_retry };
	static struct ipc_execution_refused refused;

	refused = (struct ipc_execution_refused){ .reason = reason, .retry_ms = retry_ms };
	(void)snprintf(refused.detail, sizeof(refused.detail), "%s", detail);
	buffer_done(&text);
	refusal_text_put(&text, &style, &refused, words, known_plan);
	return text.bytes;
}

static const struct refusal_words all = { "PROFILE", "VARIABLE",   "PROGRAM",   "CWD",   "SANDBOX",
					  "NAME",    "CHECKPOINT", "WORKSPACE", "HOLDER" };
static const struct refusal_words none;

Test(refusal_text, every_refusal_has_both)
{
	for (uint32_t reason = REFUSAL_NONE + 1; reason < REFUSAL_COUNT; reason++) {
		const char *people = put(REFUSAL_FOR_PEOPLE, reason, "", 0, &none);

		cr_expect_gt(strlen(people), 10U, "%u: '%s'", reason, people);
		const size_t size = strlen(put(REFUSAL_FOR_MODELS, reason, "", 0, &none));
		cr_expect_gt(size, 10U, "%u: '%s'", reason, text.bytes);
		cr_expect(strchr(".", text.bytes[size - 1]), "%u: '%s'", reason, text.bytes);
	}
	buffer_done(&text);
}

Test(refusal_text, nothing_of_the_form_is_left)
{
	for (uint32_t reason = 0; reason <= REFUSAL_COUNT; reason++) {
		for (int i = 0; i < 16; i++) {
			const char *shown =
				put(i & 1 ? REFUSAL_FOR_PEOPLE : REFUSAL_FOR_MODELS, reason,
				    i & 2 ? "DETAIL" : "", i & 4 ? 1500 : 0, i & 8 ? &all : &none);

			cr_expect_eq(strcspn(shown, "{|}"), strlen(shown), "%u: '%s'", reason,
				     shown);
		}
	}
	buffer_done(&text);
}

Test(refusal_text, an_unknown_profile_is_refused_with_the_known_ones)
{
	static _Alignas(8) struct blob blob;
	struct plan plan;

	(void)blob_make(&blob);
	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "", 0, &none),
			 "there is no profile ''");
	known_plan = &plan;
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "", 0, &none),
			 "there is no profile ''; use --profile with one of: default");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_BUSY, "2 of 2", 0, &none),
			 "2 of 2 run already: try again in a moment");
	buffer_done(&text);
}

Test(refusal_text, a_profile_without_its_image_is_there)
{
	static const char missing[] = "one\0no image of one\0two\0no image of two";
	static const struct refusal_words two = { .profile = "two" };
	static const struct refusal_words set = { .profile = "two", .variable = "VARIABLE" };
	static const struct refusal_words three = { .profile = "three" };
	static _Alignas(8) struct blob blob;
	struct plan plan;
	const uint32_t used = blob_make(&blob);

	memcpy(blob.text + used, missing, sizeof(missing));
	blob.header.missing = (uint32_t)(offsetof(struct blob, text) + used);
	blob.header.missing_size = sizeof(missing);
	cr_assert_eq(plan_open(&blob, sizeof(blob), &plan), 0);
	known_plan = &plan;
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "", 0, &two),
			 "the profile 'two' cannot be used: no image of two");
	cr_expect_str_eq(
		put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "", 0, &set),
		"the profile 'two', which VARIABLE names, cannot be used: no image of two");
	cr_expect_str_eq(
		put(REFUSAL_FOR_MODELS, REFUSAL_PROFILE_UNKNOWN, "", 0, &two),
		"The profile \"two\" cannot be used: no image of two. Ask the user to mend "
		"that, or use another profile.");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "", 0, &three),
			 "there is no profile 'three'; use --profile with one of: default");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_SANDBOX_PROFILE, "one", 0, &none),
			 "the profile 'one' cannot be used: no image of one");
	cr_expect(strstr(put(REFUSAL_FOR_PEOPLE, REFUSAL_SANDBOX_PROFILE, "three", 0, &none),
			 "'three' is gone"));
	blob.header.missing_size = sizeof("one");
	cr_expect_eq(plan_open(&blob, sizeof(blob), &plan), -EBADMSG, "a name without a cause");
	buffer_done(&text);
}

Test(refusal_text, words_and_their_absence)
{
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "a, b", 0, &all),
			 "there is no profile 'PROFILE', which VARIABLE names; use --profile with "
			 "one of: a, b");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_PROFILE_UNKNOWN, "a, b", 0, &none),
			 "there is no profile ''; use --profile with one of: a, b");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_WORKSPACE, "DETAIL", 0, &all),
			 "sandbox 'SANDBOX' and its directory: DETAIL");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_WORKSPACE, "DETAIL", 0, &none), "DETAIL");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_WORKSPACE, "", 0, &all),
			 "the workspace WORKSPACE may not be worked on");
	buffer_done(&text);
}

Test(refusal_text, times)
{
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_BUSY, "2 of 2 executions", 1500, &none),
			 "2 of 2 executions run already: wait until one ends (in at most 1500 ms)");
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_BUSY, "2 of 2 executions", 0, &none),
			 "2 of 2 executions run already: try again in a moment");
	cr_expect_str_eq(put(REFUSAL_FOR_MODELS, REFUSAL_BUSY, "2 of 2", 1500, &none),
			 "Too many executions are running: 2 of 2. Call again when one has ended. "
			 "One ends in at most 1500 ms.");
	buffer_done(&text);
}

Test(refusal_text, one_full_stop_ends_a_sentence)
{
	cr_expect_str_eq(put(REFUSAL_FOR_MODELS, REFUSAL_WORKSPACE, "It is gone.", 0, &none),
			 "The workspace cannot be used: It is gone.");
	cr_expect_str_eq(put(REFUSAL_FOR_MODELS, REFUSAL_WORKSPACE, "it is gone", 0, &none),
			 "The workspace cannot be used: it is gone.");
	buffer_done(&text);
}

Test(refusal_text, of_no_known_reason)
{
	cr_expect_str_eq(put(REFUSAL_FOR_PEOPLE, REFUSAL_COUNT, "DETAIL", 0, &none),
			 "the supervisor refused: DETAIL");
	cr_expect_str_eq(put(REFUSAL_FOR_MODELS, REFUSAL_NONE, "DETAIL", 0, &none),
			 "The request was refused.");
	cr_expect_eq(refusal_exit_code(REFUSAL_COUNT), MSP_EXIT_USAGE);
	buffer_done(&text);
}

Test(refusal_text, exit_codes)
{
	cr_expect_eq(refusal_exit_code(REFUSAL_SANDBOX_UNKNOWN), 64);
	cr_expect_eq(refusal_exit_code(REFUSAL_SANDBOX_NAME), 64);
	cr_expect_eq(refusal_exit_code(REFUSAL_SANDBOX_BUSY), 75);
	cr_expect_eq(refusal_exit_code(REFUSAL_SANDBOX_ELSEWHERE), 75);
	cr_expect_eq(refusal_exit_code(REFUSAL_SANDBOX_DAMAGED), 125);
	cr_expect_eq(refusal_exit_code(REFUSAL_DISK), 75);
	cr_expect_eq(refusal_exit_code(REFUSAL_CHECKPOINT_UNKNOWN), 64);
	cr_expect_eq(refusal_exit_code(REFUSAL_APPLY), 78);
	cr_expect_eq(refusal_exit_code(REFUSAL_STATE), 78);
	cr_expect_eq(refusal_exit_code(REFUSAL_AUDIT), 125);
}
