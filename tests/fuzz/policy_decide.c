/* SPDX-License-Identifier: Apache-2.0
 *
 * An operation that a client writes, and what is decided of it: the first byte chooses a profile of
 * the plan, the rest is the text. The plan is that of the built-in profiles, with one that has what
 * those lack: links in circles, binds in two places, masks, modes, refused calls.
 *
 * Properties: a refusal says something, in one line of text; an operation that is printed reads as
 * itself; an answer has two lines without control characters, a layer, and a rule; what is
 * refused is never called allowed; asking again gives the same.
 */
#include <stdlib.h>
#include <string.h>

#include "common/plan/plan.h"
#include "policy/decide/decide.h"
#include "policy/read/policy.h"
#include "policy/write/compile.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char corners[] =
	"profiles:\n"
	"- name: corners\n"
	"  extends: default\n"
	"  description: what the shipped ones lack\n"
	"  files:\n"
	"    - {at: /data, kind: bind, from: /usr}\n"
	"    - {at: /data/x, kind: mask, optional: true}\n"
	"    - {at: /rw, kind: bind, from: /srv/x, access: writable}\n"
	"    - {at: /cow, kind: bind, from: /srv/x, access: copy-on-write, size: 1M, inodes: 1K}\n"
	"    - {at: /a/b/c, kind: tmpfs, size: 1M, inodes: 1K, mode: 0500}\n"
	"    - {at: /closed, kind: directory, mode: 0600}\n"
	"    - {at: /loop, kind: symlink, to: loop/loop}\n"
	"    - {at: /up, kind: symlink, to: ../a/../../a/b//c/.}\n"
	"    - {at: /a/again, kind: symlink, to: ../up/../again/x}\n"
	"  landlock:\n"
	"    - {path: /up, rights: [read]}\n"
	"    - {path: /loop, rights: [read]}\n"
	"    - {path: /rw, rights: [read, write, create]}\n"
	"    - {path: /cow/x, rights: [execute]}\n"
	"  network: hosts\n"
	"  hosts: [a.org, \"*.b.org:22\", c.org:80 private, 10.0.0.0/8:22, 168.0.0.0/8]\n"
	"  seccomp: {allow: [basic, files, network], refuse: [unlinkat]}\n";

static const struct plan *make_plan(void)
{
	static struct plan plan;
	static struct buffer blob;
	struct policy_error error = { .text = "" };
	struct policy *policy;

	if (plan.bytes)
		return &plan;
	policy = policy_new();
	must(policy_add_builtin(policy, &error) == 0);
	must(policy_add(policy, "corners.yaml", corners, strlen(corners), &error) == 0);
	must(policy_compile(policy, &blob, &error) == 0);
	must(plan_open(blob.bytes, blob.size, &plan) == 0);
	policy = policy_free(policy);
	return &plan;
}

static void check_line(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		must((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

static void check_text(const char *text)
{
	const char *second = strchr(text, '\n');

	must(strnlen(text, DECISION_TEXT_MAX) < DECISION_TEXT_MAX);
	must(second && strncmp(second, "\nrule: ", 7) == 0);
	check_line(text, (size_t)(second - text));
	check_line(second + 1, strlen(second + 1));
}

static void check_decision(const struct decision *decision, const char *text)
{
	const bool is_allowed = decision->answer <= DECISION_CONDITIONAL;

	must(decision->answer < DECISION_ANSWER_COUNT && decision->layer && decision->rule[0]);
	must(is_allowed == (strncmp(text, "allowed: ", 9) == 0));
	must(decision->answer != DECISION_CONDITIONAL || decision->condition[0] != '\0');
	must(decision->answer == DECISION_CONDITIONAL || decision->answer == DECISION_REFUSED ||
	     decision->condition[0] == '\0');
	must(!is_allowed || (decision->error == 0 && decision->remedy[0] == '\0'));
	must(decision->error == 0 || decision_error_name(decision->error)[0] != '\0');
}

static void decide_it(const struct plan *plan, uint32_t index, const struct operation *operation)
{
	char text[DECISION_TEXT_MAX], again[DECISION_TEXT_MAX];
	struct decision decision;

	must(decide(plan, plan_profile(plan, index), operation, &decision) == 0);
	decision_print(plan, operation, &decision, text);
	check_text(text);
	check_decision(&decision, text);
	must(decide(plan, plan_profile(plan, index), operation, &decision) == 0);
	decision_print(plan, operation, &decision, again);
	must(strcmp(text, again) == 0);
}

static void try_text(uint8_t choice, const char *text)
{
	const struct plan *plan = make_plan();
	char problem[OPERATION_PROBLEM_MAX] = "";
	struct operation operation, same;

	if (operation_parse(text, &operation, problem) != 0) {
		must(problem[0] && strnlen(problem, sizeof(problem)) < sizeof(problem));
		check_line(problem, strlen(problem));
		return;
	}
	must(operation_parse(operation.text, &same, problem) == 0);
	must(same.kind == operation.kind && same.transport == operation.transport &&
	     same.port == operation.port && strcmp(same.target, operation.target) == 0);
	decide_it(plan, choice % plan_profile_count(plan), &operation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	text = malloc(size); /* of exactly this size, with its NUL */
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	try_text(data[0], text);
	free(text);
	return 0;
}
