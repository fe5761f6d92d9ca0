/* SPDX-License-Identifier: Apache-2.0 */
#include "show/patch_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "show/change_text.h"
#include "show/quote.h"

/* git's own. */
#define COLOR_HEAD "\033[1m"
#define COLOR_HUNK "\033[36m"
#define COLOR_REMOVED "\033[31m"
#define COLOR_ADDED "\033[32m"
#define COLOR_NONE "\033[m"

const char *patch_set_color(void *member, const char *value)
{
	static const char *const names[] = {
		[PATCH_COLOR_AUTO] = "auto",
		[PATCH_COLOR_ALWAYS] = "always",
		[PATCH_COLOR_NEVER] = "never",
	};

	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		*(enum patch_color *)member = (enum patch_color)i;
		return NULL;
	}
	return "'auto' (in a terminal), 'always' or 'never'";
}

static bool wants_color(void)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && no[0] != '\0') && term && strcmp(term, "dumb") != 0;
}

struct patch_style patch_style(enum patch_color color, bool is_shown)
{
	const bool has_color =
		color == PATCH_COLOR_ALWAYS || (color == PATCH_COLOR_AUTO && wants_color());
	/* With colors a terminal is behind it. */
	const bool is_terminal = has_color || isatty(STDOUT_FILENO);

	return (struct patch_style){ .has_color = has_color,
				     .is_shown = is_shown || is_terminal,
				     .is_terminal = is_terminal };
}

/* One line without its newline. */
static void print_line(const struct patch_style *style, const char *color, const uint8_t *line,
		       size_t size)
{
	if (style->has_color && color[0])
		(void)fputs(color, stdout);
	if (style->is_shown)
		quote_print_text(line, size, style->is_terminal);
	else
		(void)fwrite(line, 1, size, stdout);
	(void)fputs(style->has_color && color[0] ? COLOR_NONE "\n" : "\n", stdout);
}

/* "@@ -1,2 +1,3 @@ function()": only the first part is coloured. */
static void print_hunk(const struct patch_style *style, const uint8_t *line, size_t size)
{
	const uint8_t *second = size > 2 ? memmem(line + 2, size - 2, "@@", 2) : NULL;
	const size_t part = second ? (size_t)(second - line) + 2 : size;

	if (!style->has_color) {
		print_line(style, "", line, size);
		return;
	}
	(void)fputs(COLOR_HUNK, stdout);
	quote_print_text(line, part, true);
	(void)fputs(COLOR_NONE, stdout);
	quote_print_text(line + part, size - part, true);
	(void)putchar('\n');
}

/* A patch may be of two files: a deletion and an addition of another type. */
static void print_patch(const struct patch_style *style, const struct change *change)
{
	const uint8_t *at = change->patch;
	const uint8_t *end = at + change->is.patch_size;
	bool is_hunk = false;

	while (at < end) {
		const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
		const size_t size = (size_t)((newline ? newline : end) - at);

		if (size > 0 && *at == '@')
			is_hunk = true;
		else if (size > 0 && *at == 'd')
			is_hunk = false;
		if (size > 0 && *at == '@')
			print_hunk(style, at, size);
		else if (!is_hunk)
			print_line(style, COLOR_HEAD, at, size);
		else
			print_line(style,
				   size > 0 && *at == '+'   ? COLOR_ADDED
				   : size > 0 && *at == '-' ? COLOR_REMOVED
							    : "",
				   at, size);
		at = newline ? newline + 1 : end;
	}
}

/* Print a line of the head, or of another color. */
static void put_line(const struct patch_style *style, const char *color, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_line(const struct patch_style *style, const char *color, const char *format, ...)
{
	static struct buffer line;
	va_list arguments;

	line.size = 0;
	va_start(arguments, format);
	buffer_vformat(&line, format, arguments);
	va_end(arguments);
	print_line(style, color, (const uint8_t *)line.bytes, line.size);
}

/* The names of a change as git writes them. */
static struct buffer old_name, new_name;

/* Print git's lines before the content. */
static void put_head(const struct patch_style *style, const struct change *change)
{
	const struct change_record *is = &change->is;
	const bool is_renamed = is->kind == CHANGE_RENAMED;

	old_name.size = new_name.size = 0;
	quote_path_with(&old_name, QUOTE_ASCII, "a/", is_renamed ? change->old_path : change->path,
			is_renamed ? is->old_path_size : is->path_size, "");
	quote_path_with(&new_name, QUOTE_ASCII, "b/", change->path, is->path_size, "");
	put_line(style, COLOR_HEAD, "diff --git %s %s", old_name.bytes, new_name.bytes);
	if (is->old_mode == 0)
		put_line(style, COLOR_HEAD, "new file mode %06o", is->new_mode);
	else if (is->new_mode == 0)
		put_line(style, COLOR_HEAD, "deleted file mode %06o", is->old_mode);
	else if (is->old_mode != is->new_mode) {
		put_line(style, COLOR_HEAD, "old mode %06o", is->old_mode);
		put_line(style, COLOR_HEAD, "new mode %06o", is->new_mode);
	}
	if (!is_renamed)
		return;
	put_line(style, COLOR_HEAD, "rename from %s",
		 quote_shown(change->old_path, is->old_path_size));
	put_line(style, COLOR_HEAD, "rename to %s", quote_shown(change->path, is->path_size));
}

/* A change whose content is not told: a word about it. */
static void put_untold(const struct patch_style *style, const struct change *change)
{
	const struct change_record *is = &change->is;
	const char *what = (is->flags & CHANGE_IS_REFUSED)  ? "Special files"
			   : (is->flags & CHANGE_IS_BINARY) ? "Binary files"
			   : (is->flags & CHANGE_IS_LARGE)  ? "Large files"
							    : "Files";

	put_head(style, change);
	put_line(style, "", "%s %s and %s differ", what,
		 is->old_mode == 0 ? "/dev/null" : old_name.bytes,
		 is->new_mode == 0 ? "/dev/null" : new_name.bytes);
}

/* A head says all of it. */
static bool is_all_head(const struct change_record *is)
{
	const bool is_empty = is->old_size == 0 && is->new_size == 0;

	if (is->flags &
	    (CHANGE_IS_BINARY | CHANGE_IS_LARGE | CHANGE_IS_REFUSED | CHANGE_IS_UNREADABLE))
		return false;
	return is->kind == CHANGE_MODE || is->kind == CHANGE_RENAMED ||
	       (is_empty && (is->kind == CHANGE_ADDED || is->kind == CHANGE_DELETED));
}

bool patch_print(const struct patch_style *style, const struct change *change)
{
	const bool has_commits = (change->is.flags & CHANGE_IS_COMMITS) != 0;

	/* git knows no directories: those that are new come with what is in them. Of a repository a
	 * patch brings nothing. */
	if ((change->is.flags & (CHANGE_IS_DIRECTORY | CHANGE_IS_GITS)) ||
	    (has_commits && !style->is_shown))
		return true;
	if (has_commits)
		put_line(style, COLOR_HEAD, "Commits: %s", change_name(change));
	else if (change->is.patch_size > 0)
		print_patch(style, change);
	else if (is_all_head(&change->is))
		put_head(style, change);
	else if (style->is_shown)
		put_untold(style, change);
	else
		return false;
	return true;
}
