/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration, as msp-policy reads it: YAML, profiles, plan, and what is shown of them.
 * The parent that its profiles can extend is the small one of the unit tests: making the built-in
 * profiles takes far longer than all the rest.
 *
 * Properties: a refusal names the file and a line and says what was expected, in one line of text;
 * what compiles passes the check that the supervisor makes, and compiles to the same bytes again; a
 * profile does not differ from itself, and two differ by as many lines either way.
 */
#include <stdlib.h>
#include <string.h>

#include "common/plan/plan.h"
#include "policy/read/policy.h"
#include "policy/read/source.h"
#include "policy/write/compile.h"
#include "policy/write/show.h"
#include "property.h"
#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_NAME "fuzz.yaml"

static void check_refusal(const struct policy_error *error)
{
	const size_t size = strnlen(error->text, sizeof(error->text));

	must(size > 0 && size < sizeof(error->text));
	must(strncmp(error->text, FILE_NAME ":", strlen(FILE_NAME) + 1) == 0);
	must(error->text[strlen(FILE_NAME) + 1] >= '1' &&
	     error->text[strlen(FILE_NAME) + 1] <= '9');
	/* What is quoted from the file may have left no room for it. */
	must(strstr(error->text, "expected ") != NULL || size == sizeof(error->text) - 1);
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

static size_t difference(const struct policy *policy, uint32_t a, uint32_t b)
{
	struct buffer text = { .bytes = NULL };
	size_t lines = 0;

	policy_diff(policy_at(policy, a), policy_at(policy, b), &text);
	for (size_t i = 0; i < text.size; i++)
		lines += text.bytes[i] == '\n';
	buffer_done(&text);
	return lines;
}

static void compare(const struct policy *policy)
{
	const uint32_t last = policy_count(policy) - 1;

	must(difference(policy, last, last) == 0);
	must(difference(policy, 0, last) == difference(policy, last, 0));
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

	if (policy_add(policy, FILE_NAME, text, size, &error) != 0) {
		check_refusal(&error);
		return;
	}
	if (policy_count(policy) == 0) /* in the product, the built-in ones are always there */
		return;
	show_all(policy);
	compare(policy);
	compile(policy);
}

static bool has_child(const struct source *source)
{
	for (uint32_t i = 0; i < source_profiles(source); i++) {
		if (node_text(source_profile(source, i), "extends") != NULL)
			return true;
	}
	return node_find(&source->root, "agents") != NULL;
}

static void add_parent(struct policy *policy)
{
	struct policy_error error = { .text = "" };
	char *parent = config_of(good_profile);

	must(policy_add(policy, "mine.yaml", parent, strlen(parent), &error) == 0);
	free(parent);
}

static void try_text(const char *text, size_t size)
{
	struct policy_error error = { .text = "" };
	struct source *source = source_load(FILE_NAME, text, size, &error);
	struct policy *policy;

	if (!source) { /* nothing of what is below would be reached */
		check_refusal(&error);
		return;
	}
	policy = policy_new();
	if (has_child(source))
		add_parent(policy);
	source = source_free(source);
	add(policy, text, size);
	policy = policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = property_copy(data, size);

	try_text(text, size);
	free(text);
	return 0;
}
