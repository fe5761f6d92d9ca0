/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles of kept binds, of which `msp create --ro` writes sets. A set is a file that is complete
 * when it has its name, the suffix of its profile. It holds the profile that it extends, and host
 * and place of each bind in turn, with a NUL after each. The command line says what is wrong with a
 * bind; a set that cannot be used, since profile or host have changed, is left out.
 *
 * The profile "agent.NAME" or "agent.NAME.login" is derived for the set from the row of an agent
 * (policy/read/agents.h). There a pair whose second text begins with "=" is no bind: PATH and
 * "=KEY" are the file of one of the agent's keys, "model.local:PORT" and "=@host" let that name
 * lead to a port of this machine's loopback.
 */
#include "policy/read/policy.h"

#include "common/text/format.h"
#include "policy/read/agents.h"
#include "policy/read/config_file.h"
#include "policy/read/profile_parts.h"
#include "policy/read/units.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX_LONGEST 12

/* Begin of the second text of a pair that is no bind, and the rest of one for a model. */
#define NO_BIND '='
#define OWN_PORT "@host"

/* The upper of a layer has mount points alone. */
#define LAYER_BYTES 4194304
#define LAYER_INODES 1024

struct keeping {
	struct profile *profile; /* the derived one */
	bool is_agent;           /* a pair can be no bind */
	struct buffer *watched;
};

static void watch_path(const struct keeping *keeping, const char *path)
{
	buffer_append(keeping->watched, path, strlen(path) + 1);
}

/* Find the entry that a place lies in; NULL: none. */
static const struct profile_mount *find_around(const struct profile *profile, const char *inside)
{
	char folder[IPC_PATH_MAX];

	format_text(folder, sizeof(folder), "%.*s", (int)(strrchr(inside, '/') - inside), inside);
	return mounts_around(profile, folder);
}

static bool is_open(const struct profile *profile, const struct profile_mount *mount)
{
	return mount->kind == PLAN_OVERLAY ||
	       (mount->kind == PLAN_BIND && mount->place == NULL && !mount->is_writable &&
		(mount->flags & (PLAN_MACHINE | PLAN_PACKAGES)) == 0 &&
		!http_is_trust(profile, mount));
}

/* Put an overlay over a directory that an entry shows, or in place of the entry: the upper's root
 * is the sandbox's own, so that mount points can be made in it. False: there is no room. */
static bool insert_layer(struct profile *profile, uint32_t index, const char *source)
{
	struct profile_mount *mount = &profile->mounts[index], *layer = mount + 1;
	const char *rest = source + strlen(mount->source);

	if (profile->mount_count == PROFILE_MOUNTS_ROOM ||
	    profile->owned_count + 3 > PROFILE_MOUNTS_MAX) /* the set's bytes are to follow */
		return false;
	memmove(layer, mount, (profile->mount_count - index) * sizeof(*mount));
	profile->mount_count++;
	layer->kind = PLAN_OVERLAY;
	layer->phase = PLAN_PHASE_SANDBOX;
	layer->mode = 0755;
	layer->size_bytes = LAYER_BYTES;
	layer->inodes = LAYER_INODES;
	layer->source = profile_own(profile, source, "", "");
	layer->target = profile_own(profile, mount->target, rest, "");
	if (*rest == '\0') /* the probe would find the bind writable */
		*mount = (struct profile_mount){ .kind = PLAN_DIRECTORY,
						 .phase = mount->phase,
						 .mode = 0755,
						 .target = layer->target,
						 .origin = layer->origin };
	return true;
}

/* Have a place for a mount point: where the host lacks it, the deepest directory that the host has
 * gets a layer. False: nothing can be put there. */
static bool make_place(const struct keeping *keeping, const char *host, const char *inside)
{
	struct profile *profile = keeping->profile;
	const struct profile_mount *around = find_around(profile, inside);
	char path[2 * IPC_PATH_MAX], real[PATH_MAX];
	struct stat there, shown;

	if (around == NULL || around->kind == PLAN_DIRECTORY || around->kind == PLAN_TMPFS ||
	    around->kind == PLAN_IMAGE)
		return true;
	if (!is_open(profile, around))
		return false;
	watch_path(keeping, around->source);
	if (lstat(around->source, &there) != 0)
		return true;
	format_text(path, sizeof(path), "%s%s", around->source, inside + strlen(around->target));
	watch_path(keeping, path);
	if (lstat(path, &there) == 0)
		return lstat(host, &shown) != 0 ||
		       (there.st_mode & S_IFMT) == (shown.st_mode & S_IFMT);
	do
		*strrchr(path, '/') = '\0';
	while (lstat(path, &there) != 0 && strlen(path) > strlen(around->source));
	watch_path(keeping, path);
	/* A link on the way would put the layer elsewhere. */
	return realpath(path, real) != NULL && strcmp(real, path) == 0 && S_ISDIR(there.st_mode) &&
	       ((around->kind == PLAN_OVERLAY && strcmp(path, around->source) == 0) ||
		insert_layer(profile, (uint32_t)(around - profile->mounts), path));
}

/* Show a path of the host, whose mount point is made where it is to be: not through a link. */
static bool show_bind(const struct keeping *keeping, const char *host, const char *inside)
{
	struct profile *profile = keeping->profile;
	const struct profile_mount *around;
	struct profile_mount *mount;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		mount = &profile->mounts[i];
		if (mount->kind == PLAN_SYMLINK && strcmp(mount->target, inside) == 0)
			memmove(mount, mount + 1, (--profile->mount_count - i) * sizeof(*mount));
	}
	around = find_around(profile, inside);
	if (around == NULL && profile->tree != NULL)
		around = profile->mounts; /* the root */
	mount = toolchain_show(profile, host, inside, (struct origin){ .file = NULL });
	if (mount != NULL && around != NULL)
		mount->phase = around->phase;
	return mount != NULL;
}

/* Return the second text of the pair that begins here; NULL: the set ends before. */
static const char *second_of(const struct buffer *set, const char *first)
{
	const char *second = first + strlen(first) + 1;

	return second < set->bytes + set->size ? second : NULL;
}

static bool each_bind(const struct keeping *keeping, const struct buffer *set,
		      bool (*act)(const struct keeping *keeping, const char *host,
				  const char *inside))
{
	const char *end = set->bytes + set->size;

	for (const char *host = set->bytes + strlen(set->bytes) + 1, *inside; host < end;
	     host = inside + strlen(inside) + 1) {
		inside = second_of(set, host);
		if (inside == NULL)
			return false;
		if (keeping->is_agent && inside[0] == NO_BIND)
			continue;
		if (!reading_is_path(host) || !reading_is_path(inside) ||
		    !act(keeping, host, inside))
			return false;
	}
	return true;
}

/* --- agents ----------------------------------------------------------------------------------- */

/* Take over a pair that is no bind. */
static bool read_pair(const struct agent *agent, const char *first, const char *second,
		      struct agent_use *use)
{
	static const char model[] = AGENTS_MODEL ":";
	uint64_t port;
	int key;

	if (strcmp(second, OWN_PORT) == 0) {
		if (strncmp(first, model, strlen(model)) != 0 ||
		    !units_number(first + strlen(model), &port) || port == 0 || port > UINT16_MAX ||
		    use->model_port != 0)
			return false;
		use->model_port = (uint32_t)port;
		return true;
	}
	key = agents_key(agent, second);
	if (key < 0 || !reading_is_path(first) || use->keys[key] != NULL)
		return false;
	use->keys[key] = first;
	return true;
}

static bool read_pairs(const struct agent *agent, const struct buffer *set, struct agent_use *use)
{
	const char *end = set->bytes + set->size;

	for (const char *first = set->bytes + strlen(set->bytes) + 1, *second; first < end;
	     first = second + strlen(second) + 1) {
		second = second_of(set, first);
		if (second == NULL ||
		    (second[0] == NO_BIND && !read_pair(agent, first, second + 1, use)))
			return false;
	}
	return true;
}

/* Derive the profile of an agent. NULL: there is none, or the set asks for more than its row has.
 */
static const struct profile *derive_agent(struct policy *policy, const char *name,
					  const struct buffer *set)
{
	struct agent_use use = { .has_login = false };
	struct policy_error error;
	const struct agent *agent = policy_load_agents(policy, &error) == 0
					    ? agents_of(policy_agents(policy), name, &use)
					    : NULL;

	return agent != NULL && read_pairs(agent, set, &use)
		       ? policy_derive_agent(policy, agent, &use, &error)
		       : NULL;
}

/* --- sets ------------------------------------------------------------------------------------- */

/* Copy the profile that a set extends, with or without its hosts. NULL: there is none. */
static struct profile *copy_base(struct policy *policy, const struct buffer *set)
{
	const char *name = set->bytes, *rest = name + strcspn(name, "/");
	const struct profile *base;
	char whole[IPC_NAME_MAX];

	if (strlen(name) + sizeof(PLAN_NARROWED PLAN_KEPT) + SUFFIX_LONGEST > sizeof(whole))
		return NULL;
	format_text(whole, sizeof(whole), "%.*s", (int)(rest - name), name);
	base = agents_is_profile(whole) ? derive_agent(policy, whole, set)
					: policy_find(policy, whole);
	if (base == NULL || name[0] == '_' || strchr(name, PLAN_KEPT[0]) != NULL ||
	    base->missing != NULL || image_is_awaited(base))
		return NULL;
	if (*rest == '\0')
		return profile_copy(base);
	return strcmp(rest, PLAN_NARROWED) == 0 ? profile_narrow(base) : NULL;
}

/* Derive the profile of a set, which it takes; NULL: the set cannot be used. */
static struct profile *derive_profile(struct policy *policy, struct buffer *set, const char *suffix,
				      struct buffer *watched)
{
	const bool is_whole = set->size > 0 && set->bytes[set->size - 1] == '\0';
	struct profile *profile = is_whole ? copy_base(policy, set) : NULL;
	const struct keeping keeping = { profile, is_whole && agents_is_profile(set->bytes),
					 watched };

	if (profile == NULL)
		return NULL;
	profile->name = profile_own(profile, set->bytes, PLAN_KEPT, suffix);
	/* A layer that is made later would hide a bind. */
	if (!each_bind(&keeping, set, make_place) || !each_bind(&keeping, set, show_bind))
		return profile_free(profile);
	profile->owned[profile->owned_count++] = set->bytes;
	*set = (struct buffer){ .bytes = NULL };
	return profile;
}

static int is_set(const struct dirent *entry)
{
	return reading_is_word(entry->d_name, "0123456789abcdef", SUFFIX_LONGEST);
}

void policy_keep(struct policy *policy, const char *directory, struct buffer *watched)
{
	struct dirent **entries = NULL;
	const int count = scandir(directory, &entries, is_set, alphasort);
	char path[2 * IPC_PATH_MAX];

	for (int i = 0; i < count; i++) {
		struct profile *profile = NULL;
		struct buffer set = { .bytes = NULL };
		struct policy_error error;

		format_text(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		buffer_append(watched, path, strlen(path) + 1);
		if (config_file_read(path, &set, &error) == 0)
			profile = derive_profile(policy, &set, entries[i]->d_name, watched);
		if (profile != NULL && !policy_take(policy, profile))
			profile = profile_free(profile);
		buffer_done(&set);
		free(entries[i]);
	}
	free(entries);
}
