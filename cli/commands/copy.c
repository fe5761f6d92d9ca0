/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp cp`: files between this machine and a persistent sandbox.
 */
#include "commands/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/progress.h"
#include "common/ipc/ipc_done.h"
#include "common/log.h"
#include "common/text/names.h"
#include "frontend/file_answer.h"
#include "launcher/start/config.h"
#include "lib/heap/memory.h"
#include "options/command.h"
#include "show/quote.h"

struct copy_options {
	struct attach_options attach;
	bool is_recursive;
};

static const struct option_row rows[] = {
	OPTION_LETTER(struct copy_options, 'r', "recursive", NULL, option_set_flag, is_recursive,
		      "copy a directory with what is in it"),
	ATTACH_ROW_LIMITS(struct copy_options, attach),
	ATTACH_ROWS(struct copy_options, attach),
};

static const char help[] =
	"Copy a file out of SANDBOX, or into it. A PATH that is not absolute is below\n"
	"/workspace. LOCAL '-' is standard output or input. Where the second word is a\n"
	"directory, the file comes into it under its own name. A LOCAL with a colon in\n"
	"its name is written with a slash before it, as in ./a:b.\n"
	"\n"
	"The files of the sandbox are read and written in it, under its limits, by what\n"
	"may do no more than any program there. A file is the old one or the new one: it\n"
	"takes its name when all of it has come. One that is there keeps its mode in the\n"
	"sandbox; on this machine it gets that of the original without set-ID bits, less\n"
	"the umask.\n"
	"\n"
	"With -r symbolic links, devices, sockets and FIFOs are left out, each with a\n"
	"line on stderr, and no link on this machine is followed beneath LOCAL. Unlike\n"
	"'msp apply', nothing is compared, held back or kept for 'msp undo'.\n"
	"\n"
	"The exit code is 0; 1 if something was not copied; 64 where the command line is\n"
	"wrong or there is no such sandbox; 75 where another msp has it or its disk\n"
	"space is used up.\n";

/* --- questions to msp-file ------------------------------------------------------------------- */

void copy_question(struct copy *copy, const char *command, const char *path)
{
	copy->question.kind = ASK_FILE;
	copy->question.words.sandbox = copy->sandbox;
	copy->question.is.file.argv_size = 0;
	copy_word(copy, command);
	copy_word(copy, path);
}

/* A path that is too long is cut off here and refused as one in the sandbox. */
void copy_word(struct copy *copy, const char *word)
{
	size_t size = strlen(word);

	if (size > IPC_PATH_MAX)
		size = IPC_PATH_MAX;
	(void)file_ask_word(&copy->question.is.file, word, size);
}

void copy_number(struct copy *copy, uint64_t number)
{
	(void)file_ask_number(&copy->question.is.file, number);
}

/* The head first, then what follows. */
static int take_bytes(void *context, const uint8_t *bytes, size_t size)
{
	struct copy *copy = context;
	size_t used = 0;
	long head;

	if (!copy->has_answer) {
		const size_t before = copy->head_size;
		const size_t room = sizeof(copy->head) - before;
		const size_t more = size < room ? size : room;

		memcpy(copy->head + before, bytes, more);
		copy->head_size += more;
		head = file_answer_read(copy->head, copy->head_size, &copy->answer);
		if (head < 0 || (head == 0 && more == room))
			return -EBADMSG;
		if (head == 0)
			return 0;
		copy->has_answer = true;
		used = (size_t)head - before;
	}
	return copy->body && copy->answer.is.problem == FILE_DONE && used < size
		       ? copy->body(copy->context, bytes + used, size - used)
		       : 0;
}

const char *copy_shown(const char *path)
{
	return quote_shown(path, strlen(path));
}

static int explain_ended(const struct copy *copy, const char *path)
{
	const struct ipc_execution_done *ended = &copy->asking.ended;
	const struct file_pipes *pipes = &copy->asking.pipes;

	if (pipes->error && pipes->error != -EBADMSG)
		log_line("%s: %s", pipes->is_source ? "what is to be copied" : copy->local,
			 errno_text(-pipes->error));
	else if (ended->stage != STAGE_NONE)
		log_line("%s:%s: msp-file could not be started in the sandbox: %s", copy->sandbox,
			 copy_shown(path), errno_text((int)ended->error));
	else if (ended->verdict != VERDICT_EXITED)
		log_line("%s:%s: msp-file was ended in the sandbox: %s", copy->sandbox,
			 copy_shown(path), verdict_name(ended->verdict));
	else
		log_line("%s:%s: what came from the sandbox is no answer that can be used",
			 copy->sandbox, copy_shown(path));
	return COPY_FAILED;
}

int copy_ask(struct copy *copy, const char *path, int source,
	     int (*body)(void *context, const uint8_t *bytes, size_t size), void *context)
{
	int code;

	copy->head_size = 0;
	copy->has_answer = false;
	copy->body = body;
	copy->context = context;
	copy->question.file = (struct file_stream){ source, take_bytes, copy };
	code = ask(&copy->asking, &copy->question, NULL, NULL);
	if (code)
		return code;
	if (copy->asking.pipes.error || !copy->has_answer ||
	    copy->asking.ended.verdict != VERDICT_EXITED || copy->asking.ended.exit_code != 0)
		return explain_ended(copy, path);
	return 0;
}

int copy_explain(struct copy *copy, const char *path)
{
	char problem[FILE_PROBLEM_TEXT_MAX];

	file_problem_text(&copy->answer, problem);
	return log_fail(COPY_FAILED, "%s:%s %s", copy->sandbox, copy_shown(path), problem);
}

void copy_leave_out(struct copy *copy, const char *where, const char *path, const char *why)
{
	copy->left_out++;
	log_line("left out: %s%s: %s", where, copy_shown(path), why);
}

char *copy_join(const char *folder, const char *name)
{
	const size_t size = strlen(folder);
	const bool has_slash = size > 0 && folder[size - 1] == '/';
	const size_t room = size + strlen(name) + 2;
	char *path = memory_get(room);

	(void)snprintf(path, room, "%s%s%s", folder, has_slash ? "" : "/", name);
	return path;
}

char *copy_last_part(const char *path)
{
	size_t end = strlen(path);
	size_t begin;
	char *part;

	while (end > 0 && path[end - 1] == '/')
		end--;
	begin = end;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	part = memory_text(path + begin, end - begin);
	if (part[0] != '\0' && strcmp(part, ".") != 0 && strcmp(part, "..") != 0)
		return part;
	free(part);
	return NULL;
}

/* SANDBOX:PATH has a colon before any slash. NULL: it is local. */
static char *remote_part(char *word)
{
	char *colon = strchr(word, ':');
	const char *slash = strchr(word, '/');

	if (!colon || (slash && slash < colon))
		return NULL;
	*colon = '\0';
	return colon + 1;
}

/* False: *ret_code, after a usage error was explained. */
static bool choose_way(const struct command *command, struct command_words *words,
		       struct copy *copy, bool *ret_is_in, int *ret_code)
{
	char *from = words->count == 2 ? remote_part(words->list[0]) : NULL;
	char *to = words->count == 2 && !from ? remote_part(words->list[1]) : NULL;

	if (words->count != 2 || (!from && !to) ||
	    (from && strchr(words->list[1], ':') && remote_part(words->list[1]))) {
		*ret_code = command_usage_error(
			command, words->count != 2
					 ? "two words are needed: msp cp SANDBOX:PATH LOCAL, or "
					   "msp cp LOCAL SANDBOX:PATH"
					 : "one of the two must be SANDBOX:PATH, and the other a "
					   "path of this machine");
		return false;
	}
	*ret_is_in = to != NULL;
	copy->sandbox = words->list[to ? 1 : 0];
	copy->remote = to ? to : from;
	copy->local = words->list[to ? 0 : 1];
	if (!command_check_sandbox(command, copy->sandbox, ret_code))
		return false;
	if (copy->remote[0] == '\0' && !copy->is_recursive && from) {
		*ret_code = command_usage_error(command, "without a path it is all of /workspace, "
							 "a directory: copy it with -r");
		return false;
	}
	if (copy->remote[0] == '\0')
		copy->remote = ".";
	if (file_path_is_of_home(copy->remote)) {
		*ret_code =
			command_usage_error(command, "the path in the sandbox " FILE_PATH_OF_HOME);
		return false;
	}
	if (copy->local[0] != '\0' && !(copy->is_recursive && strcmp(copy->local, "-") == 0))
		return true;
	*ret_code = command_usage_error(command, copy->local[0] == '\0'
							 ? "the path of this machine is empty"
							 : "a directory cannot be copied to or "
							   "from '-': leave -r out");
	return false;
}

static int run_cp(const struct command *command, int argc, char *argv[])
{
	static struct copy_options options = { .attach.limits = LIMITS_UNSAID };
	static struct command_words words = { .most = 2 };
	static struct copy copy;
	bool is_in;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	copy.is_recursive = options.is_recursive;
	if (!choose_way(command, &words, &copy, &is_in, &code))
		return code;
	command_name_lines(command);
	code = ask_begin_execution(&copy.asking, &options.attach, false);
	if (strcmp(copy.local, "-") != 0)
		progress_begin(COPY_ACT);
	if (!code)
		code = is_in ? copy_in(&copy) : copy_out(&copy);
	progress_end();
	code = ask_end(&copy.asking, code);
	return code ? code : copy.left_out > 0 ? COPY_FAILED : 0;
}

const struct command command_cp = {
	.name = "cp",
	.operands = "SANDBOX:PATH LOCAL | LOCAL SANDBOX:PATH",
	.summary = "copy files between this machine and a sandbox",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_cp,
};
