/* SPDX-License-Identifier: Apache-2.0 */
#include "show/stat_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/format.h"
#include "lib/heap/memory.h"
#include "show/change_text.h"

/* A bar is worth drawing from here on, and a name can be told from others. */
#define BAR_MIN 6
#define NAME_MIN 20

struct entry {
	char *name;
	char note[64]; /* in place of the lines; empty: none */
	uint64_t added, removed;
};

struct stat_text {
	unsigned int columns;
	size_t count;
	struct entry entries[STAT_BATCH];
	uint64_t files, added, removed; /* in all */
};

struct stat_text *stat_text_new(unsigned int columns)
{
	struct stat_text *stat = memory_get_zeroed(1, sizeof(*stat));

	stat->columns = columns;
	return stat;
}

static char *copy_name(const struct change *change)
{
	struct buffer text = { 0 };

	if (change->is.kind == CHANGE_RENAMED) {
		quote_path(&text, QUOTE_ASCII, change->old_path, change->is.old_path_size);
		buffer_append_text(&text, " => ");
	}
	change_put_name(&text, QUOTE_ASCII, change);
	return text.bytes;
}

static void note_change(struct entry *entry, const struct change_record *is)
{
	if (is->flags & CHANGE_IS_REFUSED)
		format_text(entry->note, sizeof(entry->note), "a device, socket or FIFO");
	else if (is->flags & CHANGE_IS_GITS)
		format_text(entry->note, sizeof(entry->note), "stays in the sandbox's repository");
	else if (is->flags & CHANGE_IS_COMMITS)
		format_text(entry->note, sizeof(entry->note), "commits");
	else if (is->flags & CHANGE_IS_UNREADABLE)
		format_text(entry->note, sizeof(entry->note), "cannot be read");
	else if (is->flags & (CHANGE_IS_BINARY | CHANGE_IS_LARGE))
		format_text(entry->note, sizeof(entry->note), "%s %llu -> %llu bytes",
			    is->flags & CHANGE_IS_BINARY ? "Bin" : "Large",
			    (unsigned long long)is->old_size, (unsigned long long)is->new_size);
	else if (is->kind == CHANGE_MODE)
		format_text(entry->note, sizeof(entry->note), "mode %06o -> %06o", is->old_mode,
			    is->new_mode);
}

static unsigned int digits_of(uint64_t number)
{
	unsigned int count = 1;

	for (; number >= 10; number /= 10)
		count++;
	return count;
}

struct widths {
	unsigned int name, number, bar;
	uint64_t most; /* lines of one file */
};

static struct widths measure_widths(const struct stat_text *stat)
{
	struct widths widths = { 0 };
	unsigned int rest;

	for (size_t i = 0; i < stat->count; i++) {
		const struct entry *entry = &stat->entries[i];
		const size_t name = strlen(entry->name);

		if (name > widths.name)
			widths.name = name < stat->columns ? (unsigned int)name : stat->columns;
		if (entry->added + entry->removed > widths.most)
			widths.most = entry->added + entry->removed;
	}
	widths.number = digits_of(widths.most);
	/* " NAME | NUMBER BAR" */
	rest = stat->columns > widths.number + 5 ? stat->columns - widths.number - 5 : 0;
	if (rest < NAME_MIN + BAR_MIN)
		rest = NAME_MIN + BAR_MIN;
	widths.bar = rest * 3 / 8 > BAR_MIN ? rest * 3 / 8 : BAR_MIN;
	if (widths.most < widths.bar)
		widths.bar = (unsigned int)widths.most;
	if (widths.name > rest - widths.bar)
		widths.name = rest - widths.bar;
	return widths;
}

/* At least one sign for what is not nothing. */
static unsigned int scale_lines(uint64_t lines, const struct widths *widths)
{
	if (lines == 0 || widths->most <= widths->bar)
		return (unsigned int)lines;
	return 1 + (unsigned int)(lines * (widths->bar - 1) / widths->most);
}

static void repeat_sign(char sign, unsigned int count)
{
	while (count-- > 0)
		(void)putchar(sign);
}

static void print_entry(const struct entry *entry, const struct widths *widths)
{
	const unsigned long long lines = entry->added + entry->removed;
	const size_t size = strlen(entry->name);

	if (size > widths->name)
		(void)printf(" ...%s | ", entry->name + size - (widths->name - 3));
	else
		(void)printf(" %-*s | ", (int)widths->name, entry->name);
	if (entry->note[0]) {
		(void)puts(entry->note);
		return;
	}
	(void)printf("%*llu", (int)widths->number, lines);
	if (lines > 0)
		(void)putchar(' ');
	repeat_sign('+', scale_lines(entry->added, widths));
	repeat_sign('-', scale_lines(entry->removed, widths));
	(void)putchar('\n');
}

static void flush_entries(struct stat_text *stat)
{
	const struct widths widths = measure_widths(stat);

	for (size_t i = 0; i < stat->count; i++) {
		print_entry(&stat->entries[i], &widths);
		free(stat->entries[i].name);
	}
	stat->count = 0;
}

void stat_text_add(struct stat_text *stat, const struct change *change)
{
	struct entry *entry = &stat->entries[stat->count];

	if (change->is.flags & CHANGE_IS_DIRECTORY)
		return; /* as in a patch */
	memset(entry, 0, sizeof(*entry));
	entry->name = copy_name(change);
	change_count_lines(change, &entry->added, &entry->removed);
	note_change(entry, &change->is);
	stat->files++;
	stat->added += entry->added;
	stat->removed += entry->removed;
	if (++stat->count == STAT_BATCH)
		flush_entries(stat);
}

void stat_text_finish(struct stat_text *stat)
{
	flush_entries(stat);
	if (stat->files > 0) {
		(void)printf(" %llu file%s changed", (unsigned long long)stat->files,
			     stat->files == 1 ? "" : "s");
		if (stat->added > 0 || stat->removed == 0)
			(void)printf(", %llu insertion%s(+)", (unsigned long long)stat->added,
				     stat->added == 1 ? "" : "s");
		if (stat->removed > 0 || stat->added == 0)
			(void)printf(", %llu deletion%s(-)", (unsigned long long)stat->removed,
				     stat->removed == 1 ? "" : "s");
		(void)putchar('\n');
	}
	free(stat);
}
