/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/ability.h"

/* Abilities that are a member of the capabilities by themselves. */
static const struct {
	enum ability ability;
	const char *member;
} members[] = {
	{ ABILITY_ELICITATION, "elicitation" },
	{ ABILITY_SAMPLING, "sampling" },
	{ ABILITY_ROOTS, "roots" },
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

/* An empty object means forms; an object that names only other modes does not. */
static bool has_forms(const struct json_document *document, const struct json_value *elicitation)
{
	return json_member(document, elicitation, "form") ||
	       !json_member(document, elicitation, "url");
}

unsigned int ability_read(const struct json_document *document,
			  const struct json_value *capabilities)
{
	const struct json_value *extensions = json_member(document, capabilities, "extensions");
	unsigned int abilities = 0;

	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		const struct json_value *member =
			json_member(document, capabilities, members[i].member);

		if (json_is(member, JSON_OBJECT) &&
		    (members[i].ability != ABILITY_ELICITATION || has_forms(document, member)))
			abilities |= members[i].ability;
	}
	if (json_is(json_member(document, extensions, TASKS_EXTENSION), JSON_OBJECT))
		abilities |= ABILITY_TASKS;
	return abilities;
}

static void put_empty(struct json_writer *writer, const char *key)
{
	json_open_object(writer, key);
	json_close_object(writer);
}

void ability_put(struct json_writer *writer, const char *key, unsigned int abilities)
{
	json_open_object(writer, key);
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if ((abilities & members[i].ability) != 0)
			put_empty(writer, members[i].member);
	}
	if ((abilities & ABILITY_TASKS) != 0) {
		json_open_object(writer, "extensions");
		put_empty(writer, TASKS_EXTENSION);
		json_close_object(writer);
	}
	json_close_object(writer);
}

const char *ability_name(unsigned int abilities)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if ((abilities & members[i].ability) != 0)
			return members[i].member;
	}
	return "the extension " TASKS_EXTENSION;
}
