/* SPDX-License-Identifier: Apache-2.0 */
#include "web.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "policy/write/compile.h"
#include "policy/write/facts.h"
#include "policy/write/show.h"

struct policy_error mistake;
struct builtin loaded;

bool load_file(const char *text)
{
	mistake = (struct policy_error){ .text = "" };
	loaded = (struct builtin){ .policy = policy_new() };
	cr_assert_eq(policy_add_builtin(loaded.policy, &mistake), 0, "%s", mistake.text);
	return policy_add(loaded.policy, "web.yaml", text, strlen(text), &mistake) == 0;
}

bool load(const char *keys)
{
	char text[4096];

	(void)snprintf(text, sizeof(text),
		       "profiles:\n"
		       "- name: web\n"
		       "  extends: default\n"
		       "  description: a way out\n"
		       "%s",
		       keys);
	return load_file(text);
}

void unload(void)
{
	buffer_done(&loaded.blob);
	loaded.policy = policy_free(loaded.policy);
}

void compile_loaded(bool is_loaded)
{
	cr_assert(is_loaded, "%s", mistake.text);
	cr_assert_eq(policy_compile(loaded.policy, &loaded.blob, &mistake), 0, "%s", mistake.text);
	cr_assert_eq(plan_open(loaded.blob.bytes, loaded.blob.size, &loaded.plan), 0);
}

void compile(const char *keys)
{
	compile_loaded(load(keys));
}

void expect_shown(const char *part)
{
	struct buffer text = { .bytes = NULL };

	policy_show(policy_find(loaded.policy, "web"), &text);
	cr_expect_not_null(strstr(text.bytes, part), "%s: %s", part, text.bytes);
	buffer_done(&text);
}

static struct decision decide_text(const char *text, struct operation *operation)
{
	const int index = plan_profile_find(&loaded.plan, "web");
	char problem[OPERATION_PROBLEM_MAX];
	struct decision decision;

	cr_assert_geq(index, 0);
	cr_assert_eq(operation_parse(text, operation, problem), 0, "%s: %s", text, problem);
	cr_assert_eq(decide(&loaded.plan, plan_profile(&loaded.plan, (uint32_t)index), operation,
			    &decision),
		     0);
	return decision;
}

enum plan_host_approval approval_of(const char *text)
{
	struct operation operation;

	return decide_text(text, &operation).approval;
}

void expect_answer(const char *text, enum decision_answer answer, int errno_seen,
		   const char *printed)
{
	char lines[DECISION_TEXT_MAX];
	struct operation operation;
	const struct decision decision = decide_text(text, &operation);

	decision_print(&loaded.plan, &operation, &decision, lines);
	cr_expect_eq(decision.answer, answer, "%s", lines);
	cr_expect_eq(decision.error, errno_seen, "%s", lines);
	cr_expect_str_eq(decision.layer, "network");
	cr_expect_not_null(strstr(lines, printed), "%s lacks: %s", lines, printed);
}

const struct plan_profile *find_compiled(const char *name)
{
	const int index = plan_profile_find(&loaded.plan, name);

	return index < 0 ? NULL : plan_profile(&loaded.plan, (uint32_t)index);
}

const char *find_variable(const char *profile_name, const char *name)
{
	const struct plan_profile *profile = find_compiled(profile_name);
	const char *at = plan_string(&loaded.plan, profile->environment);
	const char *end = at + profile->environment_size;

	for (; at < end; at += strlen(at) + 1) {
		if (strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '=')
			return at + strlen(name) + 1;
	}
	return "";
}
