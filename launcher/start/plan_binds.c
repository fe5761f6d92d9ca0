/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/plan_binds.h"

#include <errno.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <string.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"

#define ALIGNMENT 8U

/* The copy that grows at its end. */
static struct {
	_Alignas(ALIGNMENT) uint8_t bytes[PLAN_SIZE_MAX];
	uint32_t used;
} blob;

/* Append bytes; 0: there is no room. */
static uint32_t put_bytes(const void *bytes, size_t size)
{
	const uint32_t at = blob.used;

	if (size + ALIGNMENT > sizeof(blob.bytes) - at)
		return 0;
	memcpy(blob.bytes + at, bytes, size);
	blob.used += (uint32_t)size;
	return at;
}

/* Append an array of `count` items of `size` bytes at the offset `from`, with room for `more`. */
static uint32_t put_longer(uint32_t from, uint32_t count, uint32_t more, size_t size)
{
	static const uint8_t nothing[PLAN_MOUNTS_MAX * sizeof(struct plan_mount)];
	const uint32_t rest = blob.used % ALIGNMENT;
	uint32_t at;

	if (rest != 0 && put_bytes(nothing, ALIGNMENT - rest) == 0)
		return 0;
	at = put_bytes(blob.bytes + from, count * size);
	return at != 0 && put_bytes(nothing, more * size) != 0 ? at : 0;
}

/* A mount point in a tree that each sandbox mounts for itself can only be made there. */
static uint32_t find_phase(const struct plan *plan, const struct plan_profile *profile,
			   const char *inside)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const char *target = plan_string(plan, mounts[i].target);
		const size_t size = strlen(target);

		if (mounts[i].phase == PLAN_PHASE_SANDBOX &&
		    (mounts[i].kind == PLAN_IMAGE ||
		     ((mounts[i].kind == PLAN_TMPFS || mounts[i].kind == PLAN_OVERLAY) &&
		      strncmp(inside, target, size) == 0 && inside[size] == '/')))
			return PLAN_PHASE_SANDBOX;
	}
	return PLAN_PHASE_BASE;
}

/* Put the record and the rule of each bind behind those of the profile. False: there is no room. */
static bool put_binds(const struct plan *plan, uint32_t index, const struct binds *binds)
{
	const struct plan_profile *old = plan_profile(plan, index);
	struct plan_profile *profile =
		(void *)(blob.bytes + plan_header(plan)->profiles + index * sizeof(*profile));
	struct plan_mount *mounts;
	struct plan_rule *rules;

	if (old->mount_count + binds->count > PLAN_MOUNTS_MAX ||
	    old->rule_count + binds->count > PLAN_RULES_MAX)
		return false;
	profile->mounts = put_longer(old->mounts, old->mount_count, binds->count, sizeof(*mounts));
	profile->rules = put_longer(old->rules, old->rule_count, binds->count, sizeof(*rules));
	if (profile->mounts == 0 || profile->rules == 0)
		return false;
	mounts = (void *)(blob.bytes + profile->mounts);
	rules = (void *)(blob.bytes + profile->rules);
	for (uint32_t i = 0; i < binds->count; i++) {
		const struct bind *bind = &binds->list[i];
		const uint32_t source = put_bytes(bind->host, strlen(bind->host) + 1);
		const uint32_t target = put_bytes(bind->inside, strlen(bind->inside) + 1);

		if (source == 0 || target == 0)
			return false;
		mounts[profile->mount_count++] = (struct plan_mount){
			.kind = PLAN_BIND,
			.phase = find_phase(plan, old, bind->inside),
			.flags = PLAN_PINNED | PLAN_GIVEN,
			.source = source,
			.target = target,
			.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		};
		rules[profile->rule_count++] =
			(struct plan_rule){ .path = target,
					    .rights = LANDLOCK_ACCESS_FS_READ_FILE |
						      LANDLOCK_ACCESS_FS_READ_DIR |
						      LANDLOCK_ACCESS_FS_EXECUTE };
	}
	return true;
}

static void begin_copy(const struct plan *plan)
{
	memcpy(blob.bytes, plan->bytes, plan->size);
	blob.used = plan->size;
}

static int replace_plan(struct config *config)
{
	struct plan_header *header = (void *)blob.bytes;
	struct plan plan = { .bytes = NULL };
	int fd, error;

	memset(blob.bytes + blob.used, 0, ALIGNMENT); /* a plan ends with a NUL */
	header->size = blob.used + ALIGNMENT;
	fd = fd_sealed_from_bytes("msp-policy", blob.bytes, header->size);
	error = fd < 0 ? fd : plan_open_fd(fd, &plan);
	if (error)
		return fd_unless(error, fd);
	config_close(config);
	config->plan_fd = fd;
	config->plan = plan;
	return 0;
}

static void print_too_many(const char *profile, char text[CONFIG_TEXT_MAX])
{
	format_text(text, CONFIG_TEXT_MAX,
		    "the profile '%.100s' shows too many paths with those of --ro: leave some out, "
		    "or show a folder that they are in",
		    profile);
}

int plan_binds_put(struct config *config, const char *name, const struct binds *binds,
		   char text[CONFIG_TEXT_MAX])
{
	const struct plan *plan = config_plan(config);
	const char *wanted =
		name && name[0] ? name : plan_string(plan, plan_header(plan)->default_profile);
	const int index = plan_profile_find(plan, wanted);
	int error;

	if (index < 0 || plan_is_internal(plan, plan_profile(plan, (uint32_t)index)))
		return 0;
	begin_copy(plan);
	if (!put_binds(plan, (uint32_t)index, binds)) {
		print_too_many(wanted, text);
		return -1;
	}
	error = replace_plan(config);
	if (error)
		return format_fail(-1, text, CONFIG_TEXT_MAX, "--ro: %s", errno_text(-error));
	return 0;
}

int plan_binds_pin(const struct plan *plan, const struct binds *binds, struct pins *pins,
		   char text[CONFIG_TEXT_MAX])
{
	uint32_t next = 0;

	for (uint32_t p = 0; next < binds->count && p < plan_profile_count(plan); p++) {
		const struct plan_profile *profile = plan_profile(plan, p);
		const struct plan_mount *mounts = plan_mounts(plan, profile);

		for (uint32_t i = 0; i < profile->mount_count; i++) {
			if (!(mounts[i].flags & PLAN_GIVEN))
				continue;
			if (pins->count == PINS_MAX) {
				print_too_many(plan_string(plan, profile->name), text);
				return -1;
			}
			pins->list[pins->count++] = (struct pin){ binds->list[next++].fd, p, i };
		}
	}
	return 0;
}

/* Make the path the source of all records with this flag. False: there is no room. */
static bool set_source(uint32_t flag, const char *path)
{
	const uint32_t source = put_bytes(path, strlen(path) + 1);
	const struct plan_header *header = (const void *)blob.bytes;
	const struct plan_profile *profiles = (const void *)(blob.bytes + header->profiles);

	for (uint32_t p = 0; p < header->profile_count; p++) {
		struct plan_mount *mounts = (void *)(blob.bytes + profiles[p].mounts);

		for (uint32_t i = 0; i < profiles[p].mount_count; i++) {
			if (mounts[i].flags & flag)
				mounts[i].source = source;
		}
	}
	return source != 0;
}

int plan_source_put(struct config *config, uint32_t flag, const char *path,
		    char text[CONFIG_TEXT_MAX])
{
	int error;

	begin_copy(config_plan(config));
	error = set_source(flag, path) ? replace_plan(config) : -E2BIG;
	return error ? format_fail(-1, text, CONFIG_TEXT_MAX,
				   "the plan cannot be completed with the path %s: %s", path,
				   errno_text(-error))
		     : 0;
}
