/* SPDX-License-Identifier: Apache-2.0 */
#include "commands/copy_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/progress.h"
#include "common/ipc_done.h"
#include "common/log.h"
#include "common/names.h"
#include "lib/heap/memory.h"
#include "show/quote.h"

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

	progress_hide();
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
	progress_hide();
	log_line("%s:%s %s", copy->sandbox, copy_shown(path), problem);
	return COPY_FAILED;
}

void copy_leave_out(struct copy *copy, const char *where, const char *path, const char *why)
{
	copy->left_out++;
	progress_hide();
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
