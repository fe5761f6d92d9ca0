/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"

#include "common/limits.h"
#include "common/log.h"
#include "frontend/utf8.h"
#include "policy/decide/decide.h"

#include <string.h>

/* Append lines that say words of the command line, which can be a stranger's names of files. */
static void append_lines(struct buffer *text, char *lines)
{
	for (char *rest = lines, *line; (line = strsep(&rest, "\n")) != NULL;) {
		utf8_make_line(line);
		buffer_format(text, "%s\n", line);
	}
}

/* Print the answer to one operation: one argument, or all remaining words. */
static int explain_one(const struct plan *plan, const struct plan_profile *profile,
		       const char *text, struct buffer *ret)
{
	char problem[OPERATION_PROBLEM_MAX], lines[DECISION_TEXT_MAX];
	struct operation operation;
	struct decision decision;

	if (operation_parse(text, &operation, problem) != 0) {
		log_line("%s: %s", text, problem);
		return MSP_EXIT_USAGE;
	}
	if (decide(plan, profile, &operation, &decision) != 0)
		return MSP_EXIT_SOFTWARE;
	decision_print(plan, &operation, &decision, lines);
	append_lines(ret, lines);
	return 0;
}

int explain(const struct plan *plan, int count, const char *const *arguments, struct buffer *text)
{
	const int index = plan_profile_find(plan, arguments[0]);
	struct buffer words = { .bytes = NULL };
	const struct plan_profile *profile;
	int result = 0;

	if (index < 0 || plan_is_internal(plan, plan_profile(plan, (uint32_t)index))) {
		log_line("there is no profile %s; see msp-policy --help", arguments[0]);
		return MSP_EXIT_USAGE;
	}
	profile = plan_profile(plan, (uint32_t)index);
	if (strchr(arguments[1], ' ') ==
	    NULL) { /* a single word: the next arguments belong to it */
		for (int i = 1; i < count; i++)
			buffer_format(&words, "%s%s", i > 1 ? " " : "", arguments[i]);
		result = explain_one(plan, profile, words.bytes, text);
		buffer_done(&words);
		return result;
	}
	for (int i = 1; i < count && result == 0; i++)
		result = explain_one(plan, profile, arguments[i], text);
	return result;
}
