/* SPDX-License-Identifier: Apache-2.0
 *
 * Compare two profiles: "-" and the value of the first, "+" and the value of the second.
 */
#include "policy/write/facts.h"
#include "policy/write/show.h"

#include <string.h>

static const struct fact *find_fact(const struct facts *facts, const struct fact *like)
{
	for (uint32_t i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->items[i];

		if (fact->section == like->section && !fact->is_implied &&
		    strcmp(fact->key, like->key) == 0)
			return fact;
	}
	return NULL;
}

static bool is_same(const struct fact *a, const struct fact *b)
{
	return strcmp(a->text, b->text) == 0 && strcmp(a->detail, b->detail) == 0;
}

static void print_fact(char sign, const struct fact *fact, struct buffer *text)
{
	buffer_format(text, "%c %s: %s%s", sign, fact_section_name(fact->section), fact->text,
		      fact->detail);
	fact_print_origin(&fact->origin, text);
	buffer_format(text, "\n");
}

/* Print the values that differ in `b`, each old value followed by the new value. */
static void print_changes(const struct facts *a, const struct facts *b, enum fact_section section,
			  struct buffer *text)
{
	for (uint32_t i = 0; i < a->count; i++) {
		const struct fact *old = &a->items[i];
		const struct fact *new;

		if (old->section != section || old->is_implied)
			continue;
		new = find_fact(b, old);
		if (new != NULL && is_same(old, new))
			continue;
		print_fact('-', old, text);
		if (new != NULL)
			print_fact('+', new, text);
	}
}

static void print_additions(const struct facts *a, const struct facts *b, enum fact_section section,
			    struct buffer *text)
{
	for (uint32_t i = 0; i < b->count; i++) {
		const struct fact *new = &b->items[i];

		if (new->section == section && !new->is_implied && find_fact(a, new) == NULL)
			print_fact('+', new, text);
	}
}

void policy_diff(const struct profile *a, const struct profile *b, struct buffer *text)
{
	struct facts of_a = facts_of(a), of_b = facts_of(b);

	for (enum fact_section section = 0; section < FACT_SECTION_COUNT; section++) {
		print_changes(&of_a, &of_b, section, text);
		print_additions(&of_a, &of_b, section, text);
	}
	facts_done(&of_a);
	facts_done(&of_b);
}
