/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/plan_binds.h"

#include <limits.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/mounts.h"
#include "launcher/start/plan_copy.h"

/* Append an array of `count` items of `size` bytes at the offset `from`, with room for `more`. */
static uint32_t put_longer(uint32_t from, uint32_t count, uint32_t more, size_t size)
{
	static const uint8_t nothing[PLAN_MOUNTS_MAX * sizeof(struct plan_mount)];
	const uint32_t rest = plan_copy.used % PLAN_COPY_ALIGNMENT;
	uint32_t at;

	if (rest != 0 && plan_copy_put(nothing, PLAN_COPY_ALIGNMENT - rest) == 0)
		return 0;
	at = plan_copy_put(plan_copy.bytes + from, count * size);
	return at != 0 && plan_copy_put(nothing, more * size) != 0 ? at : 0;
}

static const char *text_at(uint32_t offset)
{
	return (const char *)plan_copy.bytes + offset;
}

static struct plan_mount *mounts_of(const struct plan_profile *profile)
{
	return (void *)(plan_copy.bytes + profile->mounts);
}

/* --- places in what the profile mounts ------------------------------------------------------- */

/* The kinds in which nothing can be put, as a profile names them; empty: something can. */
static const char *const closed_kinds[PLAN_MOUNT_KIND_COUNT] = {
	[0] = "",
	[PLAN_DIRECTORY] = "",
	[PLAN_SYMLINK] = "symlink",
	[PLAN_FILE] = "file",
	[PLAN_COPY] = "copy",
	[PLAN_BIND] = "bind",
	[PLAN_DEVICE] = "device",
	[PLAN_TMPFS] = "",
	[PLAN_PROC] = "proc",
	[PLAN_DEVPTS] = "devpts",
	[PLAN_MASK] = "mask",
	[PLAN_OVERLAY] = "bind",
	[PLAN_IMAGE] = "",
};

/* Return the index of the record that the path lies in, the innermost one; mount_count: none. */
static uint32_t find_around(const struct plan_profile *profile, const char *inside)
{
	const struct plan_mount *mounts = mounts_of(profile);
	uint32_t found = profile->mount_count;
	size_t longest = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const char *target = text_at(mounts[i].target);
		const size_t size = strlen(target);

		if (size >= longest && strncmp(inside, target, size) == 0 && inside[size] == '/') {
			found = i;
			longest = size;
		}
	}
	return found;
}

/* A mount point in a tree that each sandbox mounts for itself can only be made there. */
static uint32_t find_phase(const struct plan_profile *profile, const char *inside)
{
	const struct plan_mount *mounts = mounts_of(profile);
	const uint32_t index = find_around(profile, inside);

	if (index < profile->mount_count)
		return mounts[index].phase;
	return mounts[0].kind == PLAN_IMAGE ? mounts[0].phase : PLAN_PHASE_BASE;
}

static int refuse_closed(const struct plan_mount *mount, const struct bind *bind,
			 char text[CONFIG_TEXT_MAX])
{
	return format_fail(
		MSP_EXIT_USAGE, text, CONFIG_TEXT_MAX,
		"--ro: the place inside the sandbox, '%.300s', is refused: nothing can "
		"be put there; expected a place that is not inside '%.300s', an entry of "
		"kind %s, such as --ro=HOST:/data",
		bind->inside, text_at(mount->target), closed_kinds[mount->kind]);
}

/* Find the deepest directory on the way to a place that the host has in what the profile shows;
 * empty: the host has the place, or the profile shows nothing there. `ret` has 2 * IPC_PATH_MAX
 * bytes. 0, or the exit code with a line in `text`. */
static int find_existing(const struct plan_mount *mount, const struct bind *bind, char *ret,
			 char text[CONFIG_TEXT_MAX])
{
	const char *source = text_at(mount->source);
	char real[PATH_MAX];
	struct stat there, shown;
	char *slash;

	format_text(ret, 2 * IPC_PATH_MAX, "%s%s", source,
		    bind->inside + strlen(text_at(mount->target)));
	if (lstat(ret, &there) == 0 || lstat(source, &shown) != 0) {
		ret[0] = '\0';
		if (lstat(source, &shown) != 0 || fstat(bind->fd, &shown) != 0 ||
		    (there.st_mode & S_IFMT) == (shown.st_mode & S_IFMT))
			return 0;
		return format_fail(MSP_EXIT_USAGE, text, CONFIG_TEXT_MAX,
				   "--ro: the place inside the sandbox, '%.300s', is refused: this "
				   "machine has something else there; expected a place where "
				   "nothing is, such as --ro=HOST:/data",
				   bind->inside);
	}
	do {
		slash = strrchr(ret, '/');
		*slash = '\0';
	} while (strlen(ret) > strlen(source) && lstat(ret, &there) != 0);
	/* A link on the way would put the layer elsewhere. */
	if (lstat(ret, &there) != 0 || !S_ISDIR(there.st_mode) || !realpath(ret, real) ||
	    strcmp(real, ret) != 0)
		return refuse_closed(mount, bind, text);
	return 0;
}

/* Put an overlay over a directory that a bind or an overlay shows, or in place of the bind: the
 * upper's root is the sandbox's own, so that mount points can be made in it. False: there is no
 * room. */
static bool insert_layer(struct plan_profile *profile, uint32_t index, const char *source)
{
	static const char options[] = "size\0"
				      "4194304\0"
				      "nr_inodes\0"
				      "1024\0"
				      "mode\0"
				      "0755";
	struct plan_mount *mount = &mounts_of(profile)[index];
	const char *rest = source + strlen(text_at(mount->source));
	char target[2 * IPC_PATH_MAX];
	const uint32_t at = plan_copy_put(options, sizeof(options));
	const uint32_t from = plan_copy_put(source, strlen(source) + 1);
	uint32_t to;

	format_text(target, sizeof(target), "%s%s", text_at(mount->target), rest);
	to = plan_copy_put(target, strlen(target) + 1);
	if (at == 0 || from == 0 || to == 0)
		return false;
	memmove(mount + 1, mount, (profile->mount_count - index) * sizeof(*mount));
	profile->mount_count++;
	if (*rest == '\0') /* the probe would find the bind writable */
		mount[0] = (struct plan_mount){
			.kind = PLAN_DIRECTORY,
			.phase = PLAN_PHASE_BASE,
			.mode = 0755,
			.target = mount[1].target,
			.origin = mount[1].origin,
		};
	mount[1].kind = PLAN_OVERLAY;
	mount[1].phase = PLAN_PHASE_SANDBOX;
	mount[1].source = from;
	mount[1].target = to;
	mount[1].options = at;
	mount[1].options_size = sizeof(options);
	mount[1].attributes &= ~(uint64_t)MOUNT_ATTR_RDONLY;
	return true;
}

/* The profile has no room for more. */
#define FULL (-1)

/* Have a place for the mount point of a bind. 0, FULL, or the exit code with a line in `text`. */
static int make_place(struct plan_profile *profile, const struct bind *bind,
		      char text[CONFIG_TEXT_MAX])
{
	const uint32_t index = find_around(profile, bind->inside);
	const struct plan_mount *mount = &mounts_of(profile)[index];
	char existing[2 * IPC_PATH_MAX];
	int code;

	/* In an overlay with a frame each sandbox can make the mount point. */
	if (index == profile->mount_count || closed_kinds[mount->kind][0] == '\0' || mount->frame)
		return 0;
	if (mount->kind != PLAN_OVERLAY &&
	    (mount->kind != PLAN_BIND || mount->place != 0 ||
	     !(mount->attributes & MOUNT_ATTR_RDONLY) ||
	     (mount->flags & (PLAN_TRUST | PLAN_MACHINE | PLAN_PACKAGES))))
		return refuse_closed(mount, bind, text);
	code = find_existing(mount, bind, existing, text);
	if (code || existing[0] == '\0' ||
	    (mount->kind == PLAN_OVERLAY && strcmp(existing, text_at(mount->source)) == 0))
		return code;
	return insert_layer(profile, index, existing) ? 0 : FULL;
}

/* A bind that lies in another one of the command would have its mount point on the host, and one
 * around an earlier one would hide it. */
static int refuse_nested(const struct binds *binds, uint32_t index, char text[CONFIG_TEXT_MAX])
{
	const struct bind *bind = &binds->list[index];

	for (uint32_t i = 0; i < binds->count; i++) {
		const char *outer = binds->list[i].inside;

		if (i == index || !path_is_within(bind->inside, outer))
			continue;
		return format_fail(MSP_EXIT_USAGE, text, CONFIG_TEXT_MAX,
				   "--ro: the place inside the sandbox, '%.300s', is refused: it "
				   "lies inside '%.300s', which another --ro shows; expected a "
				   "place outside, such as --ro=HOST:/data",
				   bind->inside, outer);
	}
	return 0;
}

/* --- records --------------------------------------------------------------------------------- */

static bool append_bind(struct plan_profile *profile, const struct bind *bind)
{
	const uint32_t source = plan_copy_put(bind->host, strlen(bind->host) + 1);
	const uint32_t target = plan_copy_put(bind->inside, strlen(bind->inside) + 1);
	struct plan_rule *rules = (void *)(plan_copy.bytes + profile->rules);
	struct plan_mount *mounts = mounts_of(profile);
	const bool is_directory = faccessat(bind->fd, ".", F_OK, 0) == 0;

	if (source == 0 || target == 0)
		return false;
	/* A directory is mounted on one, not on a link to packages' configuration. */
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].kind == PLAN_SYMLINK && is_directory &&
		    strcmp(text_at(mounts[i].target), bind->inside) == 0)
			mounts[i].kind = PLAN_DIRECTORY;
	}
	mounts[profile->mount_count] = (struct plan_mount){
		.kind = PLAN_BIND,
		.phase = find_phase(profile, bind->inside),
		.flags = PLAN_PINNED | PLAN_GIVEN,
		.source = source,
		.target = target,
		.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	};
	profile->mount_count++;
	rules[profile->rule_count++] = (struct plan_rule){ .path = target,
							   .rights = LANDLOCK_ACCESS_FS_READ_FILE |
								     LANDLOCK_ACCESS_FS_READ_DIR |
								     LANDLOCK_ACCESS_FS_EXECUTE };
	return true;
}

/* Put the record and the rule of each bind behind those of the profile, which has its arrays in the
 * copy. 0, FULL, or the exit code with a line in `text`. */
static int put_binds(struct plan_profile *profile, const struct binds *binds,
		     char text[CONFIG_TEXT_MAX])
{
	const uint32_t more = 2 * binds->count; /* a layer for each */
	int code = 0;

	if (profile->mount_count + more > PLAN_MOUNTS_MAX ||
	    profile->rule_count + binds->count > PLAN_RULES_MAX)
		return FULL;
	profile->mounts =
		put_longer(profile->mounts, profile->mount_count, more, sizeof(struct plan_mount));
	profile->rules = put_longer(profile->rules, profile->rule_count, binds->count,
				    sizeof(struct plan_rule));
	if (profile->mounts == 0 || profile->rules == 0)
		return FULL;
	for (uint32_t i = 0; i < binds->count && !code; i++) {
		code = refuse_nested(binds, i, text);
		if (!code)
			code = make_place(profile, &binds->list[i], text);
	}
	for (uint32_t i = 0; i < binds->count && !code; i++)
		code = append_bind(profile, &binds->list[i]) ? 0 : FULL;
	return code;
}

static int refuse_full(const char *profile, char text[CONFIG_TEXT_MAX])
{
	return format_fail(
		MSP_EXIT_REFUSED, text, CONFIG_TEXT_MAX,
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
	struct plan_profile *profiles;
	int code;

	if (index < 0 || plan_is_internal(plan, plan_profile(plan, (uint32_t)index)))
		return 0;
	plan_copy_begin(plan);
	profiles = (void *)(plan_copy.bytes + plan_header(plan)->profiles);
	code = put_binds(&profiles[index], binds, text);
	if (code)
		return code == FULL ? refuse_full(wanted, text) : code;
	return plan_copy_end(config, text);
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
				(void)refuse_full(plan_string(plan, profile->name), text);
				return -1;
			}
			pins->list[pins->count++] = (struct pin){ binds->list[next++].fd, p, i };
		}
	}
	return 0;
}
