/* SPDX-License-Identifier: Apache-2.0 */
#include "options/everywhere.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text/format.h"

struct everywhere everywhere;

/* Enter the directory at once, as git does: the paths of later options are relative to it. */
static const char *enter_directory(void *member, const char *value)
{
	static char rule[OPTIONS_TEXT_MAX];

	if (chdir(value) != 0) {
		format_text(rule, sizeof(rule), "a directory that can be entered: %s",
			    errno_text(errno));
		return rule;
	}
	*(const char **)member = value;
	return NULL;
}

static const struct option_row rows[] = {
	{ .name = "directory",
	  .letter = 'C',
	  .argument = "DIR",
	  .set = enter_directory,
	  .offset = offsetof(struct everywhere, directory),
	  .help = "act as if msp were started in DIR",
	  .is_common = true },
	{ .name = "quiet",
	  .letter = 'q',
	  .set = option_set_flag,
	  .offset = offsetof(struct everywhere, is_quiet),
	  .help = "say errors only on stderr; 'msp list -q' prints one word for each sandbox",
	  .is_common = true },
};

const struct option_table everywhere_options = { OPTION_ROWS(rows), .has_operands = true };

void everywhere_note(const char *format, ...)
{
	char text[2 * OPTIONS_TEXT_MAX];
	va_list arguments;

	if (everywhere.is_quiet)
		return;
	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_line("%s", text);
}
