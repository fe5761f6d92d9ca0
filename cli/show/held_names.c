/* SPDX-License-Identifier: Apache-2.0 */
#include "show/held_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "show/change_text.h"

/* Names of one kind that are shown; the rest is counted. */
#define SHOWN_MAX 50U

void held_names_keep(struct held_names *held, const struct change *change)
{
	const uint32_t flags = change->is.flags;
	const char *name = change_name(change);
	const enum held_kind kind = change_held_kind(flags);

	if (!(flags & (CHANGE_IS_HELD | CHANGE_MAY_RUN)))
		return;
	held->kinds[kind].count++;
	buffer_append(&held->kinds[kind].names, name, strlen(name) + 1);
}

static void print_kind(const struct held_names *held, enum held_kind kind)
{
	const struct buffer *names = &held->kinds[kind].names;
	const uint64_t count = held->kinds[kind].count;
	uint64_t shown = 0;

	if (count == 0)
		return;
	(void)printf("\n%s\n", held_words[kind].head);
	for (size_t at = 0; at < names->size && shown < SHOWN_MAX; shown++) {
		(void)printf("  %s\n", names->bytes + at);
		at += strlen(names->bytes + at) + 1;
	}
	if (count > shown)
		(void)printf("  and %" PRIu64 " more\n", count - shown);
}

void held_names_print(const struct held_names *held)
{
	/* The harmless kind comes with the rest, whatever is said about the others. */
	print_kind(held, HELD_NONE_BUT_NEW);
	for (enum held_kind kind = 0; kind < HELD_KINDS; kind++)
		print_kind(held, kind);
}

void held_names_done(struct held_names *held)
{
	for (size_t kind = 0; kind < NAMED_KINDS; kind++)
		buffer_done(&held->kinds[kind].names);
}
