/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile's file, as msp-policy reads it: YAML, profile, plan, and what is shown of it.
 * The parent that it can extend is the small one of the unit tests: making the built-in profiles
 * takes far longer than all the rest.
 *
 * Properties: a refusal says something, in one line of text; what compiles passes the check that
 * the supervisor makes, and compiles to the same bytes again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/plan.h"
#include "policy/policy.h"
#include "policy/source.h"
#include "property.h"
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct policy_error *error)
{
	const size_t size = strnlen(error->text, sizeof(error->text));

	must(size > 0 && size < sizeof(error->text));
	for (size_t i = 0; i < size; i++)
		must((unsigned char)error->text[i] >= ' ' && error->text[i] != 0x7f);
}

static void show_all(const struct policy *policy)
{
	for (uint32_t i = 0; i < policy_count(policy); i++) {
		struct buffer text = { .bytes = NULL };

		policy_show(policy_at(policy, i), &text);
		policy_show_seccomp(policy_at(policy, i), &text);
		must(text.size > 0);
		buffer_done(&text);
	}
}

static void compile(const struct policy *policy)
{
	struct policy_error error = { .text = "" };
	struct buffer blob = { .bytes = NULL }, again = { .bytes = NULL };
	struct plan plan;

	if (policy_compile(policy, &blob, &error) != 0) {
		check_refusal(&error);
	} else {
		must(plan_open(blob.bytes, blob.size, &plan) == 0);
		must(policy_compile(policy, &again, &error) == 0 && again.size == blob.size &&
		     memcmp(again.bytes, blob.bytes, blob.size) == 0);
	}
	buffer_done(&blob);
	buffer_done(&again);
}

static void add(struct policy *policy, const char *text, size_t size)
{
	struct policy_error error = { .text = "" };

	if (policy_add(policy, "fuzz.yaml", text, size, &error) != 0) {
		check_refusal(&error);
		return;
	}
	show_all(policy);
	compile(policy);
}

static void try_text(const char *text, size_t size)
{
	struct policy_error error = { .text = "" };
	struct source *source = source_load("fuzz.yaml", text, size, &error);
	struct policy *policy;

	if (!source) { /* nothing of what is below would be reached */
		check_refusal(&error);
		return;
	}
	policy = policy_new();
	if (source->profile->extends)
		must(policy_add(policy, "mine.yaml", good_profile, strlen(good_profile), &error) ==
		     0);
	source = source_free(source);
	add(policy, text, size);
	policy = policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1); /* of exactly this size */

	must(text != NULL);
	memcpy(text, data, size);
	try_text(text, size);
	free(text);
	return 0;
}
