/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp secret`: do the secrets of profiles have values? A value is never shown.
 */
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/launch.h"
#include "launcher/start/secret.h"
#include "options/command.h"

#define HOSTS_TEXT_MAX 1024

struct secret_options {
	const char *config;
};

static const struct option_row rows[] = {
	OPTION_CONFIG(struct secret_options, config),
};

/* Print the names of the hosts that a secret is for, each once. */
static void print_hosts(const struct plan *plan, const struct plan_profile *profile,
			const struct plan_secret *secret, char text[HOSTS_TEXT_MAX])
{
	const struct plan_host *hosts = plan_hosts(plan, profile);
	const char *last = "";

	text[0] = '\0';
	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (!(secret->hosts[i / 8] >> i % 8 & 1) || strcmp(hosts[i].pattern, last) == 0)
			continue;
		last = hosts[i].pattern;
		format_append(text, HOSTS_TEXT_MAX, "%s%s", text[0] ? ", " : "", last);
	}
}

/* Try one secret. Return whether its source can be read. */
static bool try_secret(const struct plan *plan, const struct plan_profile *profile,
		       const struct plan_secret *secret)
{
	char problem[SECRET_TEXT_MAX], source[SECRET_TEXT_MAX], hosts[HOSTS_TEXT_MAX];
	size_t size = 0;
	int value = secret_read(secret, &size, problem);
	const bool is_read = value >= 0;

	fd_close(&value);
	secret_print_source(secret, source);
	print_hosts(plan, profile, secret, hosts);
	if (is_read)
		(void)printf("%s  %s  %s: %zu byte%s, for %s in %s\n",
			     plan_string(plan, profile->name), secret->name, source, size,
			     size == 1 ? "" : "s", hosts, secret->header);
	else
		log_line("%s:%u: profile %s: %s", plan_string(plan, profile->network_origin.file),
			 secret->line, plan_string(plan, profile->name), problem);
	return is_read;
}

/* Try the secrets of a profile (NULL: of all). The exit code. */
static int try_all(const struct plan *plan, const char *name)
{
	bool are_read = true;

	for (uint32_t i = 0; i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);
		const struct plan_secret *secrets = plan_secrets(plan, profile);

		if (name && strcmp(plan_string(plan, profile->name), name) != 0)
			continue;
		for (uint32_t j = 0; j < profile->secret_count; j++)
			are_read &= try_secret(plan, profile, &secrets[j]);
	}
	return are_read ? 0 : MSP_EXIT_REFUSED;
}

/* Read the configuration as a start would, by the account that a start would use. 0, or the exit
 * code after a message. */
static int read_config(const struct command *command, const char *given, struct config *config)
{
	char text[LAUNCH_TEXT_MAX];
	int code = launch_standard_fds() < 0 ? MSP_EXIT_SOFTWARE : 0;

	config->given = given;
	if (code)
		format_text(text, sizeof(text), "/dev/null cannot be opened");
	else if (launch_drop_root(NULL, config, &code, text) == 0)
		code = config_read(config, text);
	if (code)
		log_line("%s: %s", command->name, text);
	return code;
}

static int run_secret(const struct command *command, int argc, char *argv[])
{
	struct secret_options options = { 0 };
	struct command_words words = { .most = COMMAND_WORDS_MAX };
	struct config config = CONFIG_UNREAD;
	const struct plan *plan;
	const char *name;
	int code;

	if (!command_parse_action(command, argc, argv, &options, &words, &code))
		return code;
	name = words.list[1];
	code = read_config(command, options.config, &config);
	if (code)
		return code;
	if (!config.path[0]) /* built-in profiles have none */
		return 0;
	plan = config_plan(&config);
	if (name && plan && plan_profile_find(plan, name) < 0)
		return command_usage_error(command, "there is no profile of this name");
	return plan ? try_all(plan, name) : MSP_EXIT_REFUSED;
}

static const struct command_action actions[] = {
	{ "check", 0, 1, "check takes the name of one profile, or none" },
};

const struct command command_secret = {
	.name = "secret",
	.operands = "check [PROFILE]",
	.summary = "try the secrets of the configuration, without showing them",
	.help = "A profile with 'network: hosts' can have secrets, which its hosts get and its\n"
		"sandboxes do not: a file, a variable or a command of yours is the source.\n"
		"\n"
		"  check [PROFILE]  try each source: its length and its hosts, never its value\n"
		"\n"
		"The exit code is 0, 64 when the command line is wrong, and 78 when a source\n"
		"cannot be read or the configuration is wrong.\n",
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(actions),
	.run = run_secret,
};
