/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/set.h"

#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "launcher/host/bind.h"
#include "launcher/start/kept_binds.h"
#include "launcher/start/launch.h"

#define BIND_MARK "--ro: "

/* --- a model on this machine ------------------------------------------------------------------ */

static const char *skip_word(const char *text, const char *word)
{
	const size_t size = strlen(word);

	return strncmp(text, word, size) == 0 ? text + size : NULL;
}

uint32_t agent_model_port(const char *url, const char **ret_rest)
{
	static const char *const names[] = { "127.0.0.1:", "localhost:", "[::1]:" };
	const char *at = skip_word(url, "http://");
	uint32_t port = 0;

	for (size_t i = 0; at && i < sizeof(names) / sizeof(names[0]); i++) {
		const char *digit = skip_word(at, names[i]);

		for (; digit && *digit >= '0' && *digit <= '9' && port <= UINT16_MAX; digit++)
			port = 10 * port + (uint32_t)(*digit - '0');
		if (digit && port > 0 && port <= UINT16_MAX && (*digit == '/' || *digit == '\0')) {
			*ret_rest = digit;
			return port;
		}
		port = 0;
	}
	return 0;
}

bool agent_is_own_host(const struct agent_row *row, const char *url)
{
	const char *host = skip_word(url, "https://");
	const size_t size = host ? strcspn(host, "/:?#") : 0;

	for (uint32_t i = 0; host && i < row->hosts.count; i++) {
		if (strlen(row->hosts.list[i]) == size &&
		    strncmp(row->hosts.list[i], host, size) == 0)
			return host[size] == '/' || host[size] == '\0';
	}
	return false;
}

/* --- the set ---------------------------------------------------------------------------------- */

/* Open and check what the program needs. 0, or the exit code after a line. */
static int open_binds(const struct agent_set *set, const struct plan *plan, struct binds *ret)
{
	const struct protected_set protected = protected_set_of(plan);
	struct bind_words words = { .count = set->program->bind_count };
	char text[BIND_TEXT_MAX];
	const char *reason = text;

	for (uint32_t i = 0; i < words.count; i++)
		words.words[i] = set->program->binds[i];
	if (binds_open(&words, &protected, ret, text) == 0)
		return 0;
	if (skip_word(text, BIND_MARK))
		reason = skip_word(text, BIND_MARK);
	return log_fail(MSP_EXIT_REFUSED,
			"%s is at %s, which no sandbox may be shown: %s. Install it elsewhere, "
			"below /opt or by npm",
			set->row->name, set->program->found, reason);
}

static void close_binds(struct binds *binds)
{
	while (binds->count > 0)
		fd_close(&binds->list[--binds->count].fd);
}

/* Write the set. 0, or the exit code after a line. */
static int write_set(const struct agent_set *set, const struct binds *binds,
		     char profile[IPC_NAME_MAX])
{
	struct kept_pair pairs[AGENT_KEYS_MAX + 1];
	char names[AGENT_KEYS_MAX][128], model[64], base[IPC_NAME_MAX], text[CONFIG_TEXT_MAX];
	struct kept_wish wish = {
		.asker = "msp agent", .profile = base, .binds = binds, .pairs = pairs
	};
	bool is_new;
	int code;

	format_text(base, sizeof(base), "agent.%s%s", set->row->name,
		    set->has_login ? ".login" : "");
	for (uint32_t i = 0; i < set->key_count; i++) {
		format_text(names[i], sizeof(names[i]), "=%s", set->key_names[i]);
		pairs[wish.pair_count++] = (struct kept_pair){ set->keys[i].path, names[i] };
	}
	if (set->model_port) {
		format_text(model, sizeof(model), KEPT_MODEL ":%u", set->model_port);
		pairs[wish.pair_count++] = (struct kept_pair){ model, KEPT_OWN_PORT };
	}
	code = profile[0] ? kept_binds_renew(&wish, profile, text)
			  : kept_binds_add(&wish, profile, &is_new, text);
	return code ? log_fail(code, "%s", text) : 0;
}

/* Read the configuration, as a start of a persistent sandbox does. 0, or the exit code after a
 * line. */
static int read_config(struct config *config, int builtin, const char *given)
{
	char text[CONFIG_TEXT_MAX];
	int code;

	*config = (struct config)CONFIG_UNREAD;
	config->builtin = builtin;
	config->given = given;
	config->has_kept = true;
	code = config_read(config, text);
	return code ? log_fail(code, "%s", text) : 0;
}

/* Does the plan have the profile now? 0, or the exit code after a line. */
static int check_profile(const struct agent_set *set, int builtin, const char *given,
			 const char *profile)
{
	static struct config config;
	const int code = read_config(&config, builtin, given);
	const bool is_there = !code && profile_named(config_plan(&config), profile);

	if (!code)
		config_close(&config);
	if (code || is_there)
		return code;
	return log_fail(MSP_EXIT_REFUSED,
			"%s cannot have a sandbox: no profile can be made of its row. 'msp policy "
			"agents %s' shows the row; does the profile that it extends have 'network: "
			"hosts'?",
			set->row->name, set->row->name);
}

int agent_set_keep(const struct agent_set *set, const char *config, char profile[IPC_NAME_MAX])
{
	static struct binds binds;
	static struct config before;
	char text[LAUNCH_TEXT_MAX];
	struct images images = IMAGES_NONE;
	int code;

	if (launch_open_images(&images, text) != 0)
		return log_fail(MSP_EXIT_SANDBOX, "%s", text);
	code = read_config(&before, images.policy, config);
	if (!code) {
		code = open_binds(set, config_plan(&before), &binds);
		config_close(&before);
	}
	if (!code)
		code = write_set(set, &binds, profile);
	close_binds(&binds);
	if (!code)
		code = check_profile(set, images.policy, config, profile);
	launch_close_images(&images);
	return code;
}
