/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-policy: compiles, checks, compares and shows profiles. It reads one given file, writes one
 * file, a descriptor or standard output, and exits.
 */
#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/plan/plan.h"
#include "frontend/utf8.h"
#include "policy/explain.h"
#include "policy/packages/packages.h"
#include "policy/read/agents.h"
#include "policy/read/config_file.h"
#include "policy/read/policy.h"
#include "policy/read/profile_parts.h"
#include "policy/read/units.h"
#include "policy/registries/registries.h"
#include "policy/write/compile.h"
#include "policy/write/show.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Behind the directory of kept binds: the file of what a later start compares. */
#define KEPT_WATCHED ".watched"

static const char usage[] =
	"usage: msp-policy COMMAND [--config FILE] [ARGUMENT...]\n"
	"\n"
	"  compile [-o FILE | --fd N]  write the plan of all profiles\n"
	"  check                       say what is wrong with the file, if anything\n"
	"  list                        the profiles\n"
	"  show PROFILE                what a profile amounts to\n"
	"  diff PROFILE PROFILE        what the second one changes against the first one\n"
	"  seccomp PROFILE             its system calls, by group, with reasons\n"
	"  explain PROFILE OPERATION...  what a sandbox answers, such as \"write /etc/passwd\"\n"
	"  groups                      the groups of system calls that a profile can name\n"
	"  hosts                       the groups of hosts that a profile can name\n"
	"  agents [NAME]               the agents that 'msp agent' knows, or one: a word, a tab "
	"and\n"
	"                              a value in each line\n"
	"  --help, --version\n"
	"\n"
	"  --config FILE  the configuration; without it there are the built-in profiles\n"
	"  --images DIR   the directory of the images that it names\n"
	"  --home DIR     the directory that ~ means in it\n"
	"  --packages DIR the directory of copies of the packages' configuration\n"
	"  --machine DIR  the virtual machine\n"
	"  --kept DIR     the directory of paths that sandboxes keep showing, for compile;\n"
	"                 DIR" KEPT_WATCHED " gets the paths that this depends on\n"
	"\n"
	"The format of the file: msp-policy(5).\n";

/* The bound of `explain`, which scripts ask many questions at once; other commands take fewer. */
#define ARGUMENTS_MAX 1024

/* The command line behind the command. */
struct request {
	const char *config;
	const char *images;
	const char *home;
	const char *packages;
	const char *machine;
	const char *kept;
	const char *output;
	const char *fd;
	int count;
	const char *arguments[ARGUMENTS_MAX];
};

struct command {
	const char *name;
	int least, most; /* number of arguments without options */
	enum {
		READS_NOTHING, /* and `policy` is NULL */
		READS_PROFILES,
		READS_AGENTS,
		WRITES_PLAN, /* a plan of the profiles, and takes -o and --fd */
	} does;
	/* Append to `text`, which is printed if it has something. Return the exit code. */
	int (*run)(const struct request *request, const struct policy *policy, struct buffer *text);
};

static int refuse_request(const char *problem)
{
	log_line("%s", problem);
	return MSP_EXIT_REFUSED;
}

static int refuse_usage(const char *problem, const char *value)
{
	log_line("%s%s; see msp-policy --help", problem, value);
	return MSP_EXIT_USAGE;
}

static int add_config(struct policy *policy, const char *path)
{
	struct policy_error error = { .text = "" };
	struct buffer text = { .bytes = NULL };
	int result = 0;

	if (config_file_read(path, &text, &error) != 0 ||
	    policy_add(policy, path, text.bytes, text.size, &error) != 0)
		result = refuse_request(error.text);
	buffer_done(&text);
	return result;
}

/* Let profiles show the packages' configuration, whose copies are brought up to date, and the
 * virtual machine. Copies that cannot be kept are not shown. */
static void show_machine(const struct request *request, struct policy *policy,
			 struct packages *packages)
{
	int error = 0;

	if (request->packages != NULL) {
		packages_read(packages, "");
		if (policy_registries(policy) != NULL)
			buffer_append(&packages->watched, policy_registries(policy)->watched.bytes,
				      policy_registries(policy)->watched.size);
		error = packages_copy(packages, request->packages);
	}
	if (error != 0)
		log_line("%s: %s", request->packages, errno_text(-error));
	policy_set_shown(policy,
			 (struct policy_shown){
				 .packages = error == 0 && packages->count > 0 ? packages : NULL,
				 .machine = request->machine,
				 .frames = error == 0 ? request->packages : NULL });
}

/* Return the bytes of memory of this machine; 0: not known. */
static uint64_t machine_memory(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* Load the built-in profiles, and the configuration if one is given. NULL after a message. */
static struct policy *load_policy(const struct request *request)
{
	struct policy *policy = policy_new();
	struct policy_error error = { .text = "" };

	if (request->images != NULL)
		policy_look_in(policy, request->images);
	/* A plan of the build is no machine's. */
	if (request->home != NULL || request->packages != NULL)
		policy_live_in(policy, request->home);
	policy_run_on(policy, machine_memory());
	if (policy_add_builtin(policy, &error) != 0) {
		(void)refuse_request(error.text);
		return policy_free(policy);
	}
	if (request->config != NULL && add_config(policy, request->config) != 0)
		return policy_free(policy);
	return policy;
}

static int load_agents(struct policy *policy)
{
	struct policy_error error;

	return policy_load_agents(policy, &error) != 0 ? refuse_request(error.text) : 0;
}

static int write_stdout(const struct buffer *text)
{
	if (text->size == 0 ||
	    (fwrite(text->bytes, 1, text->size, stdout) == text->size && fflush(stdout) == 0))
		return 0;
	log_line("standard output: %s", errno_text(errno));
	return MSP_EXIT_SOFTWARE;
}

/* Write a temporary file beside `path` and rename it, so that no reader sees half a plan. */
static int write_file(const char *path, const struct buffer *blob)
{
	struct buffer neighbour = { .bytes = NULL };
	FILE *file;
	bool is_written;

	buffer_format(&neighbour, "%s.%ld", path, (long)getpid());
	file = fopen(neighbour.bytes, "wex");
	is_written = file != NULL && fwrite(blob->bytes, 1, blob->size, file) == blob->size;
	is_written = file != NULL && fclose(file) == 0 && is_written;
	is_written = is_written && rename(neighbour.bytes, path) == 0;
	if (!is_written) {
		log_line("%s: %s", path, errno_text(errno));
		if (file != NULL)
			(void)unlink(neighbour.bytes);
	}
	buffer_done(&neighbour);
	return is_written ? 0 : MSP_EXIT_SOFTWARE;
}

/* Derive profiles of kept binds. Where the paths cannot be written, a change is seen late. */
static void keep_binds(struct policy *policy, const char *directory)
{
	struct buffer watched = { .bytes = NULL }, path = { .bytes = NULL };

	policy_keep(policy, directory, &watched);
	buffer_format(&path, "%s" KEPT_WATCHED, directory);
	(void)write_file(path.bytes, &watched);
	buffer_done(&path);
	buffer_done(&watched);
}

/* Compile, and read the result as the supervisor will. */
static int compile_policy(const struct policy *policy, struct buffer *blob)
{
	struct policy_error error = { .text = "" };
	struct plan plan;

	if (policy_compile(policy, blob, &error) != 0)
		return refuse_request(error.text);
	if (plan_open(blob->bytes, blob->size, &plan) != 0) {
		log_line("the compiled plan does not pass its own check");
		return MSP_EXIT_SOFTWARE;
	}
	return 0;
}

/* Write the whole plan to a descriptor, which stays the caller's. */
static int write_fd(const char *text, const struct buffer *blob)
{
	uint64_t number;
	int error;

	if (!units_number(text, &number) || number > INT_MAX)
		return refuse_usage("--fd: no number of a descriptor: ", text);
	error = fd_write_all((int)number, blob->bytes, blob->size);
	if (error)
		log_line("descriptor %s: %s", text, errno_text(-error));
	return error ? MSP_EXIT_SOFTWARE : 0;
}

static int run_compile(const struct request *request, const struct policy *policy,
		       struct buffer *text)
{
	struct buffer blob = { .bytes = NULL };
	int result = compile_policy(policy, &blob);

	if (result == 0 && request->fd != NULL)
		result = write_fd(request->fd, &blob);
	else if (result == 0 && request->output != NULL)
		result = write_file(request->output, &blob);
	else if (result == 0)
		buffer_append(text, blob.bytes, blob.size);
	buffer_done(&blob);
	return result;
}

/* Count the profiles of the configuration. */
static uint32_t count_own(const struct policy *policy)
{
	const char *file = policy_settings(policy)->file;
	uint32_t own = 0;

	for (uint32_t i = 0; i < policy_count(policy); i++)
		own += policy_at(policy, i)->origins.keys[KEY_profile_name].file == file;
	return own;
}

static int refuse_missing(const struct profile *profile)
{
	const struct origin *origin = &profile->origins.keys[KEY_profile_image];

	log_line("%s:%u: profile %s cannot be used: %s", origin->file, origin->line, profile->name,
		 profile->missing);
	return MSP_EXIT_REFUSED;
}

/* Say which profiles cannot be used. 0, or the exit code after messages. */
static int check_images(const struct policy *policy)
{
	int result = 0;

	for (uint32_t i = 0; i < policy_count(policy); i++) {
		if (policy_at(policy, i)->missing != NULL)
			result = refuse_missing(policy_at(policy, i));
	}
	return result;
}

static int run_check(const struct request *request, const struct policy *policy,
		     struct buffer *text)
{
	struct buffer blob = { .bytes = NULL }, line = { .bytes = NULL };
	const uint32_t own = count_own(policy);
	int result = compile_policy(policy, &blob);

	if (result == 0)
		result = check_images(policy);
	buffer_format(&line, "%s: ok, %u profile%s", request->config, own, own == 1 ? "" : "s");
	utf8_make_line(line.bytes); /* the file's name is a stranger's */
	if (result == 0)
		buffer_format(text, "%s\n", line.bytes);
	buffer_done(&blob);
	buffer_done(&line);
	return result;
}

/* Find the profile that argument `index` names; NULL after a message. */
static const struct profile *find_profile(const struct policy *policy,
					  const struct request *request, int index)
{
	const struct profile *profile = policy_find(policy, request->arguments[index]);

	if (profile == NULL)
		(void)refuse_usage("there is no profile ", request->arguments[index]);
	return profile;
}

static int show_with(const struct request *request, const struct policy *policy,
		     struct buffer *text, void (*show)(const struct profile *, struct buffer *))
{
	const struct profile *profile = find_profile(policy, request, 0);

	if (profile == NULL)
		return MSP_EXIT_USAGE;
	show(profile, text);
	return 0;
}

static int run_show(const struct request *request, const struct policy *policy, struct buffer *text)
{
	return show_with(request, policy, text, policy_show);
}

static int run_seccomp(const struct request *request, const struct policy *policy,
		       struct buffer *text)
{
	return show_with(request, policy, text, policy_show_seccomp);
}

/* Print the differences. The exit code is as of diff(1): 0 if there are none, else 1. */
static int run_diff(const struct request *request, const struct policy *policy, struct buffer *text)
{
	const struct profile *a = find_profile(policy, request, 0);
	const struct profile *b = a != NULL ? find_profile(policy, request, 1) : NULL;

	if (b == NULL)
		return MSP_EXIT_USAGE;
	policy_diff(a, b, text);
	return text->size > 0 ? 1 : 0;
}

static int run_groups(const struct request *request, const struct policy *policy,
		      struct buffer *text)
{
	policy_show_groups(text);
	return 0;
}

static int run_hosts(const struct request *request, const struct policy *policy,
		     struct buffer *text)
{
	policy_show_hosts(text);
	return 0;
}

static int refuse_agent(const struct agents *agents, const char *name)
{
	struct buffer known = { .bytes = NULL };

	for (uint32_t i = 0; i < agents->count; i++)
		buffer_format(&known, "%s%s", i > 0 ? ", " : "", agents->of[i].name);
	log_line("there is no agent %s: known are %s; 'agents' in the configuration adds one "
		 "(msp-policy(5))",
		 name, known.bytes);
	buffer_done(&known);
	return MSP_EXIT_USAGE;
}

static int run_agents(const struct request *request, const struct policy *policy,
		      struct buffer *text)
{
	const struct agents *agents = policy_agents(policy);
	const struct agent *agent =
		request->count > 0 ? agents_find(agents, request->arguments[0]) : NULL;

	if (request->count > 0 && agent == NULL)
		return refuse_agent(agents, request->arguments[0]);
	for (uint32_t i = 0; agent == NULL && i < agents->count; i++)
		agents_print(&agents->of[i], text);
	if (agent != NULL)
		agents_print(agent, text);
	return 0;
}

static int run_explain(const struct request *request, const struct policy *policy,
		       struct buffer *text)
{
	const struct profile *profile = policy_find(policy, request->arguments[0]);
	struct buffer blob = { .bytes = NULL };
	struct plan plan;
	int result = profile != NULL && profile->missing != NULL ? refuse_missing(profile)
								 : compile_policy(policy, &blob);

	if (result == 0 && plan_open(blob.bytes, blob.size, &plan) == 0)
		result = explain(&plan, request->count, request->arguments, text);
	buffer_done(&blob);
	return result;
}

static int run_list(const struct request *request, const struct policy *policy, struct buffer *text)
{
	for (uint32_t i = 0; i < policy_count(policy); i++) {
		const struct profile *profile = policy_at(policy, i);

		if (profile->name[0] != '_' && !image_is_awaited(profile))
			buffer_format(text, "%-12s %s%s\n", profile->name,
				      profile->missing != NULL ? "cannot be used: " : "",
				      profile->missing != NULL ? profile->missing
							       : profile->description);
	}
	return 0;
}

static int run_help(const struct request *request, const struct policy *policy, struct buffer *text)
{
	buffer_append_text(text, usage);
	return 0;
}

static int run_version(const struct request *request, const struct policy *policy,
		       struct buffer *text)
{
	buffer_format(text, "msp-policy %s\n", MSP_VERSION);
	return 0;
}

static const struct command commands[] = {
	{ "compile", 0, 0, WRITES_PLAN, run_compile },
	{ "check", 0, 0, READS_PROFILES, run_check },
	{ "list", 0, 0, READS_PROFILES, run_list },
	{ "show", 1, 1, READS_PROFILES, run_show },
	{ "diff", 2, 2, READS_PROFILES, run_diff },
	{ "seccomp", 1, 1, READS_PROFILES, run_seccomp },
	{ "explain", 2, ARGUMENTS_MAX, READS_PROFILES, run_explain },
	{ "groups", 0, 0, READS_NOTHING, run_groups },
	{ "hosts", 0, 0, READS_NOTHING, run_hosts },
	{ "agents", 0, 1, READS_AGENTS, run_agents },
	{ "--help", 0, 0, READS_NOTHING, run_help },
	{ "-h", 0, 0, READS_NOTHING, run_help },
	{ "help", 0, 0, READS_NOTHING, run_help },
	{ "--version", 0, 0, READS_NOTHING, run_version },
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

/* Return where to store an option's value; NULL: `word` is no option of this command. */
static const char **place_of(const struct command *command, const char *word,
			     struct request *request)
{
	if (strcmp(word, "--config") == 0)
		return &request->config;
	if (strcmp(word, "--images") == 0)
		return &request->images;
	if (strcmp(word, "--home") == 0)
		return &request->home;
	if (strcmp(word, "--packages") == 0)
		return &request->packages;
	if (strcmp(word, "--machine") == 0)
		return &request->machine;
	if (command->does != WRITES_PLAN)
		return NULL;
	return strcmp(word, "-o") == 0       ? &request->output
	       : strcmp(word, "--fd") == 0   ? &request->fd
	       : strcmp(word, "--kept") == 0 ? &request->kept
					     : NULL;
}

/* Options may stand before, between and behind the arguments. */
static int read_request(const struct command *command, int argc, char **argv,
			struct request *request)
{
	for (int i = 0; i < argc; i++) {
		const char **place = place_of(command, argv[i], request);

		if (place == NULL && argv[i][0] == '-')
			return refuse_usage("unknown option ", argv[i]);
		if (place == NULL && request->count == command->most)
			return refuse_usage("unexpected argument ", argv[i]);
		if (place == NULL) {
			request->arguments[request->count++] = argv[i];
			continue;
		}
		if (i + 1 == argc)
			return refuse_usage("missing value of ", argv[i]);
		if (*place != NULL)
			return refuse_usage("given twice: ", argv[i]);
		*place = argv[++i];
	}
	if (request->count < command->least)
		return refuse_usage("missing argument of ", command->name);
	return 0;
}

/* Refuse what the options do not say together. */
static int check_options(const struct command *command, const struct request *request)
{
	if (command->run == run_check && request->config == NULL)
		return refuse_usage("nothing to check: name a file with ", "--config");
	if (command->does != WRITES_PLAN)
		return 0;
	if (request->output != NULL && request->fd != NULL)
		return refuse_usage("-o and --fd are two places, and there is one plan", "");
	if (request->output == NULL && request->fd == NULL && isatty(STDOUT_FILENO) != 0)
		return refuse_usage("a plan is binary and this is a terminal: name a file with ",
				    "-o");
	return 0;
}

/* Let a person name the profile of an agent, which is in no plan. */
static int name_agents(const struct request *request, struct policy *policy)
{
	struct policy_error error;

	for (int i = 0; i < request->count; i++) {
		if (policy_name_agent(policy, request->arguments[i], &error) != 0)
			return refuse_request(error.text);
	}
	return 0;
}

static int run_command(const struct command *command, const struct request *request)
{
	struct policy *policy = command->does != READS_NOTHING ? load_policy(request) : NULL;
	struct packages packages = { .count = 0 };
	struct buffer text = { .bytes = NULL };
	int result, written;

	if (command->does != READS_NOTHING && policy == NULL)
		return MSP_EXIT_REFUSED;
	if (command->does == READS_AGENTS && load_agents(policy) != 0) {
		(void)policy_free(policy);
		return MSP_EXIT_REFUSED;
	}
	if (policy != NULL && name_agents(request, policy) != 0) {
		(void)policy_free(policy);
		return MSP_EXIT_REFUSED;
	}
	if (policy != NULL)
		show_machine(request, policy, &packages);
	if (policy != NULL && request->kept != NULL)
		keep_binds(policy, request->kept);
	result = command->run(request, policy, &text);
	written = write_stdout(&text);
	buffer_done(&text);
	policy = policy_free(policy);
	packages_done(&packages);
	return written != 0 ? written : result;
}

int main(int argc, char **argv)
{
	struct request request = { .count = 0 };
	const struct command *command;
	int result;

	log_set_name("msp-policy");
	log_make_line = utf8_make_line; /* as the launcher does */
	if (argc < 2) {
		(void)fputs(usage, stderr);
		return MSP_EXIT_USAGE;
	}
	command = find_command(argv[1]);
	if (command == NULL)
		return refuse_usage("unknown command ", argv[1]);
	result = read_request(command, argc - 2, argv + 2, &request);
	if (result == 0)
		result = check_options(command, &request);
	return result == 0 ? run_command(command, &request) : result;
}
