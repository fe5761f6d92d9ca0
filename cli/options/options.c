/* SPDX-License-Identifier: Apache-2.0 */
#include "options/options.h"

#include <string.h>

#include "options/suggest.h"
#include "show/format.h"

static const struct option_row *find_row(const struct option_table *table, const char *name,
					 size_t size)
{
	for (size_t i = 0; i < table->count; i++) {
		if (strlen(table->rows[i].name) == size &&
		    memcmp(table->rows[i].name, name, size) == 0)
			return &table->rows[i];
	}
	return NULL;
}

static const struct option_row *find_letter(const struct option_table *table, char letter)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].letter == letter)
			return &table->rows[i];
	}
	return NULL;
}

static void describe_unknown(const struct option_table *table, const char *word, char *text)
{
	const char *names[32];
	size_t count = 0;
	const char *near;

	for (; count < table->count && count < sizeof(names) / sizeof(names[0]); count++)
		names[count] = table->rows[count].name;
	near = suggest_nearest(word + strspn(word, "-"), names, count);
	if (near)
		format_text(text, OPTIONS_TEXT_MAX,
			    "there is no option '%s' (did you mean '--%s'?)", word, near);
	else
		format_text(text, OPTIONS_TEXT_MAX, "there is no option '%s'", word);
}

/* One option at argv[*index], which is moved behind it. */
static enum options_result parse_one(const struct option_table *table, char *const argv[],
				     void *target, int *index, char *text)
{
	const char *word = argv[*index];
	const char *value = strchr(word, '=');
	const size_t size = value ? (size_t)(value - word) : strlen(word);
	const struct option_row *row = NULL;
	const char *rule;

	if (strncmp(word, "--", 2) == 0 && size > 2)
		row = find_row(table, word + 2, size - 2);
	else if (word[1] != '-' && word[2] == '\0')
		row = find_letter(table, word[1]);
	if (!row) {
		describe_unknown(table, word, text);
		return OPTIONS_WRONG;
	}
	*index += 1;
	if (value)
		value++;
	if (!row->argument && value) {
		format_text(text, OPTIONS_TEXT_MAX, "--%s takes no value: leave out '=%s'",
			    row->name, value);
		return OPTIONS_WRONG;
	}
	if (row->argument && !value) {
		value = argv[*index];
		if (!value) {
			format_text(text, OPTIONS_TEXT_MAX, "--%s needs a value: --%s=%s",
				    row->name, row->name, row->argument);
			return OPTIONS_WRONG;
		}
		*index += 1;
	}
	rule = row->set((char *)target + row->offset, value);
	if (!rule)
		return OPTIONS_OK;
	format_text(text, OPTIONS_TEXT_MAX, "--%s: '%s' is refused: it must be %s", row->name,
		    value ? value : "", rule);
	return OPTIONS_WRONG;
}

enum options_result options_parse(const struct option_table *table, int argc, char *const argv[],
				  void *target, int *ret_rest, char text[OPTIONS_TEXT_MAX])
{
	int index = 1;

	while (index < argc && argv[index][0] == '-' && argv[index][1] != '\0') {
		enum options_result result;

		if (strcmp(argv[index], "--") == 0) {
			index++;
			break;
		}
		if (strcmp(argv[index], "--help") == 0 || strcmp(argv[index], "-h") == 0)
			return OPTIONS_HELP;
		result = parse_one(table, argv, target, &index, text);
		if (result != OPTIONS_OK)
			return result;
	}
	if (index < argc && !table->has_operands) {
		format_text(text, OPTIONS_TEXT_MAX, "'%s' is one word too many", argv[index]);
		return OPTIONS_WRONG;
	}
	*ret_rest = index;
	return OPTIONS_OK;
}
