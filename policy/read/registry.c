/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's own registries in a profile whose `hosts` has the group of a package manager, such as
 * "@npm": their hosts, the file or the variables by which the tool finds them, and certificates.
 * Variables are not kept in `environment`, which profiles inherit.
 */
#include "policy/read/profile_parts.h"

#include "gateway/hosts/groups.h"
#include "policy/registries/registries.h"

#include <string.h>

/* The directory of Maven's configuration as Debian has it. */
#define DEBIANS_MAVEN "/etc/maven"

static const struct {
	const char *group;
	const char *name;
	const char *file;     /* NULL: variables alone */
	const char *variable; /* by which the tool finds the file; NULL: it does so itself */
	const char *certificates;
} tools[REGISTRY_TOOL_COUNT] = {
	[REGISTRY_NPM] = { "npm", "npm", REGISTRIES_PLACE "/npmrc",
			   "npm_config_globalconfig=" REGISTRIES_PLACE "/npmrc",
			   REGISTRIES_CERTIFICATES("npm") },
	[REGISTRY_PIP] = { "pypi", "pip", NULL, NULL, REGISTRIES_CERTIFICATES("pip") },
	/* Cargo looks in each directory above its own, and here at last. */
	[REGISTRY_CARGO] = { "crates", "cargo", "/.cargo/config.toml", NULL,
			     REGISTRIES_CERTIFICATES("cargo") },
	[REGISTRY_GO] = { "go", "go", NULL, NULL, NULL },
	[REGISTRY_MAVEN] = { "maven", "maven", REGISTRIES_PLACE "/settings.xml",
			     "MAVEN_ARGS=-gs " REGISTRIES_PLACE "/settings.xml", NULL },
};

/* Return the registry of a tool that the profile has; NULL: it has none, or no host. */
static const struct registry *find_registry(const struct profile *profile, uint32_t tool)
{
	const struct host_group *group = host_group_find(tools[tool].group);

	if (profile->network != NETWORK_HOSTS || profile->registries == NULL ||
	    (profile->host_groups >> (group - host_groups) & 1) == 0)
		return NULL;
	return &profile->registries->of[tool];
}

static struct origin origin_of(const struct registry_line *line)
{
	return (struct origin){ line->file, line->line };
}

/* Return the origin of a file: its first line that is obeyed. */
static struct origin first_origin(const struct registry *registry)
{
	const struct registry_line *line = registry->lines;

	while (line->problem != NULL)
		line++;
	return origin_of(line);
}

/* --- what a profile gets ---------------------------------------------------------------------- */

/* Return the entry of a line's host and port; NULL: there is none. */
static struct profile_host *find_host(struct profile *profile, const struct registry_line *line)
{
	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (profile->hosts[i].port == line->port &&
		    strcmp(profile->hosts[i].pattern, line->host) == 0)
			return &profile->hosts[i];
	}
	return NULL;
}

/* Return whether a host is one of the public registries of a tool's group. */
static bool is_public(uint32_t tool, const char *host)
{
	const char *const *entries = host_group_find(tools[tool].group)->entries;

	while (*entries != NULL && strcmp(*entries, host) != 0)
		entries++;
	return *entries != NULL;
}

/* Such a host is often at a private address, and the person has named it: an entry of the
 * operator's for a secret does not take that away. */
static void add_host(struct profile *profile, uint32_t tool, const struct registry_line *line)
{
	const bool is_address = line->host[strspn(line->host, "0123456789.")] == '\0';
	struct profile_host host = { .port = line->port,
				     .kind = !line->is_cleartext ? PLAN_HOST_TLS
					     : is_address        ? PLAN_HOST_TCP
								 : PLAN_HOST_HTTP,
				     .has_kind = line->is_cleartext,
				     .is_private = true,
				     .is_registry = true,
				     .origin = origin_of(line) };

	struct profile_host *known = find_host(profile, line);

	if (known != NULL && known->to_port == 0 && !is_public(tool, line->host))
		known->is_private = true;
	if (known != NULL || profile->host_count == PLAN_HOSTS_MAX)
		return;
	memcpy(host.pattern, line->host, strlen(line->host) + 1);
	profile->hosts[profile->host_count++] = host;
}

static void add_file(struct profile *profile, const char *path, const char *text,
		     const struct origin *origin)
{
	/* An entry of the operator's at the same path stays, such as that of a cache. */
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (strcmp(profile->mounts[i].target, path) == 0)
			return;
	}
	if (profile->mount_count >= PROFILE_MOUNTS_MAX)
		return;
	profile->mounts[profile->mount_count++] = (struct profile_mount){ .kind = PLAN_FILE,
									  .mode = 0444,
									  .source = text,
									  .target = path,
									  .is_implied = true,
									  .is_builtin = true,
									  .origin = *origin };
}

/* Let the sandbox read the directory of cargo's file, which no rule covers. */
static void add_rule(struct profile *profile, const char *path, const struct origin *origin)
{
	static char list[] = "list", read[] = "read";
	static char *const words[] = { list, read };
	struct profile_rule rule = {
		.path = path, .words = { words, 2 }, .is_implied = true, .origin = *origin
	};

	for (uint32_t i = 0; i < profile->rule_count; i++) {
		if (strcmp(profile->rules[i].path, path) == 0)
			return;
	}
	if (profile->rule_count == PLAN_RULES_MAX)
		return;
	for (uint32_t i = 0; i < rule.words.count; i++)
		rule.rights |= profile_right(words[i]);
	profile->rules[profile->rule_count++] = rule;
}

/* Put the file in the place of Debian's, which each Maven of Debian reads: before 3.9 there is no
 * variable for it. Maven's other files there stay. */
static void replace_debians(struct profile *profile, const char *text, const struct origin *origin)
{
	static const char *const others[] = { DEBIANS_MAVEN "/logging", DEBIANS_MAVEN "/m2.conf",
					      DEBIANS_MAVEN "/toolchains.xml" };

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		struct profile_mount *mount = &profile->mounts[i];

		if (strcmp(mount->target, DEBIANS_MAVEN) != 0 || !mount->is_builtin ||
		    profile->mount_count + 3 > PROFILE_MOUNTS_MAX)
			continue;
		mount->target = mount->source = others[0];
		for (uint32_t k = 1; k < sizeof(others) / sizeof(others[0]); k++) {
			profile->mounts[profile->mount_count] = *mount;
			profile->mounts[profile->mount_count].target = others[k];
			profile->mounts[profile->mount_count++].source = others[k];
		}
		add_file(profile, DEBIANS_MAVEN "/settings.xml", text, origin);
		return;
	}
}

static void add_tool(struct profile *profile, uint32_t tool, const struct registry *registry)
{
	const struct origin origin = first_origin(registry);

	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		if (line->problem == NULL && line->host[0] != '\0')
			add_host(profile, tool, line);
	}
	if (registry->file.size > 0 && tools[tool].file != NULL)
		add_file(profile, tools[tool].file, registry->file.bytes, &origin);
	if (registry->file.size > 0 && tool == REGISTRY_CARGO)
		add_rule(profile, "/.cargo", &origin);
	if (registry->file.size > 0 && tool == REGISTRY_MAVEN)
		replace_debians(profile, registry->file.bytes, &origin);
	if (registry->certificates.size > 0 && tools[tool].certificates != NULL)
		add_file(profile, tools[tool].certificates, registry->certificates.bytes, &origin);
}

int registry_apply(const struct reading *reading)
{
	struct profile *profile = reading->profile;

	profile->registries = reading->place.registries;
	for (uint32_t tool = 0; tool < REGISTRY_TOOL_COUNT; tool++) {
		const struct registry *registry = find_registry(profile, tool);

		if (registry != NULL && registry_is_obeyed(registry))
			add_tool(profile, tool, registry);
	}
	return 0;
}

/* --- variables -------------------------------------------------------------------------------- */

/* Return variable `index` of a tool; NULL behind the last. */
static const char *variable_at(const struct registry *registry, uint32_t tool, uint32_t index)
{
	if (registry->file.size > 0 && tools[tool].variable != NULL)
		return index == 0 ? tools[tool].variable : NULL;
	return index < registry->variable_count ? registry->variables[index] : NULL;
}

/* Return whether the operator says the variable, or msp-http's certificates are in its place. */
static bool is_said(const struct profile *profile, const char *variable)
{
	const size_t length = strcspn(variable, "=") + 1;

	for (uint32_t i = 0; i < profile->environment_count; i++) {
		if (profile->is_own_variable[i] &&
		    strncmp(profile->environment[i], variable, length) == 0)
			return true;
	}
	return http_ends_tls(profile) && strncmp(variable, "PIP_CERT=", length) == 0;
}

const char *registry_variable(const struct profile *profile, uint32_t index,
			      struct origin *ret_origin)
{
	for (uint32_t tool = 0; tool < REGISTRY_TOOL_COUNT; tool++) {
		const struct registry *registry = find_registry(profile, tool);
		const char *text;

		for (uint32_t i = 0;
		     registry != NULL && (text = variable_at(registry, tool, i)) != NULL; i++) {
			if (index-- > 0)
				continue;
			*ret_origin = first_origin(registry);
			return is_said(profile, text) ? "" : text;
		}
	}
	return NULL;
}

bool registry_replaces(const struct profile *profile, const char *variable)
{
	const size_t length = strcspn(variable, "=") + 1;
	struct origin origin;
	const char *text;

	for (uint32_t i = 0; (text = registry_variable(profile, i, &origin)) != NULL; i++) {
		if (strncmp(text, variable, length) == 0)
			return true;
	}
	return false;
}

/* --- for people ------------------------------------------------------------------------------- */

bool registry_print(const struct profile *profile, uint32_t index, struct buffer *ret,
		    struct origin *ret_origin)
{
	for (uint32_t tool = 0; tool < REGISTRY_TOOL_COUNT; tool++) {
		const struct registry *registry = find_registry(profile, tool);

		if (registry == NULL || index >= registry->count) {
			index -= registry != NULL ? (uint32_t)registry->count : 0;
			continue;
		}

		const struct registry_line *line = &registry->lines[index];

		*ret_origin = origin_of(line);
		buffer_format(ret, "%-6s %s%s", tools[tool].name, line->name,
			      line->name[0] != '\0' ? " " : "");
		if (line->problem != NULL)
			buffer_format(ret, "not used: %s", line->problem);
		else
			buffer_format(ret, "%s", line->value);
		return true;
	}
	return false;
}
