/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/detach.h"

#include <stdio.h>

#include "ask/enabled.h"
#include "common/text/format.h"
#include "held/held.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/json.h"
#include "show/print.h"

const char *detach_find_conflict(const struct detach_options *options)
{
	return options->has_terminal && !options->is_detached
		       ? "--terminal is for --detach: without it CMD has a terminal whenever input "
			 "and output are one"
		       : NULL;
}

static int print_json(const struct background_start *start)
{
	struct json_writer *json = json_begin_object();

	json_put_text(json, "id", start->id);
	json_put_text(json, "sandbox", start->sandbox);
	json_put_number(json, "wall_ms", start->wall_ms);
	return json_finish();
}

int detach_command(const struct detach_options *options, const struct execute *what,
		   const struct background_way *way)
{
	struct background_start start;
	char span[FIGURES_TEXT_MAX];
	char limit[FIGURES_TEXT_MAX + 32] = "has no time limit";
	const bool is_json = what->options->is_json;
	int error;
	int code;

	what->options->is_json = false; /* no output is captured */
	code = options->has_terminal ? held_start(what, way, &start)
				     : background_start(what, way, &start);
	if (code)
		return code;
	error = is_json ? print_json(&start) : 0;
	if (!is_json) {
		(void)puts(start.id);
		error = print_flush();
	}
	if (start.wall_ms > 0)
		format_text(limit, sizeof(limit), "ends after %s at the latest",
			    figures_span((start.wall_ms + 999) / 1000, span));
	everywhere_note("the command %s: 'msp attach %s' shows its %s, 'msp wait %s' its end",
			limit, start.id, options->has_terminal ? "terminal" : "output", start.id);
	/* A person who says --standalone or names a socket knows. */
	if (!what->options->attach.is_standalone && !what->options->attach.socket &&
	    service_is_absent())
		everywhere_note(
			"until it ends no other command can use the sandbox, nor 'msp bridge' "
			"reach it: no service runs here, and 'msp setup' starts one");
	return command_judge_output(error, 0);
}
