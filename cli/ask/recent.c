/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/recent.h"

#include <stdlib.h>
#include <string.h>

#include "ask/project.h"
#include "ask/state_file.h"
#include "common/fd.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "lib/heap/buffer.h"
#include "lib/heap/memory.h"
#include "options/sandbox_search.h"
#include "show/confirm.h"
#include "show/quote.h"

#define FILE_NAME "runs"
#define RUNS_MAX 1000
#define PROJECT_RUNS_MAX 99 /* -99 is the last one that has a name */

struct run {
	char id[IPC_ID_MAX];
	char *workspace;
};

struct runs {
	int file; /* locked */
	size_t count, room;
	struct run *list;
};

static bool is_id(const char *line)
{
	struct sandbox_search search;

	return strlen(line) == IPC_ID_MAX - 1 && sandbox_search_begin(&search, line);
}

static void add_run(struct runs *runs, const char *id, const char *workspace)
{
	struct run *run;

	runs->list = memory_grow_list(runs->list, &runs->room, runs->count + 1, sizeof(*run));
	run = &runs->list[runs->count++];
	format_text(run->id, sizeof(run->id), "%s", id);
	run->workspace = memory_text(workspace, strlen(workspace));
}

static void remove_run(struct runs *runs, size_t at)
{
	free(runs->list[at].workspace);
	runs->count--;
	memmove(&runs->list[at], &runs->list[at + 1], (runs->count - at) * sizeof(runs->list[0]));
}

/* Take a line that is an id and a path: a writer may have been killed. */
static void read_line(void *context, char *line)
{
	char *path = strchr(line, ' ');

	if (!path || path[1] != '/')
		return;
	*path++ = '\0';
	state_file_restore(path);
	if (is_id(line))
		add_run(context, line, path);
}

static int write_runs(const struct runs *runs)
{
	struct buffer text = { 0 };
	int error;

	for (size_t i = 0; i < runs->count; i++) {
		buffer_format(&text, "%s ", runs->list[i].id);
		state_file_escape(&text, runs->list[i].workspace);
		buffer_append(&text, "\n", 1);
	}
	error = state_file_write(runs->file, &text);
	buffer_done(&text);
	return error;
}

/* Open, lock and read the file. 0, or -errno and a phrase in `text`. */
static int open_runs(struct runs *runs, char text[STATE_PLACE_TEXT_MAX])
{
	*runs = (struct runs){ .file = -1 };
	return state_file_open(FILE_NAME, read_line, runs, &runs->file, text);
}

static void close_runs(struct runs *runs)
{
	while (runs->count > 0)
		remove_run(runs, runs->count - 1);
	free(runs->list);
	fd_close(&runs->file);
}

/* Make room for one more run over the workspace: many runs in one project push out none of
 * another. */
static void make_room(struct runs *runs, const char *workspace)
{
	size_t same = 0;

	for (size_t i = runs->count; i-- > 0;) {
		if (strcmp(runs->list[i].workspace, workspace) == 0 && ++same >= PROJECT_RUNS_MAX)
			remove_run(runs, i);
	}
	while (runs->count >= RUNS_MAX)
		remove_run(runs, 0);
}

int recent_add(const char *id, const char *workspace, char *text)
{
	struct runs runs;
	int error = open_runs(&runs, text);

	if (!error) {
		make_room(&runs, workspace);
		add_run(&runs, id, workspace);
		error = write_runs(&runs);
		if (error)
			format_text(text, STATE_PLACE_TEXT_MAX, "%s", errno_text(-error));
	}
	close_runs(&runs);
	return error;
}

int recent_drop(const char *id)
{
	char text[STATE_PLACE_TEXT_MAX];
	struct runs runs;
	int error = open_runs(&runs, text);
	const size_t before = runs.count;

	for (size_t i = runs.count; i-- > 0;) {
		if (strcmp(runs.list[i].id, id) == 0)
			remove_run(&runs, i);
	}
	if (!error && runs.count < before)
		error = write_runs(&runs);
	close_runs(&runs);
	return error;
}

/* --- which one -------------------------------------------------------------------------------- */

/* Find the run of this number over the project, counted from the newest one, of NULL over any.
 * NULL: there is none, and *ret_count is how many there are. */
static const struct run *find_run(const struct runs *runs, const struct project *project,
				  uint32_t number, uint32_t *ret_count)
{
	*ret_count = 0;
	for (size_t i = runs->count; i-- > 0;) {
		if (project && !project_has(project, runs->list[i].workspace))
			continue;
		if (++*ret_count == number)
			return &runs->list[i];
	}
	return NULL;
}

static int refuse_number(const char *word, uint32_t count, const struct project *project)
{
	if (project->here[0] == '\0')
		log_line("'%s' counts the runs over the current directory's project, and that "
			 "directory is gone: name a run by its id, 'msp list' shows it",
			 word);
	else
		log_line("there is no run '%s' of this project: %u %s kept. 'msp run --workspace' "
			 "keeps the changes of a command for an hour",
			 word, count, count == 1 ? "is" : "are");
	return MSP_EXIT_USAGE;
}

/* Ask about the run over another project, or refuse it. 0, or the exit code after a line. */
static int ask_about_other(const char *word, const struct run *run,
			   const struct recent_asker *asker)
{
	char text[IPC_PATH_MAX + 256];
	bool is_yes = false;
	int code;

	if (!asker || !confirm_is_possible())
		return log_fail(MSP_EXIT_USAGE,
				"no run over this project is kept, so '%s' names none. That of "
				"another project is named by its id: %s, over %s",
				word, run->id, run->workspace);
	format_text(text, sizeof(text), "No run over this project is kept. Use %s, over %s?",
		    run->id, quote_shown(run->workspace, strlen(run->workspace)));
	code = asker->ask(asker->context, text, &is_yes);
	if (code || is_yes)
		return code;
	return log_fail(MSP_EXIT_USAGE, "nothing was done: 'msp list' shows the ids of all runs");
}

static int confirm_plainly(void *context, const char *text, bool *ret_is_yes)
{
	(void)context;
	*ret_is_yes = confirm(text);
	return 0;
}

const struct recent_asker recent_confirm = { .ask = confirm_plainly };

int recent_resolve(char sandbox[IPC_NAME_MAX], const struct recent_asker *asker)
{
	static struct project project;
	char text[STATE_PLACE_TEXT_MAX];
	const struct run *run;
	struct runs runs;
	uint32_t number;
	uint32_t count;
	uint32_t all;
	int code = 0;

	if (!sandbox_is_recent(sandbox, &number))
		return 0;
	if (open_runs(&runs, text) != 0) {
		close_runs(&runs);
		return log_fail(MSP_EXIT_REFUSED, "'%s' is not known: %s", sandbox, text);
	}
	fd_close(&runs.file); /* no other msp waits for a person's answer */
	project_find(&project);
	run = find_run(&runs, &project, number, &count);
	if (!run && count == 0 && project.here[0] != '\0')
		run = find_run(&runs, NULL, number, &all);
	if (run && count == 0)
		code = ask_about_other(sandbox, run, asker);
	if (!run)
		code = refuse_number(sandbox, count, &project);
	else if (!code)
		format_text(sandbox, IPC_NAME_MAX, "%s", run->id);
	close_runs(&runs);
	return code;
}

void recent_explain(const char *word, const char *id, struct ipc_execution_refused *refused)
{
	uint32_t number;

	if (refused->reason != REFUSAL_SANDBOX_UNKNOWN || !sandbox_is_recent(word, &number))
		return;
	format_text(refused->detail, sizeof(refused->detail),
		    "the run's sandbox, %s, is gone, an hour after its last use or destroyed", id);
}

void recent_list(struct recent_ids *ret)
{
	static struct project project;
	char text[STATE_PLACE_TEXT_MAX];
	struct runs runs;

	ret->count = 0;
	project_find(&project);
	(void)open_runs(&runs, text); /* without the file, no run has a number */
	for (size_t i = runs.count; i-- > 0 && ret->count < PROJECT_RUNS_MAX;) {
		if (project_has(&project, runs.list[i].workspace))
			format_text(ret->ids[ret->count++], IPC_ID_MAX, "%s", runs.list[i].id);
	}
	close_runs(&runs);
}
