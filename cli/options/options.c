/* SPDX-License-Identifier: Apache-2.0 */
#include "options/options.h"

#include <string.h>

#include "common/text/format.h"
#include "options/everywhere.h"
#include "options/sandbox_search.h"
#include "options/suggest.h"

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

#define NAMES_MAX 32

static size_t add_names(const struct option_table *table, const char *names[NAMES_MAX],
			size_t count)
{
	for (size_t i = 0; i < table->count && count < NAMES_MAX; i++)
		names[count++] = table->rows[i].name;
	return count;
}

static enum options_result refuse_unknown(const struct option_table *table, const char *word,
					  char *text)
{
	const char *names[NAMES_MAX];
	const size_t count = add_names(&everywhere_options, names, add_names(table, names, 0));
	const char *near;

	near = suggest_nearest(word + strspn(word, "-"), names, count);
	return format_fail(OPTIONS_WRONG, text, OPTIONS_TEXT_MAX, "there is no option '%s'%s%s%s",
			   word, near ? " (did you mean '--" : "", near ? near : "",
			   near ? "'?)" : "");
}

/* Find the row of the first `size` bytes of a word: "--name" or "-x". */
static const struct option_row *find_option(const struct option_table *table, const char *word,
					    size_t size)
{
	if (strncmp(word, "--", 2) == 0 && size > 2)
		return find_row(table, word + 2, size - 2);
	return size == 2 && word[1] != '-' ? find_letter(table, word[1]) : NULL;
}

/* Is the word a kept run, such as "-1", or a path in one, such as "-1:a"? */
static bool is_recent_word(const struct option_table *table, const char *word)
{
	const size_t size = strcspn(word, ":");
	char run[sizeof("-99")];
	uint32_t number;

	if (!table->has_recent || size >= sizeof(run))
		return false;
	format_text(run, sizeof(run), "%.*s", (int)size, word);
	return sandbox_is_recent(run, &number);
}

/* One option at argv[*index], which is moved behind it. */
static enum options_result parse_one(const struct option_table *table, char *const argv[],
				     void *target, int *index, char *text)
{
	const char *word = argv[*index];
	const char *value = strchr(word, '=');
	const size_t size = value ? (size_t)(value - word) : strlen(word);
	const struct option_row *row = find_option(table, word, size);
	const char *rule;

	if (!row) {
		row = find_option(&everywhere_options, word, size);
		target = &everywhere;
	}
	if (!row)
		return refuse_unknown(table, word, text);
	*index += 1;
	if (value)
		value++;
	if (!row->argument && value)
		return format_fail(OPTIONS_WRONG, text, OPTIONS_TEXT_MAX,
				   "--%s takes no value: leave out '=%s'", row->name, value);
	if (row->argument && !value && !row->is_optional) {
		value = argv[*index];
		if (!value)
			return format_fail(OPTIONS_WRONG, text, OPTIONS_TEXT_MAX,
					   "--%s needs a value: --%s=%s", row->name, row->name,
					   row->argument);
		*index += 1;
	}
	rule = row->set((char *)target + row->offset, value);
	if (!rule)
		return OPTIONS_OK;
	return format_fail(OPTIONS_WRONG, text, OPTIONS_TEXT_MAX,
			   "--%s: '%s' is refused: it must be %s", row->name, value ? value : "",
			   rule);
}

enum options_result options_parse(const struct option_table *table, int argc, char *const argv[],
				  void *target, int *ret_rest, char text[OPTIONS_TEXT_MAX])
{
	int index = 1;

	while (index < argc && argv[index][0] == '-' && argv[index][1] != '\0') {
		enum options_result result;

		if (is_recent_word(table, argv[index]))
			break;
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
	if (index < argc && !table->has_operands)
		return format_fail(OPTIONS_WRONG, text, OPTIONS_TEXT_MAX,
				   "'%s' is one word too many", argv[index]);
	*ret_rest = index;
	return OPTIONS_OK;
}
