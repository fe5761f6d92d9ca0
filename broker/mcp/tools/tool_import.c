/* SPDX-License-Identifier: Apache-2.0
 *
 * import_files: copy files of a host directory into a persistent sandbox.
 *
 * The broker opens no file. A second sandbox with the directory as its read-only workspace is made
 * for the time of the call, so the operator's policy and the path opener decide about the directory
 * as they do for create_sandbox, and msp-file reads each file under that sandbox's confinement: a
 * link leads nowhere but inside. The second sandbox is destroyed before the answer; if the client
 * cancels, it expires.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ipc/ipc_persistent.h"
#include "common/ipc/workspace_mode.h"
#include "frontend/quote.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/errand.h"
#include "mcp/core/file_job.h"
#include "mcp/core/sandboxes.h"
#include "mcp/tools/params.h"

/* Files of one call, and names of those that were left out. */
#define FILES_MAX 500U
#define LEFT_NAMED_MAX 5U

/* A file, which passes through memory as a whole; the head of its answer takes the rest. */
#define FILE_BYTES_MAX (FILE_OUTPUT_MAX - 4096)

/* Seconds after its last use until the second sandbox goes, where the call could not destroy it. */
#define SOURCE_TTL_S 600U

/* The directory in the sandbox, unless the call names one. */
#define WORKSPACE "/workspace"

enum import_param {
	IMPORT_SANDBOX,
	IMPORT_FROM,
	IMPORT_PATHS,
	IMPORT_TO,
};

static const struct tool_param params[] = {
	[IMPORT_SANDBOX] = ROW_SANDBOX,
	[IMPORT_FROM] = { .name = "from",
			  .kind = PARAM_TEXT,
			  .is_required = true,
			  .bytes_max = IPC_PATH_MAX - 1,
			  .description = "A directory on the user's machine, an absolute path." },
	[IMPORT_PATHS] = { .name = "paths",
			   .kind = PARAM_LIST,
			   .bytes_max = CHOSEN_PATHS_BYTES,
			   .if_empty = PATHS_IF_EMPTY,
			   .description = "Files and directories in `from`; all if omitted." },
	[IMPORT_TO] = { .name = "to",
			.kind = PARAM_TEXT,
			.bytes_max = IPC_PATH_MAX - 1,
			.description = "Directory in the sandbox. Omitted: /workspace." },
};

/* Names with a NUL after each, and the next of them. */
struct names {
	struct buffer bytes;
	size_t at;
	uint32_t count;
};

struct import {
	struct ipc_sandbox_new wanted; /* the second sandbox */
	struct ipc_sandbox_end end;
	char target[IPC_NAME_MAX];
	char to[IPC_PATH_MAX];
	struct names asked; /* `paths` */
	struct names files;
	const char *name; /* the one of `asked` or `files` that is in work */
	uint64_t done, bytes;
	uint64_t left;
	struct buffer left_names;
	struct buffer problem; /* empty: none */
};

/* The work of a call while the supervisor is asked, and while msp-file runs. `import` is NULL once
 * the next one has it. */
struct import_errand {
	struct errand errand; /* first */
	struct import *import;
};

struct import_job {
	struct file_job job; /* first */
	struct import *import;
};

static void free_import(struct import *import)
{
	if (!import)
		return;
	buffer_done(&import->asked.bytes);
	buffer_done(&import->files.bytes);
	buffer_done(&import->left_names);
	buffer_done(&import->problem);
	free(import);
}

static void free_errand(struct errand *errand)
{
	free_import(((struct import_errand *)errand)->import);
	free(errand);
}

static void free_job(struct file_job *job)
{
	free_import(((struct import_job *)job)->import);
	free(job);
}

static void add_name(struct names *names, const char *folder, const char *name, size_t size)
{
	if (folder && strcmp(folder, ".") != 0) {
		buffer_append_text(&names->bytes, folder);
		buffer_append_text(&names->bytes, "/");
	}
	buffer_append(&names->bytes, name, size);
	buffer_append(&names->bytes, "", 1);
	names->count++;
}

/* Return the next name; NULL: there is no more. */
static const char *next_name(struct names *names)
{
	const char *name = names->bytes.bytes + names->at;

	if (names->at >= names->bytes.size)
		return NULL;
	names->at += strlen(name) + 1;
	return name;
}

static void leave_out(struct import *import, const char *folder, const char *name, size_t size,
		      const char *why)
{
	struct buffer *names = &import->left_names;

	if (import->left++ >= LEFT_NAMED_MAX)
		return;
	buffer_append_text(names, names->size > 0 ? ", " : "");
	if (folder && strcmp(folder, ".") != 0) {
		quote_path(names, QUOTE_UTF8, folder, strlen(folder));
		buffer_append_text(names, "/");
	}
	quote_path(names, QUOTE_UTF8, name, size);
	buffer_format(names, " (%s)", why);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void put_result(const struct import *import, struct buffer *text)
{
	if (import->problem.size > 0) {
		buffer_append(text, import->problem.bytes, import->problem.size);
		buffer_append_text(text, " ");
	}
	buffer_format(text, "%" PRIu64 " file%s (%" PRIu64 " byte%s) %s imported from ",
		      import->done, import->done == 1 ? "" : "s", import->bytes,
		      import->bytes == 1 ? "" : "s", import->done == 1 ? "was" : "were");
	quote_path(text, QUOTE_UTF8, import->wanted.workspace, strlen(import->wanted.workspace));
	buffer_format(text, " to \"%s\" in the sandbox.",
		      text_quoted(import->to, strlen(import->to), QUOTE_BYTES));
	if (import->left == 0)
		return;
	buffer_format(text, "\n[left out: ");
	buffer_append(text, import->left_names.bytes, import->left_names.size);
	if (import->left > LEFT_NAMED_MAX)
		buffer_format(text, " and %" PRIu64 " more", import->left - LEFT_NAMED_MAX);
	buffer_append_text(text, "]");
}

static void answer_import(struct errand *errand)
{
	const struct import *import = ((struct import_errand *)errand)->import;
	struct buffer text = { 0 };

	put_result(import, &text);
	errand_answer(errand, &text, import->problem.size > 0);
}

static void on_destroyed(struct errand *errand, const struct supervisor_answer *answer)
{
	answer_import(errand);
}

/* The second sandbox expired, or the user removed it. */
static bool on_gone(struct errand *errand, const struct ipc_execution_refused *refused)
{
	answer_import(errand);
	return true;
}

static struct import_errand *begin_errand(struct import *import, struct call *call,
					  const struct errand_rules *rules)
{
	struct import_errand *work = memory_get_zeroed(1, sizeof(*work));

	work->import = import;
	errand_begin(&work->errand, call, rules);
	return work;
}

static void destroy_source(struct import *import, struct call *call)
{
	static const struct errand_rules rules = { .answered = on_destroyed,
						   .refused = on_gone,
						   .free = free_errand };
	struct import_errand *work = begin_errand(import, call, &rules);

	errand_ask(&work->errand, sandbox_end, NULL, &import->end, -1);
}

/* --- the files -------------------------------------------------------------------------------- */

static void go_on(struct import *import, struct call *call);

/* Take the call back from the job, which is freed without the import. */
static struct call *take_back(struct file_job *job)
{
	struct call *call = job->waiting.call;

	((struct import_job *)job)->import = NULL;
	file_job_done(job);
	return call;
}

/* A job failed in a way that stops the import. */
static void on_failure(struct file_job *job, const struct buffer *text)
{
	struct import *import = ((struct import_job *)job)->import;

	buffer_append(&import->problem, text->bytes, text->size);
	destroy_source(import, take_back(job));
}

/* A file or directory of the host that cannot be read is left out. */
static void on_unreadable(struct file_job *job)
{
	struct import *import = ((struct import_job *)job)->import;
	char problem[FILE_PROBLEM_TEXT_MAX];

	file_problem_text(&job->answer, problem);
	problem[strcspn(problem, ":")] = '\0';
	leave_out(import, NULL, import->name, strlen(import->name), problem);
	go_on(import, take_back(job));
}

static struct import_job *begin_job(struct import *import, struct call *call, const char *sandbox,
				    const struct file_job_rules *rules, const char *command,
				    const char *path)
{
	struct import_job *work =
		(struct import_job *)file_job_new(sizeof(*work), rules, call, sandbox);

	work->import = import;
	buffer_append(&work->job.path, path, strlen(path));
	(void)file_ask_word(&work->job.wanted, command, strlen(command));
	(void)file_ask_word(&work->job.wanted, path, strlen(path));
	return work;
}

static void on_put(struct file_job *job)
{
	struct import *import = ((struct import_job *)job)->import;

	import->done++;
	import->bytes += job->answer.is.count;
	go_on(import, take_back(job));
}

static void put_file(struct import *import, struct call *call, uint32_t mode,
		     const struct buffer *content)
{
	static const struct file_job_rules rules = { .answered = on_put,
						     .failed_text = on_failure,
						     .free = free_job };
	struct buffer path = { 0 };
	struct import_job *work;

	buffer_append_text(&path, import->to);
	buffer_append_text(&path, "/");
	buffer_append(&path, import->name, strlen(import->name) + 1);
	work = begin_job(import, call, import->target, &rules, "put", path.bytes);
	(void)file_ask_number(&work->job.wanted, mode & 0777);
	file_job_start(&work->job, content);
	buffer_done(&path);
}

static void on_read(struct file_job *job)
{
	struct import *import = ((struct import_job *)job)->import;
	const bool is_whole = job->rest_size == job->answer.is.size;
	const uint32_t mode = job->answer.is.mode;
	struct buffer content = { 0 };
	struct call *call;

	if (is_whole)
		buffer_append(&content, job->rest, job->rest_size);
	else
		leave_out(import, NULL, import->name, strlen(import->name),
			  job->answer.is.size > FILE_BYTES_MAX ? "larger than 4 MiB"
							       : "it changed meanwhile");
	call = take_back(job);
	if (is_whole)
		put_file(import, call, mode, &content);
	else
		go_on(import, call);
	buffer_done(&content);
}

static void read_file(struct import *import, struct call *call)
{
	static const struct file_job_rules rules = { .answered = on_read,
						     .failed = on_unreadable,
						     .failed_text = on_failure,
						     .free = free_job };
	struct import_job *work =
		begin_job(import, call, import->end.sandbox, &rules, "read", import->name);

	(void)file_ask_number(&work->job.wanted, 0);
	(void)file_ask_number(&work->job.wanted, FILE_BYTES_MAX);
	file_job_start(&work->job, NULL);
}

/* --- the lists -------------------------------------------------------------------------------- */

/* Take an entry of the list. False: it was the last, or too many are there. */
static bool take_entry(struct import *import, const struct file_found *found)
{
	if (found->is.path_size == 0 || import->files.count > FILES_MAX)
		return false;
	if (S_ISREG(found->is.mode))
		add_name(&import->files, import->name, found->path, found->is.path_size);
	else if (!S_ISDIR(found->is.mode))
		leave_out(import, import->name, found->path, found->is.path_size,
			  file_kind_name(found->is.mode));
	else if (found->is.flags & FILE_ENTRY_UNREADABLE)
		leave_out(import, import->name, found->path, found->is.path_size,
			  "cannot be listed");
	return true;
}

static void on_listed(struct file_job *job)
{
	struct import *import = ((struct import_job *)job)->import;
	struct file_found found = { 0 };
	size_t at = 0;
	long taken;

	do {
		taken = file_found_read(job->rest + at, job->rest_size - at, &found);
		at += taken > 0 ? (size_t)taken : 0;
	} while (taken > 0 && take_entry(import, &found));
	if (taken <= 0)
		buffer_append_text(&import->problem, FILE_JOB_INCOMPLETE);
	else if (import->files.count > FILES_MAX || (found.is.flags & FILE_ENTRY_MORE) != 0)
		buffer_format(&import->problem,
			      "There are more than %u files. Choose some with `paths`.", FILES_MAX);
	go_on(import, take_back(job));
}

/* It is a file, or there is none. */
static void on_no_folder(struct file_job *job)
{
	struct import *import = ((struct import_job *)job)->import;

	if (job->answer.is.problem != FILE_ERROR || job->answer.is.error != ENOTDIR) {
		on_unreadable(job);
		return;
	}
	add_name(&import->files, NULL, import->name, strlen(import->name));
	go_on(import, take_back(job));
}

static void list_folder(struct import *import, struct call *call)
{
	static const struct file_job_rules rules = { .answered = on_listed,
						     .failed = on_no_folder,
						     .failed_text = on_failure,
						     .free = free_job };
	struct import_job *work =
		begin_job(import, call, import->end.sandbox, &rules, "list", import->name);

	(void)file_ask_number(&work->job.wanted, FILE_DEPTH_MAX);
	(void)file_ask_number(&work->job.wanted, 0);
	(void)file_ask_number(&work->job.wanted, (uint64_t)4 * FILES_MAX);
	(void)file_ask_word(&work->job.wanted, "", 0);
	file_job_start(&work->job, NULL);
}

static void say_progress(const struct import *import, struct call *call)
{
	struct buffer text = { 0 };

	buffer_format(&text, "importing files: %" PRIu64 " of %u", import->done,
		      import->files.count);
	call_say_progress(call, (double)import->done, (double)import->files.count, text.bytes);
	buffer_done(&text);
}

/* Do the next step: list what was asked for, then copy file after file, then destroy the source. */
static void go_on(struct import *import, struct call *call)
{
	if (import->problem.size == 0 && (import->name = next_name(&import->asked)))
		list_folder(import, call);
	else if (import->problem.size == 0 && (import->name = next_name(&import->files))) {
		say_progress(import, call);
		read_file(import, call);
	} else
		destroy_source(import, call);
}

/* --- the request ------------------------------------------------------------------------------ */

static void on_created(struct errand *errand, const struct supervisor_answer *answer)
{
	struct import_errand *work = (struct import_errand *)errand;
	struct import *import = work->import;

	memcpy(import->end.sandbox, answer->sandbox->id, sizeof(answer->sandbox->id));
	memcpy(import->wanted.workspace, answer->sandbox->workspace,
	       sizeof(import->wanted.workspace));
	work->import = NULL;
	go_on(import, errand_release(errand));
}

static bool check_request(struct call *call, const struct json_document *document,
			  struct json_value *const *values)
{
	const struct json_value *from = values[IMPORT_FROM], *to = values[IMPORT_TO];

	if (from->size == 0 || from->text[0] != '/') {
		call_fail_value(call, "from", from,
				"but must be an absolute path of a directory on the user's "
				"machine. For a file, give its name in `paths`.");
		return false;
	}
	if (to && (to->size == 0 || file_path_is_of_home(to->text))) {
		call_fail_value(call, "to", to,
				"but must be a directory of the sandbox, such as data or "
				"/home/agent. Leave it out for /workspace.");
		return false;
	}
	return chosen_paths_check(call, document, values[IMPORT_PATHS]);
}

static void import_files(struct call *call, const struct json_document *document,
			 struct json_value *const *values)
{
	static const struct errand_rules rules = { .answered = on_created, .free = free_errand };
	const struct json_value *to = values[IMPORT_TO];
	struct import_errand *work;
	struct import *import;

	if (!check_request(call, document, values))
		return;
	import = memory_get_zeroed(1, sizeof(*import));
	tool_copy_text(values[IMPORT_SANDBOX], import->target, sizeof(import->target));
	memcpy(import->wanted.workspace, values[IMPORT_FROM]->text, values[IMPORT_FROM]->size);
	memcpy(import->to, to ? to->text : WORKSPACE, to ? to->size : strlen(WORKSPACE));
	for (struct json_value *v = json_first(document, values[IMPORT_PATHS]); v;
	     v = json_next(document, v))
		add_name(&import->asked, NULL, v->text, v->size);
	if (import->asked.count == 0)
		add_name(&import->asked, NULL, ".", 1);
	import->wanted.workspace_mode = WORKSPACE_READ;
	import->wanted.ttl_s = SOURCE_TTL_S;
	import->end.how = SANDBOX_END_DESTROY;
	work = begin_errand(import, call, &rules);
	errand_ask(&work->errand, sandbox_new, NULL, &import->wanted, -1);
}

const struct tool tool_import_files = {
	.name = "import_files",
	.title = "Import files into a sandbox",
	.description = "Copy files of the user's machine into a persistent sandbox, beside its "
		       "workspace: from a directory that the operator opened to this server. "
		       "Replaces files; links in directories are left out; a file has at most 4 "
		       "MiB.",
	TOOL_PARAMS(params),
	.is_destructive_here = true,
	.handler = import_files,
};
