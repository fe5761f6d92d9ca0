/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_http.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/helper.h"

/* Longest that a command may take; a person may have to unlock a store of passwords. */
#define COMMAND_MS 30000
#define WORDS_MAX 64

/* A value, and what may stand behind it. */
#define VALUE_ROOM (HTTP_SECRET_MAX + 2)

struct value {
	size_t size;
	char bytes[VALUE_ROOM];
};

static int refuse_source(const struct plan_secret *secret, char text[SECRET_TEXT_MAX],
			 const char *format, ...) __attribute__((format(printf, 3, 4)));

static int refuse_source(const struct plan_secret *secret, char text[SECRET_TEXT_MAX],
			 const char *format, ...)
{
	va_list arguments;
	char problem[SECRET_TEXT_MAX];

	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	return format_fail(-1, text, SECRET_TEXT_MAX, "secret %s: %s", secret->name, problem);
}

/* Open the file, whose path may begin with the user's home. */
static int open_file(const char *source, char path[IPC_PATH_MAX])
{
	const bool is_in_home = source[0] == '~';
	const char *home = is_in_home ? account_home() : NULL;

	format_text(path, IPC_PATH_MAX, "%s%s", home ? home : "", source + is_in_home);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

static int read_file(const struct plan_secret *secret, struct value *value,
		     char text[SECRET_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	int fd FD_OWNED = open_file(secret->source, path);
	struct stat status;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) != 0)
		return refuse_source(secret, text,
				     "the file %.200s cannot be read: %s; make it, or name another",
				     path, errno_text(errno));
	if (!S_ISREG(status.st_mode))
		return refuse_source(secret, text, "%.200s is no regular file; name one", path);
	if (status.st_uid != geteuid() && status.st_uid != 0)
		return refuse_source(secret, text,
				     "the file %.200s belongs to user %u; it must be the user's "
				     "own: chown %u",
				     path, status.st_uid, geteuid());
	if (status.st_mode & 077)
		return refuse_source(secret, text,
				     "the file %.200s is open to others (mode %04o); chmod 600",
				     path, status.st_mode & 07777);
	size = read(fd, value->bytes, sizeof(value->bytes));
	if (size < 0)
		return refuse_source(secret, text, "the file %.200s cannot be read: %s", path,
				     errno_text(errno));
	value->size = (size_t)size;
	return 0;
}

static int read_variable(const struct plan_secret *secret, struct value *value,
			 char text[SECRET_TEXT_MAX])
{
	const char *said = getenv(secret->source);

	if (!said)
		return refuse_source(secret, text,
				     "the variable %.100s is not set where msp is started; set it, "
				     "or name another source",
				     secret->source);
	value->size = strnlen(said, sizeof(value->bytes));
	memcpy(value->bytes, said, value->size);
	return 0;
}

static int run_command(const struct plan_secret *secret, struct value *value,
		       char text[SECRET_TEXT_MAX])
{
	char source[sizeof(secret->source)];
	const char *words[WORDS_MAX + 1] = { NULL };
	const struct helper helper = {
		.image = -1, .words = words, .environment = environ, .output_of = STDOUT_FILENO
	};
	struct helper_answer answer;
	char *at = source;

	memcpy(source, secret->source, sizeof(source));
	for (int i = 0; i < WORDS_MAX && *at; i++, at += strlen(at) + 1)
		words[i] = at;
	answer = helper_run(&helper, COMMAND_MS, value->bytes, sizeof(value->bytes));
	value->size = answer.size;
	if (answer.end == HELPER_FAILED)
		return refuse_source(secret, text,
				     "%.200s cannot be started: %s; name another "
				     "program",
				     words[0], errno_text(-answer.status));
	if (answer.end == HELPER_LATE)
		return refuse_source(secret, text,
				     "%.200s did not end within %d s; name a program that does",
				     words[0], COMMAND_MS / 1000);
	if (answer.end != HELPER_DONE)
		return refuse_source(secret, text, "%.200s failed (%s %d); try it in a shell",
				     words[0], WIFEXITED(answer.status) ? "exit code" : "signal",
				     WIFEXITED(answer.status) ? WEXITSTATUS(answer.status)
							      : WTERMSIG(answer.status));
	return 0;
}

/* Cut the newline that editors and programs end a text with, and judge the rest. */
static int check_value(const struct plan_secret *secret, struct value *value,
		       char text[SECRET_TEXT_MAX])
{
	if (value->size > 0 && value->bytes[value->size - 1] == '\n')
		value->size--;
	if (value->size > 0 && value->bytes[value->size - 1] == '\r')
		value->size--;
	if (value->size < HTTP_SECRET_MIN || value->size > HTTP_SECRET_MAX)
		return refuse_source(secret, text, "its value has %s bytes; it must have %d to %d",
				     value->size < HTTP_SECRET_MIN ? "too few" : "too many",
				     HTTP_SECRET_MIN, HTTP_SECRET_MAX);
	for (size_t i = 0; i < value->size; i++) {
		const bool is_end = i == 0 || i == value->size - 1;

		if (value->bytes[i] < ' ' || value->bytes[i] > '~' ||
		    (is_end && value->bytes[i] == ' '))
			return refuse_source(secret, text,
					     "its value cannot be in a header; it must be one line "
					     "of visible characters, without a blank at an end");
	}
	return 0;
}

int secret_read(const struct plan_secret *secret, size_t *ret_size, char text[SECRET_TEXT_MAX])
{
	static int (*const readers[PLAN_SECRET_SOURCE_COUNT])(const struct plan_secret *,
							      struct value *, char *) = {
		[PLAN_SECRET_FILE] = read_file,
		[PLAN_SECRET_ENV] = read_variable,
		[PLAN_SECRET_COMMAND] = run_command,
	};
	struct value value = { .size = 0 };
	int fd = -1;

	if (secret->source_kind < PLAN_SECRET_SOURCE_COUNT &&
	    readers[secret->source_kind](secret, &value, text) == 0 &&
	    check_value(secret, &value, text) == 0) {
		fd = fd_sealed_from_bytes("secret", value.bytes, value.size);
		*ret_size = value.size;
		if (fd < 0)
			(void)refuse_source(secret, text, "no memory file: %s", errno_text(-fd));
	}
	explicit_bzero(value.bytes, sizeof(value.bytes));
	return fd < 0 ? -1 : fd;
}

void secret_print_source(const struct plan_secret *secret, char text[SECRET_TEXT_MAX])
{
	static const char *const kinds[PLAN_SECRET_SOURCE_COUNT] = {
		[PLAN_SECRET_FILE] = "file",
		[PLAN_SECRET_ENV] = "variable",
		[PLAN_SECRET_COMMAND] = "command",
	};

	format_text(text, SECRET_TEXT_MAX, "%s %s",
		    kinds[secret->source_kind % PLAN_SECRET_SOURCE_COUNT], secret->source);
}
