/* SPDX-License-Identifier: Apache-2.0
 *
 * The form of each kind of option value.
 */
#include <stdlib.h>
#include <string.h>

#include "common/ipc/limits_mode.h"
#include "common/limits.h"
#include "common/text/format.h"
#include "launcher/host/bind.h"
#include "launcher/host/unix_socket.h"
#include "options/options.h"
#include "options/sandbox_search.h"
#include "policy/read/units.h"
#include "show/refusal.h"

const char *option_set_no_hosts(void *member, const char *value)
{
	*(bool *)member = strcmp(value, "none") == 0;
	return *(bool *)member ? NULL : "'none': a command can only take hosts away";
}

const char *option_set_flag(void *member, const char *value)
{
	*(bool *)member = true;
	return NULL;
}

const char *option_set_limits(void *member, const char *value)
{
	uint32_t *limits = member;

	if (strcmp(value, "required") == 0)
		*limits = LIMITS_CGROUP;
	else if (strcmp(value, "fallback") == 0)
		*limits = LIMITS_FALLBACK;
	else
		return "'required' (cgroup v2, the default) or 'fallback' (accept resource limits "
		       "without cgroups where there are none)";
	return NULL;
}

/* Less than what one sandbox needs is a slip: 16 MiB. More than a machine has is none. */
#define MEMORY_MIN ((uint64_t)16 << 20)
#define MEMORY_MAX ((uint64_t)1 << 50)
#define MEMORY_RULE                                                                                \
	"a number of bytes, or of units K, M, G or T, such as 8G, from 16M to 1024T; or 'none' "   \
	"(or "                                                                                     \
	"0) for no bound"

const char *option_set_port(void *member, const char *value)
{
	uint32_t port = 0;

	for (const char *at = value; *at && port <= UINT16_MAX; at++) {
		if (*at < '0' || *at > '9')
			port = UINT16_MAX + 1;
		else
			port = port * 10 + (uint32_t)(*at - '0');
	}
	if (port == 0 || port > UINT16_MAX)
		return "a port: 1 to 65535";
	*(uint32_t *)member = port;
	return NULL;
}

const char *option_set_time(void *member, const char *value)
{
	uint64_t ms;

	if (!units_time(value, &ms) || ms == 0 || ms > UINT32_MAX)
		return "a time such as 10s, 500ms, 5m or 1h (without a unit: seconds), above 0 and "
		       "at most 49 days";
	*(uint32_t *)member = (uint32_t)ms;
	return NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters, digits and `extra`; not beginning with '-'; at most `most` bytes. */
static bool is_word(const char *value, const char *extra, size_t most)
{
	const size_t size = strlen(value);

	if (size == 0 || size > most || value[0] == '-')
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!is_letter(value[i]) && !is_digit(value[i]) && !strchr(extra, value[i]))
			return false;
	}
	return true;
}

const char *option_set_profile(void *member, const char *value)
{
	if (!is_word(value, "-_", IPC_NAME_MAX - 1))
		return "the name of a profile: letters, digits, '-' and '_', at most 63";
	*(const char **)member = value;
	return NULL;
}

bool option_read_default_profile(const char **profile, char text[OPTIONS_TEXT_MAX])
{
	const char *value = getenv(PROFILE_VARIABLE);
	const char *rule = value && value[0] != '\0' ? option_set_profile(profile, value) : NULL;

	if (!rule)
		return true;
	return format_fail(false, text, OPTIONS_TEXT_MAX,
			   PROFILE_VARIABLE "=%.100s is refused: it must be %s", value, rule);
}

const char *option_set_account(void *member, const char *value)
{
	if (!is_word(value, "-_.", 32))
		return "the name of an account: letters, digits, '-', '_' and '.', at most 32";
	*(const char **)member = value;
	return NULL;
}

const char *option_set_sandbox(void *member, const char *value)
{
	if (!is_word(value, "-_.", IPC_NAME_MAX - 1) || value[0] == '.')
		return "letters, digits, '-', '_' and '.', at most 63, and must not begin with '-' "
		       "or '.'";
	*(const char **)member = value;
	return NULL;
}

/* Every id begins with a sandbox's, so that a name of that form would hide one. */
const char *option_set_sandbox_name(void *member, const char *value)
{
	struct sandbox_search search;

	if (strlen(value) == IPC_ID_MAX - 1 && sandbox_search_begin(&search, value))
		return "a name that has not the form of an id: take a shorter one";
	return option_set_sandbox(member, value);
}

const char *option_set_checkpoint(void *member, const char *value)
{
	const char *rule = option_set_sandbox(member, value);

	if (rule)
		return "the number of a checkpoint or its name, which 'msp checkpoints' shows";
	return NULL;
}

const char *option_set_label(void *member, const char *value)
{
	if (value[strspn(value, "0123456789")] == '\0')
		return "a name that is no number: those are given by msp";
	return option_set_sandbox_name(member, value);
}

const char *option_set_long_time(void *member, const char *value)
{
	uint64_t ms;

	if (!units_time(value, &ms) || ms < 1000 || ms / 1000 > UINT32_MAX)
		return "a time such as 30m, 12h or 7d (without a unit: seconds), at least 1s and "
		       "at "
		       "most 49710d";
	*(uint32_t *)member = (uint32_t)((ms + 999) / 1000);
	return NULL;
}

const char *option_set_config(void *member, const char *value)
{
	if (value[0] == '\0' || strlen(value) >= IPC_PATH_MAX)
		return "the path of a configuration, such as /etc/msp/config.yaml, shorter than "
		       "4096 bytes";
	*(const char **)member = value;
	return NULL;
}

const char *option_set_inside_path(void *member, const char *value)
{
	if (value[0] != '/' || strlen(value) >= IPC_PATH_MAX)
		return "an absolute path inside the sandbox, such as /workspace, shorter than 4096 "
		       "bytes";
	*(const char **)member = value;
	return NULL;
}

static size_t name_size(const char *entry)
{
	size_t size = 0;

	while (is_letter(entry[size]) || entry[size] == '_' || (size > 0 && is_digit(entry[size])))
		size++;
	return size;
}

static bool has_name(const struct environment *environment, const char *entry, size_t size)
{
	const char *at = (const char *)environment->bytes;
	const char *end = at + environment->size;

	for (; at < end; at += strlen(at) + 1) {
		if (strncmp(at, entry, size) == 0 && at[size] == '=')
			return true;
	}
	return false;
}

const char *option_set_environment(void *member, const char *value)
{
	struct environment *environment = member;
	const size_t size = strlen(value) + 1;
	const size_t name = name_size(value);

	if (name == 0 || value[name] != '=')
		return "NAME=VALUE, where NAME is letters, digits and '_' and does not begin with "
		       "a digit";
	if (has_name(environment, value, name))
		return "a name that was not given before: leave one of the two out";
	if (size > sizeof(environment->bytes) - environment->size)
		return "small enough for all of --env to fit into 24576 bytes: pass large values "
		       "through standard input";
	memcpy(environment->bytes + environment->size, value, size);
	environment->size += (uint32_t)size;
	return NULL;
}

const char *option_set_bind(void *member, const char *value)
{
	struct bind_words *binds = member;

	if (value[0] == '\0')
		return "HOST or HOST:INSIDE, such as /srv/data:/data";
	if (binds->count == BINDS_MAX)
		return "one of at most 32: name a folder that holds several";
	binds->words[binds->count++] = value;
	return NULL;
}

const char *option_set_last(void *member, const char *value)
{
	uint64_t number = 0;
	size_t digits = strspn(value, "0123456789");

	if (digits == 0 || digits > 9 || value[digits] != '\0')
		return "a number, 0 for all";
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (uint64_t)(value[i] - '0');
	*(uint64_t *)member = number == 0 ? UINT64_MAX : number;
	return NULL;
}

const char *option_set_executions(void *member, const char *value)
{
	uint64_t number;

	if (!units_number(value, &number) || number == 0 || number > EXECUTIONS_MAX)
		return "a number of executions, at least 1 and at most 1024";
	*(uint32_t *)member = (uint32_t)number;
	return NULL;
}

const char *option_set_memory(void *member, const char *value)
{
	uint64_t bytes = 0;

	if (strcmp(value, "none") != 0 && !units_size(value, &bytes))
		return MEMORY_RULE;
	if (bytes > MEMORY_MAX || (bytes > 0 && bytes < MEMORY_MIN))
		return MEMORY_RULE;
	*(uint64_t *)member = bytes;
	return NULL;
}

const char *option_set_socket(void *member, const char *value)
{
	const char *name = strrchr(value, '/');

	if (value[0] != '/' || strlen(value) >= IPC_PATH_MAX || name[1] == '\0' ||
	    strlen(name + 1) >= UNIX_SOCKET_NAME_MAX || strcmp(name, "/.") == 0 ||
	    strcmp(name, "/..") == 0)
		return "the absolute path of a socket, such as /run/user/1000/msp/supervisor.sock, "
		       "with a last part shorter than 64 bytes";
	*(const char **)member = value;
	return NULL;
}
