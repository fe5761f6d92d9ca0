/* SPDX-License-Identifier: Apache-2.0 */
#include "show/line_diff.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

static void shows(const char *old, const char *now, const char *hunk)
{
	struct buffer before = { 0 };
	struct buffer after = { 0 };

	buffer_append(&before, old, strlen(old));
	buffer_append(&after, now, strlen(now));
	cr_redirect_stdout();
	line_diff_print(&before, &after);
	(void)fflush(stdout);
	cr_assert_stdout_eq_str(hunk, "%s -> %s", old, now);
	buffer_done(&before);
	buffer_done(&after);
}

Test(line_diff, a_new_text)
{
	shows("", "a\nb\n", "@@ line 1 @@\n+a\n+b\n");
}

Test(line_diff, three_lines_around)
{
	shows("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
	      "@@ line 5 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

Test(line_diff, inserted_between_equal_lines)
{
	shows("a\na\n", "a\na\na\n", "@@ line 3 @@\n a\n a\n+a\n");
}

Test(line_diff, no_line_end)
{
	shows("a", "a\nb", "@@ line 1 @@\n-a\n+a\n+b\n");
}

Test(line_diff, a_terminal_obeys_nothing)
{
	shows("a\n", "\033[2J\r\n", "@@ line 1 @@\n-a\n+^[[2J\n");
}
