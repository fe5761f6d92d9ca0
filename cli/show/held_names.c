/* SPDX-License-Identifier: Apache-2.0 */
#include "show/held_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "show/change_text.h"

/* Names of one rank that are shown; the rest is counted. */
#define SHOWN_MAX 50U

static const char *const heads[HELD_RANKS] = {
	[HELD_NOT] = "These are not held back, and of a kind that tools execute:",
	[HELD_BY_ITSELF] = "This machine may execute these by itself:",
	[HELD_WAY_OUT] = "These links lead out of the project:",
	[HELD_RULES] = "These decide what msp asks about:",
	[HELD_TOOL] = "These are executed when somebody starts their tools:",
	[HELD_DOT] = "These are dot files:",
};

static enum held_rank rank_of(uint32_t flags)
{
	if (!(flags & CHANGE_IS_HELD))
		return HELD_NOT;
	if (flags & CHANGE_LEADS_OUT)
		return HELD_WAY_OUT;
	if (flags & CHANGE_IS_RULES)
		return HELD_RULES;
	if (flags & CHANGE_MAY_RUN)
		return HELD_DOT;
	return flags & CHANGE_IS_TOOL ? HELD_TOOL : HELD_BY_ITSELF;
}

void held_names_keep(struct held_names *held, const struct change *change)
{
	const uint32_t flags = change->is.flags;
	const char *name = change_name(change);
	const enum held_rank rank = rank_of(flags);

	if (!(flags & (CHANGE_IS_HELD | CHANGE_MAY_RUN)))
		return;
	held->ranks[rank].count++;
	buffer_append(&held->ranks[rank].names, name, strlen(name) + 1);
}

static void print_rank(const struct buffer *names, uint64_t count, const char *head)
{
	uint64_t shown = 0;

	if (count == 0)
		return;
	(void)printf("\n%s\n", head);
	for (size_t at = 0; at < names->size && shown < SHOWN_MAX; shown++) {
		(void)printf("  %s\n", names->bytes + at);
		at += strlen(names->bytes + at) + 1;
	}
	if (count > shown)
		(void)printf("  and %" PRIu64 " more\n", count - shown);
}

void held_names_print(const struct held_names *held)
{
	for (int rank = 0; rank < HELD_RANKS; rank++)
		print_rank(&held->ranks[rank].names, held->ranks[rank].count, heads[rank]);
}

void held_names_done(struct held_names *held)
{
	for (int rank = 0; rank < HELD_RANKS; rank++)
		buffer_done(&held->ranks[rank].names);
}
