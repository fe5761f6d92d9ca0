/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp token`: who may use an HTTP server. A token goes to standard output, once and alone; the
 * file keeps its digest. Neither is ever a word of a command line, which other users can read.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/token_file.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "show/json.h"

struct token_options {
	const char *file;
	const char *run_as;
	bool is_json;
};

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct token_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	ROW("token-file", "PATH", token_file_set_path, file,
	    "the file of tokens (the default: ~/.config/msp/tokens)"),
	ROW("json", NULL, option_set_flag, is_json, "list: print one JSON object"),
	OPTION_RUN_AS(struct token_options, run_as),
};

static const char help[] =
	"Say who may use an HTTP server, 'msp serve --http'. A client sends its token\n"
	"in the header 'Authorization: Bearer TOKEN'.\n"
	"\n"
	"  create NAME  make a token for NAME and print it: it is shown this once\n"
	"  list         print the names of all tokens\n"
	"  revoke NAME  end the token of NAME, for servers that run too\n"
	"\n"
	"The file holds the SHA-256 of each token. Change it with these commands, not\n"
	"with an editor that puts another file in its place: a server that runs admits\n"
	"nobody then, until it is started again.\n";

/* An open file, and what is in it. */
struct work {
	const char *path;
	int fd;
	struct tokens tokens;
};

static int give_up(const char *action, const char *text, int code)
{
	return log_fail(code, "token %s: %s", action, text);
}

static int fail_work(const char *action, const struct work *work, int error)
{
	return log_fail(MSP_EXIT_REFUSED, "token %s: %s: %s", action, work->path,
			errno_text(-error));
}

/* Find, open, lock and read. 0, -ENOENT, or another -errno with a line said. */
static int begin_work(const char *action, const struct token_options *options,
		      enum token_file_use use, struct work *ret)
{
	static char path[IPC_PATH_MAX];
	char text[TOKEN_FILE_TEXT_MAX];
	int error;

	ret->path = options->file ? options->file : path;
	if (!options->file && !token_file_find(use == TOKEN_FILE_MAKE, path, text)) {
		(void)give_up(action, text, 0);
		return -EINVAL;
	}
	ret->fd = token_file_open(ret->path, use, text);
	if (ret->fd < 0) {
		if (ret->fd != -ENOENT || use != TOKEN_FILE_READ)
			(void)give_up(action, text, 0);
		return ret->fd;
	}
	error = token_file_lock(ret->fd, use != TOKEN_FILE_READ);
	if (!error)
		error = token_file_read(ret->fd, &ret->tokens);
	if (!error)
		return 0;
	(void)fail_work(action, ret, error);
	fd_close(&ret->fd);
	return error;
}

/* The token, alone. Nobody else knows it: one that cannot be shown is taken back. */
static int show_token(const struct work *work, const char *name, const char *token)
{
	static struct tokens now;
	struct token_line line;
	char text[TOKEN_MAX + 1];
	int error;

	format_text(text, sizeof(text), "%s\n", token);
	error = fd_write_all(STDOUT_FILENO, text, strlen(text));
	explicit_bzero(text, sizeof(text));
	if (!error) {
		log_line("this is the token of '%s', and nothing shows it again: keep it where the "
			 "client finds it. 'msp client-config --http=URL CLIENT' prints what else "
			 "the client needs, 'msp token revoke %s' ends it",
			 name, name);
		return 0;
	}
	log_line("token create: standard output: %s", errno_text(-error));
	if (token_file_read(work->fd, &now) != 0 || !tokens_find(&now, name, &line) ||
	    token_file_revoke(work->fd, &line) != 0)
		log_line("token create: the token that nobody saw stays: 'msp token revoke %s' "
			 "ends it",
			 name);
	return MSP_EXIT_SOFTWARE;
}

static int add_token(const struct work *work, const char *name, char token[TOKEN_MAX])
{
	char digest[TOKEN_DIGEST_MAX];
	struct token_line line;
	int error;

	if (tokens_find(&work->tokens, name, &line))
		return log_fail(MSP_EXIT_USAGE,
				"token create: '%s' has a token already: take another name, or end "
				"it with 'msp token revoke %s' first",
				name, name);
	error = token_generate(token);
	if (!error) {
		token_digest(token, digest);
		error = token_file_add(work->fd, &work->tokens, name, digest);
	}
	if (error == -EUSERS || error == -EFBIG)
		return log_fail(
			MSP_EXIT_REFUSED,
			"token create: %s is full (at most %d tokens and %d bytes): revoke some",
			work->path, TOKENS_MAX, TOKENS_BYTES_MAX);
	return error ? fail_work("create", work, error) : 0;
}

static int run_create(const struct token_options *options, const char *name)
{
	static struct work work;
	char token[TOKEN_MAX];
	int code;

	if (begin_work("create", options, TOKEN_FILE_MAKE, &work) != 0)
		return MSP_EXIT_REFUSED;
	code = add_token(&work, name, token);
	if (!code)
		code = show_token(&work, name, token);
	explicit_bzero(token, sizeof(token));
	fd_close(&work.fd);
	return code;
}

static int run_revoke(const struct token_options *options, const char *name)
{
	static struct work work;
	struct token_line line;
	size_t count = 0;
	int error;

	if (begin_work("revoke", options, TOKEN_FILE_CHANGE, &work) != 0)
		return MSP_EXIT_REFUSED;
	/* An editor may have made two of one name. */
	for (error = 0; !error && tokens_find(&work.tokens, name, &line); count++) {
		error = token_file_revoke(work.fd, &line);
		token_line_blank(&line, work.tokens.text + line.at);
	}
	if (error)
		(void)fail_work("revoke", &work, error);
	else if (count == 0)
		log_line("token revoke: '%s' has no token in %s: 'msp token list' shows who has",
			 name, work.path);
	else
		log_line("the token of '%s' is revoked, for servers that run too", name);
	fd_close(&work.fd);
	if (error)
		return MSP_EXIT_REFUSED;
	return count == 0 ? MSP_EXIT_USAGE : 0;
}

static void say_wrong_lines(const struct work *work)
{
	struct token_line line;
	size_t number = 1;

	for (size_t at = 0; token_line_read(&work->tokens, at, &line); number++) {
		if (line.kind == TOKEN_LINE_WRONG)
			log_line("token list: line %zu of %s is no token, and admits nobody",
				 number, work->path);
		at = token_line_next(&line);
	}
}

/* The next token at or behind *at, which is moved behind it. */
static bool next_token(const struct tokens *tokens, size_t *at, struct token_line *ret)
{
	while (token_line_read(tokens, *at, ret)) {
		*at = token_line_next(ret);
		if (ret->kind == TOKEN_LINE_TOKEN)
			return true;
	}
	return false;
}

static int print_names(const struct tokens *tokens)
{
	struct token_line line;

	for (size_t at = 0; next_token(tokens, &at, &line);)
		(void)printf("%.*s\n", (int)line.name_size, tokens->text + line.at);
	return fflush(stdout) == 0 ? 0 : -errno;
}

static int print_json(const struct work *work)
{
	struct json_writer *json = json_begin_object();
	struct token_line line;

	json_put_text(json, "file", work->path);
	json_open_array(json, "tokens");
	for (size_t at = 0; next_token(&work->tokens, &at, &line);) {
		json_open_object(json, NULL);
		json_put_string(json, "name", work->tokens.text + line.at, line.name_size);
		json_close_object(json);
	}
	json_close_array(json);
	return json_finish();
}

static int run_list(const struct token_options *options, const char *name)
{
	static struct work work;
	const int error = begin_work("list", options, TOKEN_FILE_READ, &work);
	int written;

	if (error && error != -ENOENT)
		return MSP_EXIT_REFUSED;
	written = options->is_json ? print_json(&work) : print_names(&work.tokens);
	say_wrong_lines(&work);
	fd_close(&work.fd);
	if (written)
		log_line("token list: standard output: %s", errno_text(-written));
	else if (tokens_count(&work.tokens) == 0)
		log_line("nobody has a token: 'msp token create NAME' makes one");
	return written ? MSP_EXIT_SOFTWARE : 0;
}

#define NO_NAME "a name is missing: create NAME, or revoke NAME"

static const struct action {
	struct command_action is;
	int (*run)(const struct token_options *options, const char *name);
} actions[] = {
	{ { "create", 1, 1, NO_NAME }, run_create },
	{ { "list", 0, 0, "list takes no name" }, run_list },
	{ { "revoke", 1, 1, NO_NAME }, run_revoke },
};

static int run_token(const struct command *command, int argc, char *argv[])
{
	struct token_options options = { 0 };
	const struct action *action;
	struct command_words words = { .most = 2 };
	const char *name;
	struct config config = CONFIG_UNREAD;
	char text[LAUNCH_TEXT_MAX];
	int code;

	action = command_parse_action(command, argc, argv, &options, &words, &code);
	if (!action)
		return code;
	name = words.list[1];
	if (options.is_json && action->run != run_list)
		return command_usage_error(command, "--json is for list");
	if (name && !token_name_is_good(name, strlen(name)))
		return command_usage_error(command,
					   "the name of a token must be of letters, digits, '.', "
					   "'_' and '-', at most 63");
	if (launch_standard_fds() < 0)
		return give_up(action->is.name, "/dev/null cannot be opened", MSP_EXIT_SOFTWARE);
	if (launch_drop_root(options.run_as, &config, &code, text) != 0)
		return give_up(action->is.name, text, code);
	return action->run(&options, name);
}

const struct command command_token = {
	.name = "token",
	.operands = "create NAME | list | revoke NAME",
	.summary = "say who may use an HTTP server",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(actions),
	.run = run_token,
};
