/* SPDX-License-Identifier: Apache-2.0 */
#include "run/request.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/state.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"

static struct ipc_spawn spawn;

bool request_put(uint8_t *list, uint32_t room, uint32_t *used, const void *bytes, size_t size)
{
	if (size > room - *used)
		return false;
	memcpy(list + *used, bytes, size);
	*used += (uint32_t)size;
	return true;
}

static bool is_list(const uint8_t *list, uint32_t size)
{
	return size == 0 || list[size - 1] == '\0';
}

/* Return whether an item of `list` begins with these `length` bytes of `text`. */
static bool has_item(const uint8_t *list, uint32_t size, const char *text, size_t length)
{
	for (uint32_t at = 0; at < size; at += (uint32_t)strlen((const char *)list + at) + 1) {
		if (strncmp((const char *)list + at, text, length) == 0)
			return true;
	}
	return false;
}

/* The names as one text for people: NULs between them become ", ". */
static void describe_list(const uint8_t *list, uint32_t size, char detail[IPC_LIST_MAX])
{
	uint32_t used = 0;

	for (uint32_t at = 0; at < size && used + 3 < IPC_LIST_MAX; at++) {
		if (list[at] != '\0')
			detail[used++] = (char)list[at];
		else if (at + 1 < size)
			used += (uint32_t)snprintf(detail + used, IPC_LIST_MAX - used, ", ");
	}
	detail[used] = '\0';
}

static bool is_installed(const struct plan_language *language)
{
	return access(plan_string(&supervisor.plan, language->host_program), X_OK) == 0;
}

uint32_t request_list_languages(const struct plan_profile *profile, uint8_t list[IPC_LIST_MAX])
{
	const struct plan_language *languages = plan_languages(&supervisor.plan, profile);
	uint32_t used = 0;

	for (uint32_t i = 0; i < profile->language_count; i++) {
		const char *name = plan_string(&supervisor.plan, languages[i].name);

		const size_t size = strlen(name) + 1;

		if (!has_item(list, used, name, size) && is_installed(&languages[i]) &&
		    !request_put(list, IPC_LIST_MAX, &used, name, size))
			break;
	}
	return used;
}

enum refusal request_profile(const char *name, uint32_t no_hosts, uint32_t *ret)
{
	const int index = name[0] ? plan_profile_find(&supervisor.plan, name)
				  : (int)supervisor.default_profile;

	if (index < 0 ||
	    plan_is_internal(&supervisor.plan, plan_profile(&supervisor.plan, (uint32_t)index)))
		return REFUSAL_PROFILE_UNKNOWN;
	*ret = no_hosts ? plan_profile(&supervisor.plan, (uint32_t)index)->no_hosts
			: (uint32_t)index;
	return REFUSAL_NONE;
}

static bool are_variables(const uint8_t *list, uint32_t size)
{
	for (uint32_t at = 0; at < size; at += (uint32_t)strlen((const char *)list + at) + 1) {
		const char *equals = strchr((const char *)list + at, '=');

		if (!equals || equals == (const char *)list + at)
			return false;
	}
	return true;
}

/* The request's variables, and the profile's that it does not name. */
static bool compose_environment(const struct plan_profile *profile, const uint8_t *extra,
				uint32_t size)
{
	const uint8_t *own = plan_bytes(&supervisor.plan, profile->environment);

	spawn.environment_size = 0;
	if (!is_list(extra, size) || !are_variables(extra, size) ||
	    !request_put(spawn.environment, IPC_ENVIRONMENT_MAX, &spawn.environment_size, extra,
			 size))
		return false;
	for (uint32_t at = 0; at < profile->environment_size;) {
		const char *entry = (const char *)own + at;
		const size_t length = strlen(entry) + 1;

		at += (uint32_t)length;
		/* The request's own value of a name counts. */
		if (!has_item(extra, size, entry, strcspn(entry, "=") + 1) &&
		    !request_put(spawn.environment, IPC_ENVIRONMENT_MAX, &spawn.environment_size,
				 entry, length))
			return false;
	}
	return true;
}

static bool compose_arguments(const uint8_t *first, uint32_t first_size, const uint8_t *rest,
			      uint32_t rest_size)
{
	spawn.argv_size = 0;
	return is_list(rest, rest_size) && rest_size > 0 &&
	       request_put(spawn.argv, IPC_ARGV_MAX, &spawn.argv_size, first, first_size) &&
	       request_put(spawn.argv, IPC_ARGV_MAX, &spawn.argv_size, rest, rest_size);
}

static enum refusal compose_cwd(const struct plan_profile *profile, const char *cwd)
{
	if (cwd[0] == '\0')
		cwd = plan_string(&supervisor.plan, profile->cwd);
	/* The plan's strings are shorter than its largest size; a path beyond the field cannot be.
	 */
	if (cwd[0] != '/' || strlen(cwd) >= sizeof(spawn.cwd))
		return REFUSAL_CWD;
	memcpy(spawn.cwd, cwd, strlen(cwd) + 1);
	return REFUSAL_NONE;
}

static uint32_t narrow_timeout(const struct plan_profile *profile, uint32_t wanted,
			       bool is_persistent)
{
	if (wanted == 0)
		return is_persistent ? profile->wall_persistent_ms : profile->wall_default_ms;
	return wanted < profile->wall_max_ms ? wanted : profile->wall_max_ms;
}

/* Fill in the fields that all requests have. */
static enum refusal fill_spawn(uint64_t number, const char *name, uint32_t timeout_ms,
			       uint32_t no_hosts, const char *sandbox, const char *cwd,
			       struct request *ret, const struct plan_profile **profile)
{
	enum refusal refusal;

	*ret = (struct request){ .number = number, .spawn = &spawn };
	spawn.use_tty = 0;
	refusal = request_profile(name, no_hosts, &ret->profile);
	if (refusal)
		return refusal;
	*profile = plan_profile(&supervisor.plan, ret->profile);
	if ((*profile)->network == PLAN_NETWORK_HOSTS && supervisor.gateway.fd < 0)
		return REFUSAL_GATEWAY;
	ret->timeout_ms = narrow_timeout(*profile, timeout_ms, sandbox[0] != '\0');
	return compose_cwd(*profile, cwd);
}

enum refusal request_command(const struct ipc_execution_start *from, struct request *ret,
			     char detail[IPC_LIST_MAX])
{
	const struct plan_profile *profile;
	enum refusal refusal = fill_spawn(from->request, from->profile, from->timeout_ms,
					  from->no_hosts, from->sandbox, from->cwd, ret, &profile);

	if (refusal)
		return refusal;
	if (from->use_shell && profile->shell_size == profile->runner_size)
		return REFUSAL_SHELL;
	spawn.use_tty = from->use_tty != 0;
	if (spawn.use_tty && !from->timeout_ms && profile->wall_terminal_ms)
		ret->timeout_ms = profile->wall_terminal_ms % PLAN_WALL_NONE;
	spawn.tty_rows = from->tty_rows;
	spawn.tty_columns = from->tty_columns;
	return compose_arguments(plan_bytes(&supervisor.plan, profile->shell),
				 from->use_shell ? profile->shell_size : profile->runner_size,
				 from->argv, from->argv_size) &&
			       compose_environment(profile, from->environment,
						   from->environment_size)
		       ? REFUSAL_NONE
		       : REFUSAL_ARGV;
}

/* The first record of that name or alias whose program is there. */
static enum refusal find_language(const struct plan_profile *profile, const char *name,
				  const struct plan_language **ret, char detail[IPC_LIST_MAX])
{
	const struct plan_language *languages = plan_languages(&supervisor.plan, profile);
	uint8_t list[IPC_LIST_MAX] = { 0 };
	bool is_known = false;

	for (uint32_t i = 0; i < profile->language_count; i++) {
		const struct plan_language *language = &languages[i];

		if (strcmp(plan_string(&supervisor.plan, language->name), name) != 0 &&
		    !has_item(plan_bytes(&supervisor.plan, language->aliases),
			      language->aliases_size, name, strlen(name) + 1))
			continue;
		is_known = true;
		if (is_installed(language)) {
			*ret = language;
			return REFUSAL_NONE;
		}
	}
	describe_list(list, request_list_languages(profile, list), detail);
	return is_known ? REFUSAL_LANGUAGE_MISSING : REFUSAL_LANGUAGE_UNKNOWN;
}

/* The code's path. A persistent sandbox keeps the code that was written before, and another
 * execution may not have read its own yet: each has a folder there. */
const char *request_place_code(const char *file, bool lasts)
{
	static char path[IPC_PATH_MAX];
	static uint64_t number;
	const char *name = strrchr(file, '/');
	int size;

	if (!lasts)
		return file;
	size = snprintf(path, sizeof(path), "%.*s/%llu%s", (int)(name - file), file,
			(unsigned long long)++number, name);
	return size < (int)sizeof(path) ? path : NULL;
}

/* One of the language's words is its file. */
static bool compose_code(const struct plan_language *language, const char *path,
			 const struct ipc_code_start *from)
{
	const char *file = plan_string(&supervisor.plan, language->file);
	const char *words = (const char *)plan_bytes(&supervisor.plan, language->argv);

	spawn.argv_size = 0;
	for (uint32_t at = 0; at < language->argv_size; at += (uint32_t)strlen(words + at) + 1) {
		const char *word = strcmp(words + at, file) == 0 ? path : words + at;

		if (!request_put(spawn.argv, IPC_ARGV_MAX, &spawn.argv_size, word,
				 strlen(word) + 1))
			return false;
	}
	return is_list(from->argv, from->argv_size) &&
	       request_put(spawn.argv, IPC_ARGV_MAX, &spawn.argv_size, from->argv, from->argv_size);
}

enum refusal request_code(const struct ipc_code_start *from, struct request *ret,
			  char detail[IPC_LIST_MAX])
{
	const struct plan_language *language;
	const struct plan_profile *profile;
	enum refusal refusal = fill_spawn(from->request, from->profile, from->timeout_ms,
					  from->no_hosts, from->sandbox, from->cwd, ret, &profile);

	if (!refusal)
		refusal = find_language(profile, from->language, &language, detail);
	if (refusal)
		return refusal;
	ret->code_path = request_place_code(plan_string(&supervisor.plan, language->file),
					    from->sandbox[0] != '\0');
	if (language->standby)
		ret->standby_file = plan_string(&supervisor.plan, language->file);
	return ret->code_path && compose_code(language, ret->code_path, from) &&
			       compose_environment(profile, from->environment,
						   from->environment_size)
		       ? REFUSAL_NONE
		       : REFUSAL_ARGV;
}

enum refusal request_file(const struct ipc_file_start *from, const char *name, struct request *ret,
			  char detail[IPC_LIST_MAX])
{
	static const uint8_t program[] = "msp-file";
	const struct plan_profile *profile;
	enum refusal refusal = fill_spawn(from->request, name, 0, 0, "", "", ret, &profile);

	if (refusal)
		return refusal;
	ret->is_file = true;
	return compose_arguments(program, sizeof(program), from->argv, from->argv_size) &&
			       compose_environment(profile, program, 0)
		       ? REFUSAL_NONE
		       : REFUSAL_ARGV;
}
