/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/terminal.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/text/format.h"
#include "options/everywhere.h"
#include "show/figures.h"

#define SECOND_US UINT64_C(1000000)

/* An act that is over sooner needs no line. */
#define FIRST_US SECOND_US

/* Interval between two drawings. */
#define EACH_US (SECOND_US / 5)

/* A rate of a shorter time is chance. */
#define RATE_US (SECOND_US / 2)

/* Files that are worked on are noted several times a second. A longer silence is a sync, or one
 * large file, whose end nobody can tell. */
#define SILENCE_US SECOND_US

#define COLUMNS 80
#define TEXT_MAX 160
#define REMOVE "\r\033[K"

static struct {
	const char *act; /* NULL: there is no line */
	uint64_t done, total;
	uint64_t first; /* `done` when the act was first noted */
	uint64_t began_us, act_us, due_us;
	uint64_t noted_us; /* the last note */
	bool is_drawn;
	bool has_stdout; /* it is the terminal too */
	bool has_reader; /* stdout is a pipe */
} line;

static bool is_wanted(void)
{
	const char *kind = getenv("TERM");

	return !everywhere.is_quiet && isatty(STDERR_FILENO) && terminal_is_ours(STDERR_FILENO) &&
	       kind && strcmp(kind, "dumb") != 0;
}

void progress_begin(const char *act)
{
	const uint64_t now_us = clock_now_us();
	struct stat output;

	progress_end();
	if (!act || !is_wanted())
		return;
	line.has_stdout = isatty(STDOUT_FILENO) == 1;
	line.has_reader = fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
	line.act = act;
	line.done = line.total = line.first = 0;
	line.began_us = line.act_us = now_us;
	line.due_us = now_us + FIRST_US;
}

void progress_note(const char *act, uint64_t done, uint64_t total)
{
	if (!line.act)
		return;
	if (strcmp(line.act, act) != 0) {
		line.act = act;
		line.act_us = clock_now_us();
		line.first = done;
	}
	line.done = done;
	line.total = total;
	line.noted_us = clock_now_us();
}

int progress_wait_ms(void)
{
	const uint64_t now_us = clock_now_us();

	if (!line.act)
		return -1;
	return now_us < line.due_us ? (int)((line.due_us - now_us) / 1000) + 1 : 0;
}

/* Append the rate of the act, and the time that it still takes. */
static void append_rate(char *text, uint64_t now_us)
{
	const uint64_t time_us = now_us - line.act_us;
	char left[FIGURES_TEXT_MAX];
	uint64_t rate;

	if (line.done <= line.first || time_us < RATE_US)
		return;
	rate = (line.done - line.first) * SECOND_US / time_us;
	if (rate == 0)
		return;
	format_append(text, TEXT_MAX, ", %llu/s", (unsigned long long)rate);
	if (line.total >= line.done && line.total > 0)
		format_append(text, TEXT_MAX, ", %s left",
			      figures_span((line.total - line.done) / rate, left));
}

static size_t columns_of_terminal(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return COLUMNS;
	return size.ws_col;
}

/* A line that fills the last column may wrap, and could not be removed. */
static void write_line(char text[TEXT_MAX])
{
	const size_t columns = columns_of_terminal();
	char bytes[TEXT_MAX + sizeof(REMOVE)];

	if (columns < TEXT_MAX)
		text[columns - 1] = '\0';
	format_text(bytes, sizeof(bytes), REMOVE "%s", text);
	(void)fd_write_all(STDERR_FILENO, bytes, strlen(bytes)); /* it is no result */
}

void progress_draw(void)
{
	const uint64_t now_us = clock_now_us();
	char span[FIGURES_TEXT_MAX];
	char text[TEXT_MAX];

	if (!line.act || now_us < line.due_us)
		return;
	line.due_us = now_us + EACH_US;
	if (tcgetpgrp(STDERR_FILENO) != getpgrp())
		return;
	(void)fflush(stdout); /* no half line of it may be removed */
	format_text(text, sizeof(text), "msp: %s: ", line.act);
	if (line.total > 0)
		format_append(text, sizeof(text), "%llu of %llu", (unsigned long long)line.done,
			      (unsigned long long)line.total);
	else if (line.done > 0)
		format_append(text, sizeof(text), "%llu", (unsigned long long)line.done);
	else
		format_append(text, sizeof(text), "%s",
			      figures_span((now_us - line.began_us) / SECOND_US, span));
	if (line.done > 0 && now_us >= line.noted_us + SILENCE_US)
		format_append(text, sizeof(text), ", waiting for the disk");
	else
		append_rate(text, now_us);
	write_line(text);
	line.is_drawn = true;
}

void progress_hide(void)
{
	if (line.is_drawn)
		(void)fd_write_all(STDERR_FILENO, REMOVE, strlen(REMOVE)); /* it is no result */
	line.is_drawn = false;
}

void progress_yield(void)
{
	if (line.has_stdout)
		progress_hide();
	else if (line.has_reader)
		progress_end();
}

void progress_end(void)
{
	progress_hide();
	line.act = NULL;
}
