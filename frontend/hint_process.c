/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages about processes that the sandbox does not have, or does not let be traced.
 */
#include "frontend/hint_search.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_of_word(char byte)
{
	return isalnum((unsigned char)byte) || (byte && strchr("._-", byte));
}

/* Return whether the command has the number as a word of its own: then it is no process that the
 * command itself started. */
static bool has_number(const char *command, const char *number, size_t size)
{
	for (const char *at = strstr(command, number); at; at = strstr(at + 1, number)) {
		if ((at == command || !is_of_word(at[-1])) && !is_of_word(at[size]))
			return true;
	}
	return false;
}

/* Find the last number before the words, which the command must have as well; 0: none. */
static unsigned long find_in_line(const struct search *search, const struct finding *finding)
{
	const char *end = finding->words, *begin;
	char number[12];

	while (end > finding->line && !isdigit((unsigned char)end[-1]))
		end--;
	begin = end;
	while (begin > finding->line && isdigit((unsigned char)begin[-1]))
		begin--;
	if (begin == end || (size_t)(end - begin) >= sizeof(number) ||
	    (begin - finding->line >= 5 && strncmp(begin - 5, "rrno ", 5) == 0))
		return 0;
	SAY(number, "%.*s", (int)(end - begin), begin);
	return has_number(search->command, number, strlen(number)) ? strtoul(number, NULL, 10) : 0;
}

/* Find a process ID among the arguments of a debugger, or of a kill() that takes it first; 0: none.
 */
static unsigned long find_in_command(const struct search *search)
{
	static const char *const marks[] = { " -p ", " --pid ", " --pid=", "attach ", ".kill(" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *at = strstr(search->command, marks[i]);

		if (at && isdigit((unsigned char)at[strlen(marks[i])]))
			return strtoul(at + strlen(marks[i]), NULL, 10);
	}
	return 0;
}

/* The init cannot be traced under any profile, also where the profile allows the call. */
static void add_untraceable(const struct search *search)
{
	struct denial_view *view;

	for (uint32_t i = 0; i < search->views->count; i++) {
		if (strcmp(search->views->items[i].operation, "ptrace") == 0)
			search->views->items[i].weight = DENIAL_LAST;
	}
	view = hint_add_view(search, "sandbox", "trace", "process 1");
	if (!view)
		return;
	SAY(view->reason, "process 1 is no process of the run");
	SAY(view->remedy, "none: no profile can allow it");
	SAY(view->hint, "process 1 is the sandbox's own and cannot be traced");
}

bool hint_judge_process(const struct search *search, const struct finding *finding)
{
	struct denial_views *views = search->views;
	unsigned long id = find_in_line(search, finding);

	if (id == 0)
		id = find_in_command(search);
	if (finding->phrase->error == EPERM && id == 1)
		add_untraceable(search);
	else if (finding->phrase->error == EPERM || id == 0)
		return false;
	else if (!views->note[0] && search->is_clear)
		SAY(views->note,
		    "nothing in this sandbox has process ID %lu; processes outside of it "
		    "cannot be seen",
		    id);
	return true;
}
