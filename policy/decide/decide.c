/* SPDX-License-Identifier: Apache-2.0
 *
 * Pass a question to the part that decides it, and print the answer.
 */
#include "policy/decide/decide.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "policy/decide/decide_parts.h"

static void (*const parts[OPERATION_KIND_COUNT])(const struct question *) = {
	[OPERATION_READ] = decide_file,       [OPERATION_WRITE] = decide_file,
	[OPERATION_CREATE] = decide_file,     [OPERATION_DELETE] = decide_file,
	[OPERATION_LIST] = decide_file,       [OPERATION_EXEC] = decide_file,
	[OPERATION_CONNECT] = decide_network, [OPERATION_RESOLVE] = decide_name,
	[OPERATION_BIND] = decide_network,    [OPERATION_REQUEST] = decide_request,
	[OPERATION_USE] = decide_use,         [OPERATION_SYSCALL] = decide_call,
};

static const char *const answer_names[DECISION_ANSWER_COUNT] = {
	[DECISION_ALLOWED] = "allowed",
	[DECISION_CONDITIONAL] = "conditional",
	[DECISION_REFUSED] = "refused",
	[DECISION_ABSENT] = "absent",
};

/* Replace a remedy that was cut: a part of an entry would be refused. */
static void replace_cut(struct decision *ret)
{
	const size_t size = strlen(ret->remedy);

	if (size >= 3 && strcmp(ret->remedy + size - 3, "...") == 0)
		DECISION_SAY(ret->remedy, OPERATORS "an entry for this path");
}

int decide(const struct plan *plan, const struct plan_profile *profile,
	   const struct operation *operation, struct decision *ret)
{
	if ((unsigned int)operation->kind >= OPERATION_KIND_COUNT)
		return -EINVAL;
	*ret = (struct decision){ .layer = "mounts" };
	struct question question = { plan, profile, operation, ret, { .is_address = false } };

	/* operation_parse() has read a host, too; another target has no entry in any list */
	(void)host_wanted_read(operation->target, &question.wanted);
	parts[operation->kind](&question);
	replace_cut(ret);
	return 0;
}

const char *decision_answer_name(enum decision_answer answer)
{
	return answer_names[answer];
}

const char *decision_error_name(int error)
{
	static const char *const names[] = {
		[0] = "",
#define ERRNO(name, text) [name] = #name,
#include "common/text/errno.def"
#undef ERRNO
	};

	return names[error];
}

static void PRINTF_LIKE(3, 4) add_text(char *text, size_t *used, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text + *used, DECISION_TEXT_MAX - *used, format, arguments);
	va_end(arguments);
	if (length > 0)
		*used += (size_t)length;
	if (*used >= DECISION_TEXT_MAX) /* a file name of absurd length */
		*used = DECISION_TEXT_MAX - 1;
}

static void add_approval(const struct operation *operation, enum plan_host_approval approval,
			 char *text, size_t *used)
{
	if (approval != PLAN_HOST_APPROVAL_NEVER)
		add_text(text, used, "; can be approved with %smsp network approve %s:%u",
			 approval == PLAN_HOST_APPROVAL_ASK ? "the tool request_host or " : "",
			 operation->target,
			 operation->port != 0 ? (unsigned int)operation->port : HOST_PORT_DEFAULT);
}

void decision_print(const struct plan *plan, const struct operation *operation,
		    const struct decision *decision, char text[DECISION_TEXT_MAX])
{
	const char *error = errno_text(decision->error);
	const bool is_allowed = decision->answer <= DECISION_CONDITIONAL;
	size_t used = 0;

	add_text(text, &used, "%s: %s",
		 is_allowed ? answer_names[DECISION_ALLOWED] : answer_names[decision->answer],
		 operation->text);
	if (decision->condition[0] != '\0')
		add_text(text, &used, ", %s", decision->condition);
	if (decision->error != 0)
		add_text(text, &used, ": %c%s", tolower((unsigned char)error[0]), error + 1);
	add_text(text, &used, "\nrule: %s", decision->rule);
	if (decision->origin.file != 0)
		add_text(text, &used, " (%s:%u)", plan_string(plan, decision->origin.file),
			 decision->origin.line);
	add_approval(operation, decision->approval, text, &used);
	if (decision->remedy[0] != '\0')
		add_text(text, &used, "; remedy: %s", decision->remedy);
}
