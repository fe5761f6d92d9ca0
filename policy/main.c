/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-policy: compiles, checks and shows profiles. Reads the files it is given, writes one file or
 * standard output, and ends.
 */
#include "common/limits.h"
#include "common/log.h"
#include "common/plan.h"
#include "policy/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: msp-policy COMMAND\n"
	"\n"
	"  compile [-o FILE] [PROFILE.yaml...]  write the plan of the built-in profiles and of "
	"these\n"
	"  check PROFILE.yaml...                say what is wrong with these files, if anything\n"
	"  show PROFILE [PROFILE.yaml...]       what a profile amounts to\n"
	"  seccomp PROFILE [PROFILE.yaml...]    its system calls, by group, with reasons\n"
	"  groups                               the groups of system calls that a profile can "
	"name\n"
	"  list [PROFILE.yaml...]               the profiles\n"
	"  --help, --version\n"
	"\n"
	"The format of the files: msp-policy(5).\n";

/* A command, with what is left of the command line. */
struct command {
	const char *name;
	int least;
	int (*run)(int argc, char **argv);
};

static int refuse(const char *problem)
{
	log_line("%s", problem);
	return MSP_EXIT_REFUSED;
}

static int refuse_usage(const char *problem, const char *value)
{
	log_line("%s%s; see msp-policy --help", problem, value);
	return MSP_EXIT_USAGE;
}

static int read_file(const char *path, struct buffer *ret)
{
	FILE *file = fopen(path, "re");
	char bytes[4096];
	size_t size;
	int error;

	if (file == NULL)
		return -errno;
	while (ret->size <= SOURCE_BYTES_MAX && (size = fread(bytes, 1, sizeof(bytes), file)) > 0)
		buffer_add(ret, bytes, size);
	error = ferror(file) != 0 ? -errno : 0;
	(void)fclose(file); /* it was only read */
	return error;
}

static int add_file(struct policy *policy, const char *path)
{
	struct policy_error error = { .text = "" };
	struct buffer text = { .bytes = NULL };
	int result = read_file(path, &text);

	if (result != 0)
		log_line("%s: %s", path, strerror(-result));
	else if (policy_add(policy, path, text.bytes != NULL ? text.bytes : "", text.size,
			    &error) != 0)
		result = refuse(error.text);
	buffer_done(&text);
	return result;
}

/* The built-in profiles and those of `count` files; NULL after a message. */
static struct policy *load(int count, char **files)
{
	struct policy *policy = policy_new();
	struct policy_error error = { .text = "" };

	if (policy_add_builtin(policy, &error) != 0) {
		(void)refuse(error.text);
		return policy_free(policy);
	}
	for (int i = 0; i < count; i++) {
		if (add_file(policy, files[i]) != 0)
			return policy_free(policy);
	}
	return policy;
}

static int write_stdout(const struct buffer *text)
{
	if (fwrite(text->bytes, 1, text->size, stdout) != text->size || fflush(stdout) != 0) {
		log_line("standard output: %s", strerror(errno));
		return MSP_EXIT_SOFTWARE;
	}
	return 0;
}

/* Through a neighbour and rename(2), so that nobody ever reads half a plan. */
static int write_file(const char *path, const struct buffer *blob)
{
	struct buffer neighbour = { .bytes = NULL };
	FILE *file;
	bool is_written;

	buffer_printf(&neighbour, "%s.%ld", path, (long)getpid());
	file = fopen(neighbour.bytes, "wex");
	is_written = file != NULL && fwrite(blob->bytes, 1, blob->size, file) == blob->size;
	is_written = file != NULL && fclose(file) == 0 && is_written;
	is_written = is_written && rename(neighbour.bytes, path) == 0;
	if (!is_written) {
		log_line("%s: %s", path, strerror(errno));
		if (file != NULL)
			(void)unlink(neighbour.bytes);
	}
	buffer_done(&neighbour);
	return is_written ? 0 : MSP_EXIT_SOFTWARE;
}

/* Compile, and read the result as the supervisor will. */
static int compile(const struct policy *policy, struct buffer *blob)
{
	struct policy_error error = { .text = "" };
	struct plan plan;

	if (policy_compile(policy, blob, &error) != 0)
		return refuse(error.text);
	if (plan_open(blob->bytes, blob->size, &plan) != 0) {
		log_line("the compiled plan does not pass its own check");
		return MSP_EXIT_SOFTWARE;
	}
	return 0;
}

static int run_compile(int argc, char **argv)
{
	const bool has_output = argc >= 1 && strcmp(argv[0], "-o") == 0;
	const char *output = has_output && argc >= 2 ? argv[1] : NULL;
	const int skipped = has_output ? 2 : 0;
	struct buffer blob = { .bytes = NULL };
	struct policy *policy;
	int result;

	if (has_output && output == NULL)
		return refuse_usage("-o needs the name of the file to write", "");
	if (!has_output && isatty(STDOUT_FILENO) != 0)
		return refuse_usage("a plan is binary and this is a terminal: name a file with ",
				    "-o");
	policy = load(argc - skipped, argv + skipped);
	if (policy == NULL)
		return MSP_EXIT_REFUSED;
	result = compile(policy, &blob);
	if (result == 0)
		result = has_output ? write_file(output, &blob) : write_stdout(&blob);
	buffer_done(&blob);
	policy = policy_free(policy);
	return result;
}

static int run_check(int argc, char **argv)
{
	struct buffer blob = { .bytes = NULL };
	struct policy *policy = load(0, NULL);
	int result = 0;

	if (policy == NULL)
		return MSP_EXIT_REFUSED;
	for (int i = 0; i < argc; i++) {
		if (add_file(policy, argv[i]) != 0)
			result = MSP_EXIT_REFUSED;
		else
			(void)printf("%s: ok\n", argv[i]);
	}
	if (result == 0)
		result = compile(policy, &blob);
	buffer_done(&blob);
	policy = policy_free(policy);
	return result;
}

static int show_with(int argc, char **argv, void (*show)(const struct profile *, struct buffer *))
{
	struct buffer text = { .bytes = NULL };
	struct policy *policy = load(argc - 1, argv + 1);
	const struct profile *profile;
	int result;

	if (policy == NULL)
		return MSP_EXIT_REFUSED;
	profile = policy_find(policy, argv[0]);
	if (profile == NULL) {
		result = refuse_usage("there is no profile ", argv[0]);
	} else {
		show(profile, &text);
		result = write_stdout(&text);
	}
	buffer_done(&text);
	policy = policy_free(policy);
	return result;
}

static int run_show(int argc, char **argv)
{
	return show_with(argc, argv, policy_show);
}

static int run_seccomp(int argc, char **argv)
{
	return show_with(argc, argv, policy_show_seccomp);
}

static int run_groups(int argc, char **argv)
{
	struct buffer text = { .bytes = NULL };
	int result;

	if (argc > 0)
		return refuse_usage("unexpected argument ", argv[0]);
	policy_show_groups(&text);
	result = write_stdout(&text);
	buffer_done(&text);
	return result;
}

static int run_list(int argc, char **argv)
{
	struct policy *policy = load(argc, argv);

	if (policy == NULL)
		return MSP_EXIT_REFUSED;
	for (uint32_t i = 0; i < policy_count(policy); i++) {
		const struct profile *profile = policy_at(policy, i);

		if (profile->name[0] != '_')
			(void)printf("%-12s %s\n", profile->name, profile->description);
	}
	policy = policy_free(policy);
	return 0;
}

static int run_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)fputs(usage, stdout);
	return 0;
}

static int run_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)printf("msp-policy %s\n", MSP_VERSION);
	return 0;
}

static const struct command commands[] = {
	{ "compile", 0, run_compile },   { "check", 1, run_check },   { "show", 1, run_show },
	{ "seccomp", 1, run_seccomp },   { "groups", 0, run_groups }, { "list", 0, run_list },
	{ "--help", 0, run_help },       { "-h", 0, run_help },       { "help", 0, run_help },
	{ "--version", 0, run_version },
};

int main(int argc, char **argv)
{
	log_set_name("msp-policy");
	if (argc < 2) {
		(void)fputs(usage, stderr);
		return MSP_EXIT_USAGE;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, argv[1]) != 0)
			continue;
		if (argc - 2 < commands[i].least)
			return refuse_usage("missing argument of ", argv[1]);
		return commands[i].run(argc - 2, argv + 2);
	}
	return refuse_usage("unknown command ", argv[1]);
}
