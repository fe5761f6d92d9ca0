/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a call's arguments against the tool's table. Every problem names the value, the rule and
 * the remedy: a model reads it and tries again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontend/profile_names.h"
#include "frontend/utf8.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/tools/params.h"

static const char *const kind_names[] = {
	[JSON_NULL] = "null",        [JSON_TRUE] = "true",       [JSON_FALSE] = "false",
	[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
	[JSON_OBJECT] = "an object",
};

static const char *name_in_list(const char *list, size_t index, size_t *ret_size)
{
	for (; index > 0 && list; index--) {
		list = strstr(list, PROFILE_NAMES_SEPARATOR);
		if (list)
			list += strlen(PROFILE_NAMES_SEPARATOR);
	}
	if (!list || list[0] == '\0')
		return NULL;
	*ret_size = strcspn(list, PROFILE_NAMES_SEPARATOR);
	return list;
}

const char *tool_param_name(const struct tool_param *param, const struct posture *posture,
			    size_t index, size_t *ret_size)
{
	if (param->source == NAMES_PROFILES)
		return name_in_list(posture->profiles, index, ret_size);
	if (param->source == NAMES_LANGUAGES)
		return name_in_list(posture->languages, index, ret_size);
	if (param->names[index])
		*ret_size = strlen(param->names[index]);
	return param->names[index];
}

bool tool_param_is_published(const struct tool_param *param, const struct posture *posture)
{
	return !param->is_for_hosts || posture->has_hosts;
}

struct check {
	const struct host *host;
	const struct json_document *document;
	const struct tool_param *param;
	struct buffer *problem;
};

static void say_kind(const struct check *check, const struct json_value *value, const char *where,
		     const char *wanted)
{
	buffer_format(check->problem, "The argument `%s` %s %s, but must be %s.",
		      check->param->name, where, kind_names[value->kind], wanted);
}

static void say_long(const struct check *check, size_t size)
{
	buffer_format(check->problem,
		      "The argument `%s` is %zu bytes long, but at most %" PRIu32
		      " are possible. %s.",
		      check->param->name, size, check->param->bytes_max,
		      check->param->bytes_max < IPC_PATH_MAX /* a name or a path */
			      ? "Use a shorter one"
			      : "Pass large data in `stdin`, or shorten it");
}

/* Text for the kernel ends at a NUL, and half a surrogate pair has no bytes. */
static bool is_passable(const struct check *check, const struct json_value *text, const char *what)
{
	const char *flaw = NULL;

	if (text->has_unpaired)
		flaw = "an unpaired surrogate (\\uD800 to \\uDFFF), which is no character and has "
		       "no UTF-8 form";
	else if (check->param->kind != PARAM_BYTES && text->size > 0 &&
		 memchr(text->text, '\0', text->size))
		flaw = "a NUL character (\\u0000), which cannot be passed to a program";
	if (!flaw)
		return true;
	buffer_format(check->problem, "%s `%s` contains %s. Remove it and call again.", what,
		      check->param->name, flaw);
	return false;
}

static bool take_text(const struct check *check, struct json_value *value)
{
	json_decode(value);
	return is_passable(check, value, "The argument");
}

static bool check_string(const struct check *check, struct json_value *value)
{
	if (!take_text(check, value))
		return false;
	if (value->size > check->param->bytes_max) {
		say_long(check, value->size);
		return false;
	}
	return true;
}

/* The name of an environment variable that shells and programs can read. */
static bool is_variable(const struct check *check, const struct json_value *member)
{
	const bool is_fine = member->key_size > 0 && !memchr(member->key, '=', member->key_size) &&
			     !memchr(member->key, '\0', member->key_size) &&
			     utf8_is_valid(member->key, member->key_size);

	if (is_fine)
		return true;
	buffer_format(check->problem,
		      "The argument `%s` has a variable named \"%s\", but a name must not be empty "
		      "and must not contain '=', NUL or an unpaired surrogate. Rename it and call "
		      "again.",
		      check->param->name, text_quoted(member->key, member->key_size, QUOTE_BYTES));
	return false;
}

static bool check_elements(const struct check *check, struct json_value *container)
{
	const struct json_document *document = check->document;
	size_t total = 0;

	for (struct json_value *v = json_first(document, container); v;
	     v = json_next(document, v)) {
		if (v->kind != JSON_STRING) {
			say_kind(check, v, "contains", "made of strings only");
			return false;
		}
		json_decode(v);
		if (!is_passable(check, v, "An element of the argument"))
			return false;
		if (v->key && !is_variable(check, v))
			return false;
		total += v->size + 1 + (v->key ? v->key_size + 1 : 0);
	}
	if (total > check->param->bytes_max) {
		say_long(check, total);
		return false;
	}
	return true;
}

static bool check_integer(const struct check *check, struct json_value *value)
{
	const struct tool_param *param = check->param;
	int64_t number;

	if (json_integer(value, &number) && number >= param->minimum && number <= param->maximum)
		return true;
	buffer_format(check->problem,
		      "The argument `%s` is %s, but must be an integer from %" PRId64 " to %" PRId64
		      ". Leave it out for the default.",
		      param->name, text_quoted(value->text, value->size, QUOTE_BYTES),
		      param->minimum, param->maximum);
	return false;
}

/* Return whether the plan knows the profile and why it cannot be used: the supervisor refuses it,
 * and the refusal has the cause. */
static bool is_missing_profile(const struct check *check, const struct json_value *value)
{
	char name[IPC_NAME_MAX];

	if (check->param->source != NAMES_PROFILES || value->size >= sizeof(name))
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)value->size, value->text);
	return profile_missing(&check->host->plan, name) != NULL;
}

static bool is_name(const struct check *check, const struct json_value *value)
{
	size_t size;
	const char *name = tool_param_name(check->param, &check->host->posture, 0, &size);

	/* the supervisor also knows aliases, and other profiles' languages */
	if (!name || check->param->source == NAMES_LANGUAGES)
		return value->size > 0 && value->size < check->param->bytes_max;
	for (size_t i = 0; name;
	     name = tool_param_name(check->param, &check->host->posture, ++i, &size)) {
		if (value->size == size && memcmp(value->text, name, size) == 0)
			return true;
	}
	return is_missing_profile(check, value);
}

static void list_names(const struct check *check)
{
	size_t size;
	const char *name = tool_param_name(check->param, &check->host->posture, 0, &size);

	for (size_t i = 0; name;
	     name = tool_param_name(check->param, &check->host->posture, ++i, &size)) {
		buffer_append_text(check->problem, i ? ", " : "");
		buffer_append(check->problem, name, size);
	}
}

static bool check_name(const struct check *check, struct json_value *value)
{
	if (!take_text(check, value))
		return false;
	if (is_name(check, value))
		return true;
	buffer_format(check->problem,
		      "The argument `%s` is \"%s\", but must be one of: ", check->param->name,
		      text_quoted(value->text, value->size, QUOTE_BYTES));
	list_names(check);
	buffer_append_text(check->problem, ".");
	return false;
}

static const struct {
	enum json_kind kind; /* TRUE: or FALSE */
	const char *words;
	bool (*check)(const struct check *check, struct json_value *value);
} checks[] = {
	[PARAM_TEXT] = { JSON_STRING, "a string", check_string },
	[PARAM_BYTES] = { JSON_STRING, "a string", check_string },
	[PARAM_LIST] = { JSON_ARRAY, "an array of strings", check_elements },
	[PARAM_MAP] = { JSON_OBJECT, "an object of strings", check_elements },
	[PARAM_INTEGER] = { JSON_NUMBER, "an integer", check_integer },
	[PARAM_BOOLEAN] = { JSON_TRUE, "true or false", NULL },
	[PARAM_NAME] = { JSON_STRING, "a string", check_name },
};

static bool check_value(const struct check *check, struct json_value *value)
{
	const enum param_kind kind = check->param->kind;

	if ((value->kind == JSON_FALSE ? JSON_TRUE : value->kind) != checks[kind].kind) {
		say_kind(check, value, "is", checks[kind].words);
		return false;
	}
	if (check->param->if_empty && value->size == 0 && value->count == 0) {
		buffer_format(check->problem, "The argument `%s` is empty%s", check->param->name,
			      check->param->if_empty);
		return false;
	}
	return !checks[kind].check || checks[kind].check(check, value);
}

int64_t tool_integer(const struct json_value *value, int64_t otherwise)
{
	int64_t number = otherwise;

	if (value && !json_integer(value, &number))
		bug("a checked integer is none");
	return number;
}

bool tool_boolean(const struct json_value *value)
{
	return value && value->kind == JSON_TRUE;
}

uint32_t tool_name_index(struct json_value *value, const char *const *names)
{
	uint32_t index = 0;

	while (value && !json_equals(value, names[index]))
		index++;
	return index;
}

void tool_copy_text(const struct json_value *value, char *room, size_t size)
{
	if (value && value->size >= size)
		bug("a checked string does not fit");
	(void)snprintf(room, size, "%.*s", value ? (int)value->size : 0, value ? value->text : "");
}

static void say_unknown(const struct tool *tool, const struct posture *posture,
			const struct json_value *member, struct buffer *problem)
{
	bool is_next = false;

	buffer_format(problem, "%s has no argument `%s`%s", tool->name,
		      text_quoted(member->key, member->key_size, QUOTE_BYTES),
		      tool->param_count > 0 ? ". Its arguments are: " : "; it takes none");
	for (size_t i = 0; i < tool->param_count; i++) {
		if (!tool_param_is_published(&tool->params[i], posture))
			continue;
		buffer_format(problem, "%s%s", is_next ? ", " : "", tool->params[i].name);
		is_next = true;
	}
	buffer_append_text(problem, ".");
}

static size_t find_param(const struct tool *tool, const struct json_value *member)
{
	size_t i = 0;

	while (i < tool->param_count &&
	       (strlen(tool->params[i].name) != member->key_size ||
		memcmp(tool->params[i].name, member->key, member->key_size) != 0))
		i++;
	return i;
}

bool tool_take_arguments(const struct tool *tool, const struct host *host,
			 const struct json_document *document, struct json_value *arguments,
			 struct json_value **ret_values, struct buffer *ret_problem)
{
	struct check check = { .host = host, .document = document, .problem = ret_problem };

	for (struct json_value *v = json_first(document, arguments); v;
	     v = json_next(document, v)) {
		const size_t i = find_param(tool, v);

		if (i == tool->param_count) {
			say_unknown(tool, &host->posture, v, ret_problem);
			return false;
		}
		if (v->kind == JSON_NULL) /* many models send null for "not given" */
			continue;
		check.param = &tool->params[i];
		if (!check_value(&check, v))
			return false;
		ret_values[i] = v;
	}
	for (size_t i = 0; i < tool->param_count; i++) {
		if (tool->params[i].is_required && !ret_values[i]) {
			buffer_format(ret_problem, "%s needs the argument `%s`, which is missing.",
				      tool->name, tool->params[i].name);
			return false;
		}
	}
	return true;
}
